"""`benchgate compare`: which figures are compared, and how the table shows it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate import cli
from benchgate.base.errors import UsageError
from benchgate.base.workload.metrics import MetricDirection
from benchgate.evidence.figures_file import ComparisonSide, FigureKey, Samples
from benchgate.session.comparing import comparison
from tests.unit.evidence.test_figures_file import KEVLAR, micro, session

FIVE = [100.0, 101.0, 102.0, 103.0, 104.0]


def lines(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines()]


def test_two_sessions_of_different_systems(tmp_path: Path) -> None:
    path = session(tmp_path / "one", *micro("kernel", FIVE))
    more = [*micro("linux", [1.0], op="stat"), *micro("linux", [1.0], op="pipe", cpus=2)]
    other = session(tmp_path / "two", *micro("linux", [2 * cost for cost in FIVE]), *more)
    result = lines(comparison.text(str(path), str(other), ["cost"]))
    assert result[3:6] == [
        "figure A B A / B better",
        "-" * len(result[4]),
        "micro.op-getpid smp1 102.0 ns 204.0 ns 0.50 [0.49, 0.51] A",
    ]
    assert result[7] == "only in B: pipe smp2, stat"


def test_an_interval_around_1_is_of_neither_side(tmp_path: Path) -> None:
    path = session(tmp_path / "one", *micro("kernel", FIVE))
    other = session(tmp_path / "two", *micro("linux", [*FIVE[1:], 99.0]))
    assert lines(comparison.text(str(path), str(other), ["cost"]))[5].endswith("-")


def test_systems_of_one_session(tmp_path: Path) -> None:
    folder = session(tmp_path / "one", *micro("kernel", [70.0]), *micro("linux", [280.0]))
    assert "micro 70.00 ns 280.0 ns 0.25 A" in lines(
        comparison.text(f"{folder}:kernel", f"{folder}:linux", ["cost"])
    )
    with pytest.raises(UsageError, match="choose one with FOLDER:SYSTEM"):
        comparison.text(str(folder), f"{folder}:linux")


def test_a_session_and_the_json_of_kevlars_runner(tmp_path: Path) -> None:
    folder = session(tmp_path / "one", *micro("linux", [132.0]), *micro("linux", [132.0], cpus=2))
    (tmp_path / "kevlar.json").write_text(json.dumps(KEVLAR))
    result = lines(comparison.text(str(folder), str(tmp_path / "kevlar.json")))
    assert "getpid 132.0 ns 264.0 ns 0.50 A" in result


def test_nothing_in_common_is_an_error(tmp_path: Path) -> None:
    path = session(tmp_path / "one", *micro("linux", [1.0], op="stat"))
    other = session(tmp_path / "two", *micro("linux", [1.0], op="pipe"))
    with pytest.raises(UsageError, match="have no figure of the same workload"):
        comparison.text(str(path), str(other))


def test_a_metric_that_neither_side_has_is_named(tmp_path: Path) -> None:
    path = str(session(tmp_path / "one", *micro("linux", [1.0])))
    for metric, due in (("wrk", r"did you mean `work`\?"), ("zzzz", r"there are .*work")):
        with pytest.raises(UsageError, match=f"--metric {metric}: neither side has it; {due}"):
            comparison.text(path, path, [metric])


def test_figures_of_different_clocks_have_no_ratio(tmp_path: Path) -> None:
    path = session(tmp_path / "one", *micro("linux", FIVE))
    other = session(tmp_path / "two", *micro("linux", FIVE))
    text = (other / "metrics.csv").read_text()
    (other / "metrics.csv").write_text(text.replace(",tcg,", ",insn,"))
    assert lines(comparison.text(str(path), str(other), ["cost"]))[5] == (
        "micro 102.0 ns 102.0 ns clocks tcg and insn -"
    )


def test_the_command_prints_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "kevlar.json").write_text(json.dumps(KEVLAR))
    path = str(tmp_path / "kevlar.json")
    assert cli.main(["compare", path, path]) == 0
    assert "1.00" in capsys.readouterr().out
    assert cli.main(["compare", path, str(tmp_path / "none")]) == 4


def on_machine(folder: Path, system: str, digest: str = "") -> str:
    made = session(folder, *micro(system, FIVE))
    if digest:
        machines = {"desktop8": {"digest": digest * 64, "text": ""}}
        (folder / "session.json").write_text(json.dumps({"machines": machines}))
    return str(made)


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        (("linux-desktop8", ""), ("linux", ""), "is on desktop8 .* is on ideal: figures of two machines"),
        (("linux-desktop8", ""), ("linux-desktop8", ""), r"is on desktop8 \(which, only a session.json in "),
        (("linux-desktop8", "c"), ("linux-desktop8", "d"), "is on desktop8 ccc.* is on desktop8 ddd"),
    ],
)
def test_two_machines_are_never_compared(
    tmp_path: Path, one: tuple[str, str], other: tuple[str, str], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        comparison.text(on_machine(tmp_path / "one", *one), on_machine(tmp_path / "two", *other))


def test_two_systems_on_one_machine_are_compared(tmp_path: Path) -> None:
    text = on_machine(tmp_path / "one", "linux-desktop8", "c")
    other = on_machine(tmp_path / "two", "kernel-desktop8", "c")
    assert "micro work 1.000 us 1.000 us 1.00 [1.00, 1.00] -" in lines(comparison.text(text, other))[5:]


KEY = FigureKey("primes", (), 2, "work")
OLD = (100.0, 101.0, 102.0, 103.0, 104.0)


def side(values: Mapping[FigureKey, tuple[float, ...]], **changes: object) -> ComparisonSide:
    of = {
        key: replace(Samples("tcg", "ns", MetricDirection.LESS, value), **changes)  # type: ignore[arg-type]
        for key, value in values.items()
    }
    return ComparisonSide("x", ("linux",), of)


def status(
    new: tuple[float, ...], worst: float = 1.02, old: tuple[float, ...] = OLD, **changes: object
) -> int:
    a, b = side({KEY: old}, **changes), side({KEY: new}, **changes)
    return comparison.find_regressions(a, b, worst, 0.05).status


def times(factor: float) -> tuple[float, ...]:
    return tuple(number * factor for number in OLD)


@pytest.mark.parametrize(
    ("factor", "better", "expected"),
    [
        (1.2, MetricDirection.LESS, 1),
        (0.8, MetricDirection.LESS, 0),
        (1.2, MetricDirection.MORE, 0),
        (0.8, MetricDirection.MORE, 1),
        (1.0, MetricDirection.LESS, 0),
        (1.0, MetricDirection.MORE, 0),
    ],
)
def test_worse_is_in_the_direction_of_the_metric(
    factor: float, better: MetricDirection, expected: int
) -> None:
    assert status(times(factor), better=better) == expected


def test_the_whole_interval_must_be_beyond_the_ratio() -> None:
    """The medians differ by 1.1, but with such noise the interval reaches down to 1."""
    noisy = (90.0, 100.0, 112.2, 125.0, 140.0)
    assert status(noisy) == 0
    assert status(times(1.1)) == 1
    assert status(times(1.1), worst=1.2) == 0


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (OLD, OLD[:4], "4 runs, 5 are needed"),
        ((0.0, 1.0, 1.0, 1.0, 1.0), OLD, "a figure is 0 or less"),
        (OLD, (-1.0, 1.0, 1.0, 1.0, 1.0), "a figure is 0 or less"),
    ],
)
def test_what_has_no_interval_is_not_decided(
    old: tuple[float, ...], new: tuple[float, ...], said: str
) -> None:
    regressions = comparison.find_regressions(side({KEY: old}), side({KEY: new}), 1.02, 0.05)
    assert regressions.status == 5
    assert said in regressions.lines[-1]


def test_equal_figures_are_decided_even_around_zero() -> None:
    assert status((0.0,), old=(0.0,)) == 0


def test_a_figure_that_vanished_is_no_success() -> None:
    more = replace(KEY, metric="total")
    a, b = side({KEY: OLD, more: OLD}), side({KEY: OLD})
    assert comparison.find_regressions(a, b, 1.02, 0.05).status == 5
    assert "total smp2: B does not have it" in comparison.find_regressions(a, b, 1.02, 0.05).lines[-1]
    assert (
        comparison.find_regressions(b, a, 1.02, 0.05).status == 0
    )  # a new figure of B is none that got worse
    worse = side({KEY: times(1.5)})
    assert (
        comparison.find_regressions(a, worse, 1.02, 0.05).status == 1
    )  # a regression counts, whatever else there is


def test_other_clocks_units_and_machines_are_not_decided() -> None:
    a = side({KEY: OLD})
    for other in (side({KEY: OLD}, lane="insn"), side({KEY: OLD}, unit="cycles")):
        assert comparison.find_regressions(a, other, 1.02, 0.05).status == 5
    here, there = replace(a, machine="one"), replace(a, machine="another")
    assert comparison.find_regressions(here, there, 1.02, 0.05).status == 5
    assert comparison.find_regressions(here, here, 1.02, 0.05).status == 0
    exact = [replace(side({KEY: OLD}, lane="insn"), machine=name) for name in ("one", "another")]
    assert comparison.find_regressions(exact[0], exact[1], 1.02, 0.05).status == 0


def test_no_figures_at_all_are_no_success() -> None:
    assert comparison.find_regressions(side({}), side({KEY: OLD}), 1.02, 0.05).status == 5


@pytest.mark.parametrize("word", ["0.9", "nan", "inf", "-1", "2%", ""])
def test_a_ratio_that_is_none_is_refused(word: str) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(["compare", "a", "b", f"--fail-on={word}"])
    assert caught.value.code == 4


def test_a_warm_and_a_cold_session_have_no_ratio(tmp_path: Path) -> None:
    """The examples of issue 52, and the same with settings before and a digest behind."""
    cold = session(tmp_path / "cold", *micro("linux", FIVE))
    for name in ("linux.start-warm", "linux.slice-3.start-warm-0123abcd"):
        warm = session(tmp_path / name, *micro(name, FIVE))
        with pytest.raises(UsageError, match=r"warm.* starts warm and linux cold: .* never compared"):
            comparison.text(str(cold), str(warm))
        with pytest.raises(UsageError, match=r"starts warm and linux cold: "):
            comparison.compare(str(warm), str(cold), fail_on=1.1)
    both = [session(tmp_path / f"w{n}", *micro("linux.start-warm", FIVE)) for n in (1, 2)]
    assert "1.00" in comparison.text(*map(str, both))
