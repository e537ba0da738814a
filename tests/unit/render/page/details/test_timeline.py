"""The parts of the page with timelines and flame graphs."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree

from benchgate.insn.activity import Activity, Column, Wakes
from benchgate.insn.profile import Stacks
from benchgate.judge.accounts.timeline import Timeline, WorkerSpan
from benchgate.judge.judged_run import Recording
from benchgate.render.page.details import flame, timeline
from benchgate.render.page.details.timeline import picture
from benchgate.render.page.page import session_page
from benchgate.render.page.page_view import page_view
from tests import pagekit
from tests.unit.factories import scaled_view

COLUMNS = ((Column(1.0, 0.0), Column(0.5, 0.25)), (Column(0.0, 0.0), Column(0.0, 1.0)))
ACTIVITY = Activity(100, 300, 100, COLUMNS, (Wakes(1, 0, 5, 2), Wakes(0, None, 0, 1234)))
MEDIAN = Timeline(
    cell="primes-linux-smp2",
    cpus=2,
    folder="runs/0003-primes-linux-smp2",
    run=3,
    seed=5,
    which="median",
    share=1.0,
    work=150_000_000,
    unit="insn",
    length=200_000_000,
    workers=(WorkerSpan(0, 0, 0, 0, 150_000_000), WorkerSpan(1, 1, 0, 10, 90_000_000)),
    activity=ACTIVITY,
)
SLOWEST = replace(MEDIAN, run=4, which="slowest", share=1.7, seed=6, work=255_000_000, length=300_000_000)
STACKS: Stacks = {("main",): 10, ("main", "work"): 70, ("main", "work", "schedule_[k]"): 20}


def page_of(**fields: object) -> pagekit.Page:
    return pagekit.read(session_page(replace(scaled_view(), **fields)))  # type: ignore[arg-type]


def test_without_any_there_are_no_such_parts() -> None:
    assert not [text for text in (timeline.TITLE, flame.TITLE) if text in page_of().text]


def test_the_slowest_run_stands_beside_the_median_and_says_how_much_slower_it_is() -> None:
    page = page_of(timelines=(MEDIAN, SLOWEST))
    assert timeline.TITLE in page.text
    assert "primes-linux-smp2: 150.0 ms, slowest 1.70 times the median" in page.text
    assert "median run 0003, seed 5: work 150.0 ms" in page.text
    assert "slowest run 0004, seed 6: work 255.0 ms" in page.text
    assert page.text.count("300.0 ms") == 2  # both have the scale of the longer one
    assert "worker 1: 90.00 ms from 10.00 ns, began on CPU 1, ended on CPU 0" in page.text
    assert "benchgate replay reports/runs/" in page.text


def test_runs_that_differ_by_more_than_ten_times_have_their_own_scales() -> None:
    slow = replace(SLOWEST, work=3_000_000_000, length=3_000_000_000)
    text = page_of(timelines=(MEDIAN, slow)).text
    assert "200.0 ms" in text  # the end of the axis of the median run
    assert "200.0 ms" not in page_of(timelines=(MEDIAN, SLOWEST)).text


def test_who_woke_whom_has_all_cpus() -> None:
    wakes = tuple(Wakes(target, (target * 7) % 40, target + 1, 0) for target in range(40))
    text = page_of(timelines=(replace(MEDIAN, activity=replace(ACTIVITY, wakes=wakes)),)).text
    whole = text.partition("interrupted it while it ran")[2].partition("benchgate timeline")[0]
    assert [f"CPU {cpu}" for cpu in range(40) if f"CPU {cpu}" not in whole] == []
    assert [f"{target + 1} / 0" for target in range(40) if f"{target + 1} / 0" not in whole] == []


def test_who_woke_whom_is_a_table() -> None:
    page = page_of(timelines=(MEDIAN,))
    assert "5 / 2" in page.text
    assert "0 / 1,234" in page.text
    assert "a timer or device" in page.text


def test_cells_beyond_the_size_of_a_page_are_named() -> None:
    many = tuple(replace(MEDIAN, cell=f"cell{number}") for number in range(2_000))
    text = str(timeline.body(page_view(replace(scaled_view(), timelines=many))))
    assert len(text) < timeline.MOST_BYTES + 100_000
    assert "Not drawn, because the page would be too large: cell" in text


def test_a_timeline_of_many_cpus_has_its_first_lanes() -> None:
    bars = tuple(WorkerSpan(number, number, number, 0, 10) for number in range(100))
    page = page_of(timelines=(replace(MEDIAN, cpus=100, workers=bars, activity=None),))
    assert "the first 64 of 100 CPUs" in page.text


def test_workers_that_overlap_on_a_cpu_are_below_each_other() -> None:
    """The picture shows two workers on one CPU and none on the other."""
    workers = [WorkerSpan(0, 0, 0, 0, 10), WorkerSpan(1, 0, 0, 5, 15), WorkerSpan(2, 0, 0, 12, 20)]
    svg = ElementTree.fromstring(picture([(0, workers)], None, 20, "ns", "x"))
    tops = {str(rect.findtext("title"))[:8]: rect.get("y") for rect in svg.iter("rect")}
    assert tops["worker 0"] == tops["worker 2"] != tops["worker 1"]


def test_columns_are_drawn_from_the_bottom_and_halted_ones_are_not() -> None:
    columns = (Column(1.0, 0.0), Column(0.5, 0.5), Column(0.0, 0.0))
    svg = ElementTree.fromstring(picture([(0, [])], Activity(0, 30, 10, (columns,)), 30, "ns", "x"))
    works, waits = (path.get("d", "") for path in svg.iter("path") if path.get("fill") == "currentColor")
    assert len(re.findall("M", works)) == 2
    assert len(re.findall("M", waits)) == 1


def test_a_flame_graph_has_a_box_for_each_function_with_its_share() -> None:
    page = page_of(flames=(Recording("primes-linux-smp2", 1, "runs/0001-x", STACKS),))
    assert flame.TITLE in page.text
    assert "main (user): 100 instructions, 100.00%" in page.text
    assert "work (user): 90 instructions, 90.00%" in page.text
    assert "schedule (kernel): 20 instructions, 20.00%" in page.text
    assert "runs/0001-x/stacks.folded" in page.text


def test_the_functions_of_a_flame_graph_are_in_a_table_too() -> None:
    assert flame.by_function(STACKS) == [
        ("work", 70, 90),
        ("schedule_[k]", 20, 20),
        ("main", 10, 100),
    ]
    recursive: Stacks = {("f",): 1, ("f", "f"): 2}
    assert flame.by_function(recursive) == [("f", 3, 3)]


def test_names_are_text_and_a_file_of_its_own_is_valid_xml() -> None:
    evil: Stacks = {("<script>alert(1)</script>",): 5}
    svg = flame.standalone(evil, "a & b")
    root = ElementTree.fromstring(svg)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "<script" not in svg
    pagekit.read(session_page(replace(scaled_view(), flames=(Recording("c", 1, "f", evil),))))


def test_a_flame_graph_is_bounded() -> None:
    wide: Stacks = {("main", f"f{number}"): 1 for number in range(5_000)}
    deep: Stacks = {tuple(f"f{number}" for number in range(250)): 1}
    assert str(flame.picture(wide, "x")).count("<rect") == 1  # each callee is too narrow to see
    assert str(flame.picture(deep, "x")).count("<rect") <= flame.MOST_ROWS
    many = tuple(Recording(f"c{number}", number, "f", STACKS) for number in range(3_000))
    assert len(str(flame.body(page_view(replace(scaled_view(), flames=many))))) < flame.MOST_BYTES + 200_000
