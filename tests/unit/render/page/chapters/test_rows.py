"""Row by row: a line each, everything behind it; thresholds in the panels, one axis for all of a kind."""

from __future__ import annotations

import re
from dataclasses import replace

from benchgate.base.gates import Word
from benchgate.base.workload.witness import WitnessedPromise
from benchgate.render.page.chapters import rows, side
from benchgate.render.page.details import curves, promises
from benchgate.render.page.page_view import narrowed, page_view
from tests.pageviews import full_view, wide_view

WIDE = page_view(wide_view(6, 2, 3))


def test_of_many_rows_those_are_open_that_need_it_and_few_are_all_open() -> None:
    html = rows.body(WIDE) or ""
    result = re.findall(r"<details [^>]*class=\"row item\"[^>]*>", html)
    assert len(result) == 6
    names = ["primes", "primes.split-one", "pipe", "wake", "mutex", "walk"]
    is_open = dict(zip(names, ["open" in one for one in result], strict=True))
    assert is_open == {
        name: name in ("pipe", "wake", "mutex") for name in names
    }  # of which a gate does not hold
    line = re.sub("<[^>]*>", "", re.findall(r"<summary>(.*?)</summary>", html)[0])
    assert line == "primeslinux, insn: smp4 3.94xkernel, insn: smp4 3.94x"
    few = rows.body(page_view(full_view())) or ""
    assert len(re.findall(r"<details [^>]*open=\"\" class=\"row item\"", few)) == 1


def test_a_control_is_named() -> None:
    assert (rows.body(WIDE) or "").count(">negative control<") == 1


def test_what_says_why_comes_before_the_figures_which_are_folded() -> None:
    html = rows.body(WIDE) or ""
    pipe = html[html.index('id="row-3"') : html.index('id="row-4"')]
    due = ["Threads, by CPU", "Timelines by CPU", "Efficiency over CPUs", "Parameters", "What the total has"]
    places = [pipe.index(title) for title in due]
    assert places == sorted(places)
    assert "<summary>What the total has beyond the work</summary>" in pipe


def test_a_row_has_only_its_own_promises() -> None:
    seen = {
        f"{name}-linux-smp1": (WitnessedPromise(f"promise of {name}", "1 >= 1", "", "because"),)
        for name in ("primes", "pipe")
    }
    page = page_view(wide_view(3, 1, 1, promises=seen))
    for row in (row for row in page.rows if row.name in ("primes", "pipe")):
        html = promises.body(narrowed(page, row, 1.0)) or ""
        assert re.findall(r"promise of (\w+)", html) == [row.name]
        assert ">linux, insn, smp1<" in html  # rows of several systems are in one table


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


def test_where_a_gate_asks_how_a_rate_scales_the_window_says_nothing() -> None:
    """Each CPU has work of its own: its window is as long with four CPUs as with one. Where the gate had
    decided nothing, that was named 0.98x, and always drawn as an efficiency of 25%."""
    given = wide_view(6, 1, 3)
    of_work = next(
        one for one in given.verdicts if (one.workload, one.cpus, one.base_cpus) == ("primes", 4, 1)
    )
    asked = replace(of_work, id="rate", workload="walk", metric="rate", outcome=Word.SKIP, ratio=None)
    pages = [page_view(replace(given, verdicts=(*given.verdicts, *more))) for more in ((), (asked,))]
    drawn = [{panel.heading.partition(",")[0] for panel in curves.panels_of(page)} for page in pages]
    assert drawn[0] - drawn[1] == {"walk"}
    assert [
        len(re.findall(r">walk</strong><span[^>]*>linux, insn: smp4", rows.body(page) or ""))
        for page in pages
    ] == [1, 0]
    assert [(side.body(page) or "").count("98.62%") for page in pages] == [2, 1]
