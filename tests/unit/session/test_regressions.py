"""`compare --fail-on`: a regression is found in both directions, and what is not decided is no success."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate import cli
from benchgate.base.metrics import Better
from benchgate.evidence.figures_file import Key, Samples, Side
from benchgate.session import regressions
from tests.unit.history.entries import EXACT, SERIES, fill, place

KEY = Key("primes", (), 2, "work")
OLD = (100.0, 101.0, 102.0, 103.0, 104.0)


def side(values: Mapping[Key, tuple[float, ...]], **changes: object) -> Side:
    of = {key: replace(Samples("tcg", "ns", Better.LESS, one), **changes) for key, one in values.items()}  # type: ignore[arg-type]
    return Side("x", ("linux",), of)


def status(
    new: tuple[float, ...], worst: float = 1.02, old: tuple[float, ...] = OLD, **changes: object
) -> int:
    a, b = side({KEY: old}, **changes), side({KEY: new}, **changes)
    return regressions.answer(a, b, worst, 0.05).status


def times(factor: float) -> tuple[float, ...]:
    return tuple(one * factor for one in OLD)


@pytest.mark.parametrize(
    ("factor", "better", "expected"),
    [
        (1.2, Better.LESS, 1),
        (0.8, Better.LESS, 0),
        (1.2, Better.MORE, 0),
        (0.8, Better.MORE, 1),
        (1.0, Better.LESS, 0),
        (1.0, Better.MORE, 0),
    ],
)
def test_worse_is_in_the_direction_of_the_metric(factor: float, better: Better, expected: int) -> None:
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
    found = regressions.answer(side({KEY: old}), side({KEY: new}), 1.02, 0.05)
    assert found.status == 5
    assert said in found.lines[-1]


def test_equal_figures_are_decided_even_around_zero() -> None:
    assert status((0.0,), old=(0.0,)) == 0


def test_a_figure_that_vanished_is_no_success() -> None:
    more = replace(KEY, metric="total")
    a, b = side({KEY: OLD, more: OLD}), side({KEY: OLD})
    assert regressions.answer(a, b, 1.02, 0.05).status == 5
    assert "total smp2: B does not have it" in regressions.answer(a, b, 1.02, 0.05).lines[-1]
    assert regressions.answer(b, a, 1.02, 0.05).status == 0  # a new figure of B is none that got worse
    worse = side({KEY: times(1.5)})
    assert regressions.answer(a, worse, 1.02, 0.05).status == 1  # a regression counts, whatever else there is


def test_other_clocks_units_and_machines_are_not_decided() -> None:
    a = side({KEY: OLD})
    for other in (side({KEY: OLD}, lane="insn"), side({KEY: OLD}, unit="cycles")):
        assert regressions.answer(a, other, 1.02, 0.05).status == 5
    here, there = replace(a, machine="one"), replace(a, machine="another")
    assert regressions.answer(here, there, 1.02, 0.05).status == 5
    assert regressions.answer(here, here, 1.02, 0.05).status == 0
    exact = [replace(side({KEY: OLD}, lane="insn"), machine=name) for name in ("one", "another")]
    assert regressions.answer(exact[0], exact[1], 1.02, 0.05).status == 0


def test_no_figures_at_all_are_no_success() -> None:
    assert regressions.answer(side({}), side({KEY: OLD}), 1.02, 0.05).status == 5


def test_the_command_and_sides_of_the_history(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    slower = [1.1 * one for one in OLD]
    fill(place(tmp_path), [{EXACT: OLD}, {EXACT: slower}, {EXACT: OLD, SERIES: OLD}])
    monkeypatch.setenv("BENCHGATE_HISTORY", str(tmp_path / "history.sqlite"))
    ask = ["compare", "history:latest~2", "history:latest~1"]
    assert cli.main(ask) == 0
    assert cli.main([*ask, "--fail-on", "1.02"]) == 1
    assert "regression: primes smp2 work: B is worse by 1.10x" in capsys.readouterr().out.replace(
        "primes work smp2", "primes smp2 work"
    )
    assert cli.main([*ask, "--fail-on", "1.3"]) == 0
    assert cli.main(["compare", "history:latest~1", "history:latest~2", "--fail-on", "1.02"]) == 0
    assert cli.main(["compare", "history:latest", "history:latest~1", "--fail-on", "1.5"]) == 5
    assert cli.main(["compare", "history:latest:linux", "history:20260101", "--fail-on", "1.5"]) == 5
    assert cli.main(["compare", "history:latest:mine", "history:latest"]) == 4
    assert cli.main(["compare", "history:nothing", "history:latest"]) == 4


@pytest.mark.parametrize("word", ["0.9", "nan", "inf", "-1", "2%", ""])
def test_a_ratio_that_is_none_is_refused(word: str) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(["compare", "a", "b", f"--fail-on={word}"])
    assert caught.value.code == 4
