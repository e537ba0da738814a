"""Figures that a guest prints in ticks: what two sessions say of their ratio.

46 ticks and 12 are 3.83 times; each may be a tick off, so the ratio lies between 45 / 13 = 3.46 and
47 / 11 = 4.27.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchgate import cli
from benchgate.base.text import with_interval
from benchgate.base.workload.metrics import Metric, MetricDirection, MetricKind
from benchgate.evidence import figures_file, metrics_csv
from benchgate.evidence.figures_file import ComparisonSide, FigureKey, Samples
from benchgate.evidence.rows import RunRow
from benchgate.render.figures import series_of
from benchgate.render.metrics import metrics_of
from benchgate.session.comparing import comparison
from tests.unit.evidence.test_figures_file import session
from tests.unit.factories import cell, rows, view

TICK = 10_000_000
HONEST = "3.83 [3.46, 4.27]"
KEY = FigureKey("primes", (), 2, "work")


def printed(*ticks: int) -> list[RunRow]:
    steps = (("work", float(TICK)), ("total", float(TICK)))
    made = rows(cell(2), [tick * TICK for tick in ticks])
    return [replace(row, total=row.work, steps=steps) for row in made]


def lines(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines()]


def side(
    ticks: int, step: float | None = TICK, better: MetricDirection = MetricDirection.LESS
) -> ComparisonSide:
    return ComparisonSide(
        "x", ("mine",), {KEY: Samples("tcg", "ns", better, (float(ticks * TICK),) * 5, step)}
    )


def test_a_comparison_is_as_wide_as_the_ticks(tmp_path: Path) -> None:
    path = session(tmp_path / "one", *printed(*[46] * 5))
    other = session(tmp_path / "two", *printed(*[12] * 5))
    result = lines(comparison.text(str(path), str(other), ["work"]))
    assert result[5] == f"primes smp2 460.0 ms 120.0 ms {HONEST} B"
    assert result[-2:] == [
        f"{name} is printed in steps, and the intervals are wider for it: primes smp2 10.00 ms"
        for name in "AB"
    ]


def test_too_few_runs_one_tick_apart_have_no_better_side(tmp_path: Path) -> None:
    path = session(tmp_path / "one", *printed(12))
    other = session(tmp_path / "two", *printed(13))
    assert (
        lines(comparison.text(str(path), str(other), ["work"]))[5] == "primes smp2 120.0 ms 130.0 ms 0.92 -"
    )


def test_what_an_earlier_version_wrote_has_no_interval(tmp_path: Path) -> None:
    path = session(tmp_path / "one", *printed(*[46] * 5))
    other = session(tmp_path / "two", *printed(*[12] * 5))
    text = (path / "metrics.csv").read_text()
    (path / "metrics.csv").write_text(metrics_csv.as_of_version(1, text))
    result = lines(comparison.text(str(path), str(other), ["work"]))
    assert result[5] == "primes smp2 460.0 ms 120.0 ms 3.83 -"
    assert [line for line in result if line.startswith("An earlier benchgate wrote figures of A")]
    asked = ["compare", str(other), str(path), "--metric", "work", "--fail-on", "1.02"]
    assert cli.main(asked) == 5


@pytest.mark.parametrize(
    ("worst", "status"),
    [(3.0, 1), (3.46, 1), (3.47, 5), (3.8, 5), (3.9, 0)],
)
@pytest.mark.parametrize("better", MetricDirection)
def test_a_regression_is_beyond_the_ticks(worst: float, status: int, better: MetricDirection) -> None:
    """Between 3.46 and 3.83 the ticks may be all of it: neither a regression nor a success."""
    first, then = (12, 46) if better is MetricDirection.LESS else (46, 12)
    regressions = comparison.find_regressions(
        side(first, better=better), side(then, better=better), worst, 0.05
    )
    assert regressions.status == status
    if status == 5:
        assert (
            "B is worse by 3.83x [3.46, 4.27], so wide because it is printed in steps of 10.00 ms"
            in (regressions.lines[-1])
        )


def test_unknown_steps_decide_nothing() -> None:
    for a, b in ((side(46, None), side(12)), (side(46), side(12, None))):
        regressions = comparison.find_regressions(a, b, 1.02, 0.05)
        assert regressions.status == 5
        assert "did not keep in which steps it is printed" in regressions.lines[-1]


def test_a_session_has_the_largest_step_of_its_runs(tmp_path: Path) -> None:
    side_of = figures_file.read(str(session(tmp_path / "one", *printed(46, 47))))
    assert {key.metric: samples.step for key, samples in side_of.samples.items()} == {
        "work": TICK,
        "total": TICK,
    }


def test_a_metric_of_a_printed_window_is_as_wide_as_its_step_in_the_tables() -> None:
    rate = Metric("rate", MetricKind.RATE, MetricDirection.MORE, "ops/s", of="result.ops")
    given = [
        replace(row, metrics=((rate, value),), steps=(("rate", 1.0),))
        for cpus, value in ((1, 12.0), (2, 46.0))
        for row in rows(cell(cpus), [1000] * 5, first=5 * cpus)
    ]
    shown = view(*given)
    (series,) = series_of(shown)
    (figures,) = [
        figures for figures in metrics_of(shown, series) if figures.metric == rate and figures.arm.cpus == 2
    ]
    assert figures.factor is not None
    assert figures.interval is not None
    assert with_interval(figures.factor, figures.interval.low, figures.interval.high) == HONEST
