"""The page's part about noise floors and smallest effects."""

from __future__ import annotations

from dataclasses import replace

from benchgate.base.cells import Lane
from benchgate.base.gates import Word
from benchgate.judge.accounts.sensitivity import NoiseFloor, UngatedRow
from benchgate.render.page.chapters import floor
from benchgate.render.page.page_view import page_view
from tests.unit.factories import scaled_view, view

FLOOR = NoiseFloor("<script>-smp1", Lane.TCG, 5, 0.0213, 1.002, 0.011)


def test_it_has_floors_effects_and_ungated_counts_as_text() -> None:
    result = floor.body(page_view(scaled_view(floors=(FLOOR,), ungated=(UngatedRow("<i>", (4,)),)))) or ""
    assert "<caption>Noise floor of each arm</caption>" in result
    assert "&lt;script&gt;-smp1" in result
    assert "<script>" not in result
    assert ">2.1%<" in result
    assert "ungated (no threshold): &lt;i&gt; smp4" in result


def test_only_decisions_have_an_effect() -> None:
    decided = scaled_view()
    (verdict,) = decided.verdicts
    assert "Smallest effect of each decision" in (floor.body(page_view(decided)) or "")
    open_ = replace(verdict, outcome=Word.INCONCLUSIVE)
    assert floor.body(page_view(replace(decided, verdicts=(open_,)))) is None
    unknown = replace(verdict, smallest_effect=None)
    assert floor.body(page_view(replace(decided, verdicts=(unknown,)))) is None


def test_a_session_without_any_of_it_has_no_such_part() -> None:
    assert floor.body(page_view(view())) is None
