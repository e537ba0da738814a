"""Row by row: a line each, everything behind it; thresholds in the panels, one axis for all of a kind."""

from __future__ import annotations

import re

from benchgate.render.page.chapters import rows
from benchgate.render.page.details import curves
from benchgate.render.page.page_view import page_view
from tests.pageviews import full_view, wide_view

WIDE = page_view(wide_view(6, 2, 3))


def test_many_rows_are_folded_with_a_line_each_and_few_are_open() -> None:
    html = rows.body(WIDE) or ""
    result = re.findall(r"<details [^>]*class=\"row item\"[^>]*>", html)
    assert len(result) == 6
    assert not [one for one in result if "open" in one]
    line = re.sub("<[^>]*>", "", re.findall(r"<summary>(.*?)</summary>", html)[0])
    assert line.startswith("primes PASS process mode, n=4096, 4 of 4 gates passedlinux, insn: smp4 3.94x")
    few = rows.body(page_view(full_view())) or ""
    assert len(re.findall(r"<details [^>]*open=\"\" class=\"row item\"", few)) == 1


def test_a_control_is_named_and_so_is_a_row_without_thresholds() -> None:
    html = rows.body(WIDE) or ""
    assert html.count(">negative control<") == 1
    assert "no threshold" in html


def test_a_sentence_is_not_repeated_as_a_table() -> None:
    html = rows.body(WIDE) or ""
    assert html.count("pipe-linux smp2/smp1 = 1.99") == 1
    assert "next:" not in html


def test_explanations_are_there_once_and_only_of_what_is_shown() -> None:
    html = rows.body(WIDE) or ""
    assert html.count("100% is the ideal") == 1
    assert "The books balance" not in html


def test_thresholds_are_drawn_at_their_counts() -> None:
    panels = {panel.heading: panel for panel in curves.panels_of(WIDE)}
    drawn = panels["primes, process mode"].limits
    assert [(limit.cpus, round(limit.value, 3)) for limit in drawn] == [(2, 0.9), (4, 0.9)]
    assert drawn[0].title == "threshold: smp2 > 1.8x"
    assert 'class="limit"' in (rows.body(WIDE) or "")
    assert panels["walk, process mode"].limits == ()


def test_all_panels_have_one_axis_but_controls_their_own() -> None:
    panels = {panel.heading.partition(",")[0]: panel for panel in curves.panels_of(WIDE)}
    control = panels.pop("primes.split-one")
    ends = {(panel.least, panel.most) for panel in panels.values()}
    assert len(ends) == 1
    assert next(iter(ends))[0] < 0.62  # the row that fails
    assert (control.least, control.most) not in ends
