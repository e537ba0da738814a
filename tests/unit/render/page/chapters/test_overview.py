"""The matrix: a line for each row, a cell for each arm, with ratio, word and a link."""

from __future__ import annotations

import re
from dataclasses import replace

from benchgate.base.gates import Word
from benchgate.render.page.chapters import overview
from benchgate.render.page.page_view import page_view
from tests.pageviews import full_view, wide_view
from tests.unit.factories import scaled_view, view

WIDE = overview.body(page_view(wide_view(6, 2, 3))) or ""


def cells_of(html: str, row: str) -> list[str]:
    """The cells of a line, each as `classes: text`."""
    line = re.search(rf'<tr class="item" data-find="{re.escape(row)}">(.*?)</tr>', html)
    assert line is not None
    result = re.findall(r'<td(?: class="([^"]*)")?[^>]*>(.*?)</td>', line[1])
    return [f"{kinds}: {re.sub('<[^>]*>', '', text).strip()}".strip() for kinds, text in result]


def test_each_cell_has_its_ratio_and_its_word() -> None:
    assert cells_of(WIDE, "primes")[:3] == ["verified first: 2.143G", "pass: ✓ 1.99x", "pass: ✓ 3.94x"]
    assert cells_of(WIDE, "pipe")[2] == "fail: ✗ 2.46x"
    assert cells_of(WIDE, "wake")[2] == "invalid: ! invalid"
    assert cells_of(WIDE, "mutex")[2].startswith("inconclusive: ? 3.6")
    assert cells_of(WIDE, "walk")[1] == "verified: 1.99x"


def test_a_negative_control_is_marked() -> None:
    assert cells_of(WIDE, "primes.split-one")[1] == "pass control: ✓ 1.00x"
    assert "PASS 1.00x &lt; 1.1x (negative control)" in WIDE


def test_a_cell_says_everything_and_leads_to_its_row() -> None:
    label = "pipe, kernel, insn, smp4: FAIL 2.46x &gt; 3.6x"
    assert f'<a href="#row-3" title="{label}" aria-label="{label}">' in WIDE


def test_systems_have_their_columns_beside_each_other() -> None:
    heads = re.findall(r'<th scope="colgroup" colspan="(\d)"[^>]*>([^<]*)</th>', WIDE)
    assert heads == [("3", "linux, insn"), ("3", "kernel, insn")]


def test_the_words_are_counted() -> None:
    text = re.sub("<[^>]*>", " ", WIDE)
    assert re.search(r"✗ +2 FAIL +! +2 INVALID +\? +2 INCONCLUSIVE +✓ +14 PASS +16 verified", text)


def test_a_skipped_gate_of_a_cell_that_ran_shows_its_figures() -> None:
    ran = scaled_view()
    skipped = replace(ran.verdicts[0], outcome=Word.SKIP, ratio=None, low=None, high=None)
    html = overview.body(page_view(replace(ran, verdicts=(skipped,)))) or ""
    assert cells_of(html, "primes")[1] == "skip: - 1.93x"


def test_a_cell_that_did_not_run_has_a_place() -> None:
    ran = full_view()
    more = replace(ran.verdicts[0], outcome=Word.SKIP, cpus=64, ratio=None, low=None, high=None, lane=None)
    html = overview.body(page_view(replace(ran, verdicts=(*ran.verdicts, more)))) or ""
    assert "skip: -" in cells_of(html, "primes")


def test_without_cells_there_is_no_overview() -> None:
    assert overview.body(page_view(view())) is None
