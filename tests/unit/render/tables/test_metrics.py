"""The table of a row's metrics, for a terminal and in Markdown."""

from __future__ import annotations

from dataclasses import replace

from benchgate.base.cells import Lane
from benchgate.base.gates import Verdict, Word
from benchgate.base.workload.metrics import OF_THREADS, Metric, MetricDirection, MetricKind, SeenBy
from benchgate.evidence.rows import RunRow
from benchgate.render.figures import series_of
from benchgate.render.tables import metrics
from benchgate.render.view import SessionView
from tests.unit.factories import cell, rows, scaled_view, view

RPS = Metric("rps", MetricKind.RATE, MetricDirection.MORE, "requests/s", of="done")
P99 = Metric("wake_p99", MetricKind.PERCENTILE, MetricDirection.LESS, "ns", of="wake", at=99.0)


def measured(cpus: int, rps: float, p99: float, first: int) -> list[RunRow]:
    bare = rows(cell(cpus), [1_000_000] * 5, first=first)
    return [replace(row, metrics=((RPS, rps + n), (P99, p99))) for n, row in enumerate(bare)]


def limit(**changes: object) -> Verdict:
    one = cell(2)
    verdict = Verdict(
        "id", "limit", one.system, one.workload, one.params, one.mode, "wake_p99", None, 2, Lane.TCG,
        900.0, None, 790.0, 810.0, 5, Word.PASS, "PASS: it is", value=800.0, bound="most", unit="ns",
    )  # fmt: skip
    return replace(verdict, **changes)  # type: ignore[arg-type]


def served(*verdicts: Verdict) -> SessionView:
    return view(*measured(1, 1000, 1200, 1), *measured(2, 1800, 800, 6), verdicts=verdicts)


def table(given: SessionView, room: int = 120) -> list[str]:
    (series,) = series_of(given)
    return metrics.text(given, series, room)


def test_each_metric_has_its_unit_its_factor_by_direction_and_its_gate() -> None:
    assert table(served(limit())) == [
        "metric    arm   median            min .. max                 better              gate",
        "-" * 97,
        "rps       smp1  1,002 requests/s  1,000 .. 1,004 requests/s  -                   -",
        "rps       smp2  1,802 requests/s  1,800 .. 1,804 requests/s  1.80x [1.79, 1.80]  -",
        "wake_p99  smp1  1.200 us          1.200 .. 1.200 us          -                   -",
        "wake_p99  smp2  800.0 ns          800.0 .. 800.0 ns          1.50x [1.50, 1.50]  <= 900.0 ns PASS",
    ]


def test_wasted_time_is_a_percentage_in_the_table_as_in_the_gate() -> None:
    """Also the threshold of a gate that was skipped, whose verdict has no figure and names no unit."""
    wasted = OF_THREADS["wasted"]
    given = [replace(row, metrics=((wasted, 0.5609),)) for row in rows(cell(2), [1_000_000] * 5)]
    skipped = limit(metric="wasted", threshold=0.3, value=None, unit=None, outcome=Word.SKIP)
    result = table(view(*given, verdicts=(skipped,)))
    assert result[2].split()[:6] == ["wasted", "smp2", "56.09%", "56.09", "..", "56.09%"]
    assert result[2].endswith("<= 30.00% SKIP")


def test_a_metric_that_one_run_has_no_value_of_is_not_shown() -> None:
    """Whichever run it is."""
    for place in (0, 3):
        some = measured(2, 1800, 800, 6)
        some[place] = replace(some[place], metrics=some[place].metrics[:1])
        lines = table(view(*measured(1, 1000, 1200, 1), *some))
        assert [line.split()[:2] for line in lines[2:]] == [
            ["rps", "smp1"],
            ["rps", "smp2"],
            ["wake_p99", "smp1"],
        ]


def test_a_narrow_terminal_loses_the_least_important_columns_first() -> None:
    lines = table(served(limit()), 80)
    assert max(map(len, lines)) <= 80
    assert "min .. max" not in lines[0]
    assert lines[-1].endswith("<= 900.0 ns PASS")


def test_a_percentile_of_all_runs_together_has_a_column_of_its_own() -> None:
    given = replace(served(limit()), merged={"primes-linux-smp2": {"wake_p99": 905.0}})
    assert table(given) == [
        "metric    arm   median            merged    min .. max                 better              gate",
        "-" * 107,
        "rps       smp1  1,002 requests/s  -         1,000 .. 1,004 requests/s  -                   -",
        "rps       smp2  1,802 requests/s  -         1,800 .. 1,804 requests/s  1.80x [1.79, 1.80]  -",
        "wake_p99  smp1  1.200 us          -         1.200 .. 1.200 us          -                   -",
        "wake_p99  smp2  800.0 ns          905.0 ns  800.0 .. 800.0 ns          1.50x [1.50, 1.50]  "
        "<= 900.0 ns PASS",
    ]
    (series,) = series_of(given)
    assert metrics.lines_of_markdown(given, series)[0] == (
        "| metric | arm | median | merged | min .. max | better | gate |"
    )


def test_gates_that_do_not_fit_are_below_their_figures() -> None:
    verdict = limit(
        gate="compare", metric="wake_p99", base_cpus=2, base_system="a-system-with-a-long-name", unit="x",
        threshold=1.0, bound="least", value=None, ratio=1.2, low=1.18, high=1.21,
    )  # fmt: skip
    assert table(served(verdict), 72) == [
        "metric    arm   median            better",
        "-" * 52,
        "rps       smp1  1,002 requests/s  -",
        "rps       smp2  1,802 requests/s  1.80x [1.79, 1.80]",
        "wake_p99  smp1  1.200 us          -",
        "wake_p99  smp2  800.0 ns          1.50x [1.50, 1.50]",
        "  1.20x [1.18, 1.21] of a-system-with-a-long-name >= 1x PASS",
    ]


def test_a_comparison_shows_its_ratio_and_the_other_system() -> None:
    verdict = limit(
        gate="compare", metric="rps", base_cpus=2, base_system="linux", threshold=1.0, bound="least",
        value=None, ratio=1.2, low=1.18, high=1.21, unit="x",
    )  # fmt: skip
    assert metrics.gate(verdict) == "1.20x [1.18, 1.21] of linux >= 1x PASS"
    skipped = replace(verdict, outcome=Word.SKIP, ratio=None, low=None, high=None, unit=None)
    assert metrics.gate(skipped) == "of linux >= 1x SKIP"


def test_a_window_is_in_the_table_only_with_a_gate_of_its_own() -> None:
    given = scaled_view()
    (series,) = series_of(given)
    assert metrics.text(given, series, 100) == []
    assert metrics.lines_of_markdown(given, series) == []
    limited = replace(given, verdicts=(limit(metric="total", threshold=1e9, unit="ns"),))
    (series,) = series_of(limited)
    assert [line.split("  ")[0] for line in metrics.text(limited, series, 100)[2:]] == ["total", "total"]


def test_the_markdown_escapes_what_a_yaml_file_says() -> None:
    given = served()
    odd = replace(RPS, unit="<b>|x")
    bad = view(*(replace(row, metrics=((odd, 1.0),)) for row in given.rows))
    (series,) = series_of(bad)
    lines = metrics.lines_of_markdown(bad, series)
    assert "<b>" not in "\n".join(lines).replace("\\<b>", "")
    assert lines[0] == "| metric | arm | median | min .. max | better |"
    assert [line.count(" | ") for line in lines[2:-1]] == [4, 4]


def test_a_figure_of_zero_has_no_factor() -> None:
    given = view(*measured(1, 0, 0, 1), *measured(2, 1800, 800, 6))
    (series,) = series_of(given)
    assert all("x [" not in line for line in metrics.text(given, series, 120))


def test_a_comparison_of_two_systems_is_not_shown_as_a_speedup() -> None:
    verdict = limit(
        gate="compare", metric="work", base_cpus=2, base_system="kernel", threshold=1.0, bound="least",
        value=None, ratio=1.2, low=1.18, high=1.21, unit="x",
    )  # fmt: skip
    (series,) = series_of(replace(scaled_view(), verdicts=(verdict,)))
    assert {seen.threshold for arm in series.arms for seen in arm.speedups.values()} == {None}
    assert all(seen.ratio > 1.9 for arm in series.arms for seen in arm.speedups.values())


def test_a_figure_that_only_the_guest_says_says_so_beside_its_number() -> None:
    given = served(limit())
    insn = [replace(row, lane=Lane.INSN) for row in given.rows]
    who = {name: {"rps": SeenBy.GUEST, "wake_p99": SeenBy.MACHINE} for name in (cell(1).id, cell(2).id)}
    lines = table(replace(given, rows=tuple(insn), who_says=who))
    for said, line in zip(("1,002 requests/s", "1,802 requests/s"), lines[2:4], strict=True):
        assert line.startswith("rps")
        assert f"  {said}, claimed  " in line
    assert not any("claimed" in line for line in lines if line.startswith("wake_p99"))
    # in wall time all figures are the guest's, which is said once
    assert not any("claimed" in line for line in table(replace(given, who_says=who)))
