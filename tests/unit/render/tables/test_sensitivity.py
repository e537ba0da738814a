"""Ungated counts, laws and noise floors, as people read them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest

from benchgate.base.cells import Cell, Lane
from benchgate.base.clocks import Clock, Clocks
from benchgate.base.gates import CapacityBound, Gate
from benchgate.judge.accounts.sensitivity import NoiseFloor, UngatedRow
from benchgate.judge.decide import decide
from benchgate.judge.fits import fits
from benchgate.render.figures import series_of
from benchgate.render.files import summary
from benchgate.render.tables import sensitivity, terminal
from benchgate.render.view import SessionView
from tests.unit.factories import POLICY, arm, cell, raw_run, rows, run_row, scaled_view, speedup, view

FLOORS = (
    NoiseFloor("primes-linux-smp1", Lane.TCG, 5, 0.0213, 1.002, 0.011),
    NoiseFloor("primes-linux-smp2", Lane.INSN, 9, 0.00001, 0.9, None),
)
UNGATED = (UngatedRow("primes-linux", (4,)),)
ROW = {one.cell.id: one for one in (arm(cell(n), [1e6 / n] * 5) for n in (1, 2, 4))}


def test_the_terminal_has_a_line_for_each() -> None:
    (fit,) = fits(ROW, 0.0276)
    ungated, law, floor = sensitivity.sentences(view(floors=FLOORS, ungated=UNGATED, fits=(fit,)))
    assert (ungated, law) == ("ungated (no threshold): primes-linux smp4", fit.said)
    assert re.search(r"differs by 2\.1% at most \(primes-linux-smp1\)$", floor)
    assert sensitivity.sentences(view()) == []


def test_they_are_in_the_summaries() -> None:
    session_view = scaled_view(floors=FLOORS, ungated=UNGATED)
    assert "ungated (no threshold): primes-linux smp4" in terminal.render(session_view)
    text = summary.render(session_view)
    assert "| primes-linux-smp1 | 5 | 2.1% | 1.0020 | 1.1% |" in text
    assert "| primes-linux-smp2 (seeds) | 9 | \\<0.01% | 0.9000 | \\- |" in text
    assert "- ungated (no threshold): primes-linux smp4" in text
    assert "## Noise floor" not in summary.render(scaled_view())


def test_hostile_names_stay_text_in_markdown() -> None:
    lines = sensitivity.lines_of_markdown(view(ungated=(UngatedRow("<b>|x", (1,)),)))
    assert r"- ungated (no threshold): \<b>\|x smp1" in lines


def test_each_decision_states_its_smallest_effect() -> None:
    session_view = scaled_view()
    (verdict,) = session_view.verdicts
    assert verdict.smallest_effect is not None
    assert "smallest effect " in summary.render(session_view)
    assert "smallest effect " in terminal.render(session_view, 200)


INSN = Clocks(Clock.INSN, "two cores are one", {Clock.WALL: (5, 25), Clock.INSN: (5, 5)})
GUEST = (120.0, 120.0, 120.0, 120.0, 120.0)
HALF = (100.0, 96.0, 100.0, 104.0, 100.0)
"""The bootstrap of the medians of five gives the interval [120/104, 120/96] = [1.15, 1.25]."""


def named(cpus: int, system: str, clock: str) -> Cell:
    return replace(cell(cpus, system=system), clock=clock)


def gate(system: str, clock: str, **bounds: float) -> Gate:
    base, other = (named(cpus, system, clock) for cpus in (1, 2))
    kind = "control" if "at_most" in bounds else "speedup"
    limits = {"at_least": None, "at_most": None, **bounds}
    return replace(speedup(2), id=other.id, kind=kind, base=base, cell=other, **limits)  # type: ignore[arg-type]


def figures(
    system: str, clock: str, lane: Lane, base: Sequence[float], other: Sequence[float], **bounds: float
) -> SessionView:
    """One row with its gate, judged as a session does."""
    cells = [named(cpus, system, clock) for cpus in (1, 2)]
    arms = {one.id: arm(one, samples, lane=lane) for one, samples in zip(cells, (base, other), strict=True)}
    verdicts = decide([gate(system, clock, **bounds)], arms, INSN.policy(POLICY, clock)).verdicts
    made = [
        row
        for one, samples in zip(cells, (base, other), strict=True)
        for row in rows(one, [round(sample) for sample in samples], lane=lane)
    ]
    return view(*made, verdicts=verdicts, clocks=INSN)


def together(*views: SessionView, **changes: object) -> SessionView:
    every = [row for session_view in views for row in session_view.rows]
    verdicts = [verdict for session_view in views for verdict in session_view.verdicts]
    return view(*every, verdicts=verdicts, **{"clocks": INSN, **changes})


@pytest.fixture
def seen() -> SessionView:
    return together(
        figures("linux", "wall", Lane.TCG, GUEST, HALF, at_least=1.6),
        figures("linux", "insn", Lane.INSN, [200.0] * 5, [100.0] * 5, at_least=1.6),
        figures("native", "wall", Lane.NATIVE, [190.0] * 5, [100.0] * 5, at_least=1.6),
        capacity={2: CapacityBound(Lane.TCG, 2, 1.69, 1.6, 1.75)},
    )


def test_two_sentences_say_who_decides_and_how_good_wall_time_was(seen: SessionView) -> None:
    who, good = sensitivity.wall_time_sentences(seen)
    assert re.search(
        r"^The instruction clock .*two cores are one; 2 .*\(tcg\) .*1\.69x \[1\.60, 1\.75\]", who
    )
    assert re.search(r"^Wall time .*4\.0% on linux, tcg and 0\.0% on native", good)
    assert "of 2 thresholds it meets 1, misses 1, leaves open 0" in good


@pytest.mark.parametrize(
    ("bounds", "said"),
    [
        ({"at_least": 1.2}, "meets 0, misses 0, leaves open 1"),
        ({"at_least": 1.1}, "meets 1, misses 0, leaves open 0"),
        ({"at_most": 1.1}, "meets 0, misses 1, leaves open 0"),
        ({"at_most": 1.3}, "meets 1, misses 0, leaves open 0"),
    ],
)
def test_a_threshold_is_met_missed_or_left_open(bounds: dict[str, float], said: str) -> None:
    session_view = figures("linux", "wall", Lane.TCG, GUEST, HALF, **bounds)
    assert f"of 1 threshold it {said}." in sensitivity.wall_time_sentences(session_view)[1]


def test_without_an_interval_wall_time_gave_single_times(seen: SessionView) -> None:
    few = together(figures("linux", "wall", Lane.TCG, GUEST[:1], HALF[:1], at_least=1.6))
    for session_view in (few, replace(seen, rows=())):
        assert "good for single times only" in sensitivity.wall_time_sentences(session_view)[1]


def test_no_clock_decides_in_a_session_that_informs(seen: SessionView) -> None:
    quick = replace(seen, informs="--quick decides nothing")
    assert sensitivity.wall_time_sentences(quick)[0].startswith(
        "No threshold is decided: --quick decides nothing ("
    )
    assert "| native | linux, tcg | linux, insn |" in summary.render(quick)


def test_a_session_of_one_clock_has_no_such_sentences(seen: SessionView) -> None:
    assert sensitivity.wall_time_sentences(replace(seen, clocks=None)) == ()


def test_the_page_begins_with_the_sentences_and_the_table(seen: SessionView) -> None:
    page = summary.render(seen).splitlines()
    assert page[0] == "# PASS: 1 of 3 verdicts, 2 SKIP"
    assert page[2] == " ".join(sensitivity.wall_time_sentences(seen))
    assert page[4] == "## Side by side"
    rows = [line for line in page[6:12] if line.startswith("|")]
    assert rows[0] == (
        "| workload | window | native (informs) | linux, tcg (informs) | linux, insn (decides) |"
    )
    assert rows[2] == (
        "| primes | work | smp1 190.0 ns; smp2 1.90x [1.90, 1.90] | smp1 120.0 ns; smp2 1.20x [1.15, 1.25] | "
        "smp1 200.0 ns; smp2 2.00x [2.00, 2.00] PASS |"
    )
    assert "Verdicts that compare noisy figures: m = 1." in "\n".join(page)  # the two others decide nothing
    shown = " ".join(terminal.render(seen, 100).split())
    assert all(sentence in shown for sentence in sensitivity.wall_time_sentences(seen))


def test_a_broken_arm_of_one_clock_is_not_shown_on_the_other(seen: SessionView) -> None:
    """Its verdict has no lane, because none of its runs is verified."""
    cells = [named(cpus, "linux", "insn") for cpus in (1, 2)]
    broken = {one.id: arm(one, (), lane=Lane.INSN, invalid=("wrong",)) for one in cells}
    broken = {name: replace(value, lane=None, placement=None) for name, value in broken.items()}
    gates = [gate("linux", "insn", at_least=1.6)]
    (verdict,) = decide(gates, broken, INSN.policy(POLICY, "insn")).verdicts
    assert (verdict.outcome, verdict.lane) == ("INVALID", None)
    bad = [run_row(raw_run(one, lane=Lane.INSN), None, "wrong") for one in cells]
    wall = figures("linux", "wall", Lane.TCG, GUEST, HALF, at_least=1.6)
    session_view = view(*wall.rows, *bad, verdicts=[verdict, *wall.verdicts], clocks=INSN)
    words = {
        series.name: [seen.word for seen in series.arms[1].speedups.values()]
        for series in series_of(session_view)
    }
    assert words == {"primes-linux-wall": ["SKIP", ""], "primes-linux-insn": []}
