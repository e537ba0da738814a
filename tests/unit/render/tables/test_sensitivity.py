"""Ungated counts, laws and noise floors, as people read them."""

from __future__ import annotations

import re

from benchgate.base.cells import Lane
from benchgate.judge.accounts.noise_floor import NoiseFloor
from benchgate.judge.accounts.ungated import UngatedRow
from benchgate.judge.fits import fits
from benchgate.render.files import summary
from benchgate.render.tables import sensitivity, terminal
from tests.unit.factories import arm, cell, scaled_view, view

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
    assert re.search(r"<0\.01% \(primes-linux-smp2\) to 2\.1% \(primes-linux-smp1\)$", floor)
    assert sensitivity.sentences(view()) == []


def test_they_are_in_the_summaries() -> None:
    found = scaled_view(floors=FLOORS, ungated=UNGATED)
    assert "ungated (no threshold): primes-linux smp4" in terminal.render(found)
    text = summary.render(found)
    assert "| primes-linux-smp1 | 5 | 2.1% | 1.0020 | 1.1% |" in text
    assert "| primes-linux-smp2 (seeds) | 9 | \\<0.01% | 0.9000 | \\- |" in text
    assert "- ungated (no threshold): primes-linux smp4" in text
    assert "## Noise floor" not in summary.render(scaled_view())


def test_hostile_names_stay_text_in_markdown() -> None:
    lines = sensitivity.lines_of_markdown(view(ungated=(UngatedRow("<b>|x", (1,)),)))
    assert r"- ungated (no threshold): \<b>\|x smp1" in lines


def test_each_decision_states_its_smallest_effect() -> None:
    found = scaled_view()
    (verdict,) = found.verdicts
    assert verdict.smallest_effect is not None
    assert "smallest effect " in summary.render(found)
    assert "smallest effect " in terminal.render(found, 200)
