"""The strip of runs: order, voids, broken runs, the bars of detectors."""

from __future__ import annotations

import re

from benchgate.base.runs import Outcome
from benchgate.render.page.chapters.runs import MOST, Bars, StripPoint, draw


def marks(count: int) -> list[StripPoint]:
    return [StripPoint(n + 1, n % 3, 1.0 + n / 1000, Outcome.OK, f"run {n + 1}") for n in range(count)]


def test_long_sessions_continue_in_the_next_picture() -> None:
    names = [name for name, _ in draw("runs", marks(2 * MOST + 1), [])]
    assert names == [
        f"runs 1 to {MOST}",
        f"runs {MOST + 1} to {2 * MOST}",
        f"runs {2 * MOST + 1} to {2 * MOST + 1}",
    ]


def test_each_state_looks_different() -> None:
    shown = (Outcome.OK, Outcome.WARMUP, Outcome.VOID, Outcome.CRASHED)
    states = [StripPoint(n, 0, 1.0, state, "x") for n, state in enumerate(shown)]
    ((_, picture),) = draw("runs", states, [])
    drawn = [
        one.partition(">")[0]
        for one in re.findall(r'<g class="(?:s0|soft|void)">|<path class="bad"', picture)
    ]
    assert drawn == ['<g class="s0"', '<g class="soft"', '<g class="void"', '<path class="bad"']


def test_a_bar_is_as_tall_as_its_figure_and_an_unknown_one_is_absent() -> None:
    lane = Bars("run delay", (0.01, 0.04, None), ("a", "b", ""), least=0.02, above=(False, True, False))
    ((_, picture),) = draw("runs", marks(3), [lane])
    bars = re.findall(r'<rect [^>]*height="([\d.]+)"[^>]*class="(\w+)"', picture)
    assert [kind for _, kind in bars] == ["soft", "void"]
    assert float(bars[1][0]) / float(bars[0][0]) == 4


def test_next_to_nothing_is_not_drawn_as_much() -> None:
    lane = Bars("run delay", (0.0001,), ("a",), least=0.02, above=(False,))
    ((_, picture),) = draw("runs", marks(1), [lane])
    assert re.findall(r'<rect [^>]*height="([\d.]+)"', picture) == ["1"]
