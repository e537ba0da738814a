from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace

from benchgate.features.explore.exploration_result import FOUND, ExplorationResult
from benchgate.features.explore.page import exploration_page
from benchgate.features.explore.page.exploration_page import (
    CROSSES,
    HIGH,
    LANES_LEFT,
    LANES_RIGHT,
    LANES_WIDTH,
    NARROW,
    RUNS_TOP,
    Dot,
)
from benchgate.features.explore.switch import Segment
from benchgate.features.explore.tests.test_exploration_result import FIND, LINE
from tests import pagekit

GOOD = tuple(replace(LINE, number=n, seed=n, work_ns=1000 + n) for n in range(1, 6))
BAD = replace(LINE, number=6, seed=6, work_ns=None, outcome=FOUND, find="find-1")
STATE = ExplorationResult((*GOOD, BAD), (FIND,), expected=6)
COMMANDS = {"find-1": "benchgate explore replay x/finds/find-1"}


def test_a_find_is_shown_with_its_command_its_sentence_and_its_lanes() -> None:
    page = pagekit.read(exploration_page.page(STATE, COMMANDS))
    assert page.parts == ["group-1", "runs", "finds"]
    assert "FAIL: 1 find, in 1 of 6 runs" in page.text
    assert "benchgate explore replay x/finds/find-1" in page.text
    assert "CPU 1 stops after park+0x1c and before park+0x20 for 300 ns" in page.text
    assert "1 of 7 stalls left, after 42 runs" in page.text
    labels = [attribute.get("aria-label") for attribute in page.attributes("svg")]
    assert "the interleaving that is left: what each CPU executed around the stall" in labels
    assert "row-smp2: timed window of each run in ns; a cross is a find" in labels


def test_what_a_guest_printed_is_only_text() -> None:
    find = replace(FIND, what="<script>x</script>", last_lines=("<b>", "a"), group="<i>")
    text = exploration_page.page(replace(STATE, finds=(find,)), COMMANDS)
    pagekit.read(text)
    assert "&lt;script&gt;" in text


def test_nothing_found_is_a_pass_only_if_all_was_made() -> None:
    assert "PASS: nothing found: 5 runs" in exploration_page.page(ExplorationResult(GOOD, (), expected=5), {})
    assert "PARTIAL: nothing found so far: 5 runs" in exploration_page.page(
        ExplorationResult(GOOD, (), expected=9), {}
    )


def test_an_exploration_without_any_run_has_a_page() -> None:
    pagekit.read(exploration_page.page(ExplorationResult(expected=3, notes=("x: it has one CPU",)), {}))


def test_a_run_is_a_mark_at_its_value_and_a_find_a_cross_on_top() -> None:
    dots = [Dot(1, 0, 0.0, "low"), Dot(50, 0, 100.0, "high"), Dot(100, 1, None, "panic")]
    root = ET.fromstring(exploration_page.draw_runs("runs", dots, str, "run"))
    low, high = root.iter("circle")
    assert float(low.attrib["cy"]) == RUNS_TOP + CROSSES + HIGH
    assert float(high.attrib["cy"]) == RUNS_TOP + CROSSES
    (bad,) = [one for one in root.iter("g") if one.attrib.get("class") == "bad"]
    assert [one.text for one in bad.iter("title")] == ["panic"]
    assert float(low.attrib["cx"]) < float(high.attrib["cx"])


def test_finds_alone_and_nothing_at_all_can_be_drawn() -> None:
    ET.fromstring(exploration_page.draw_runs("runs", [Dot(1, 0, None, "panic")], str, "run"))
    ET.fromstring(exploration_page.draw_runs("runs", [], str, "run"))


DRAWN = exploration_page.draw_lanes(
    "what was executed",
    [
        Segment(0, 0, 10_000, "unpark"),
        Segment(1, 0, 2_500, "park"),
        Segment(1, 2_500, 7_500, ""),
        Segment(1, 7_500, 7_501, "park"),
    ],
    str,
)


def boxes() -> list[tuple[float, float, float]]:
    root = ET.fromstring(DRAWN)
    return [
        (float(one.attrib["x"]), float(one.attrib["y"]), float(one.attrib["width"]))
        for one in root.iter("rect")
    ]


def test_each_stretch_has_its_place_in_time_and_lane() -> None:
    whole = LANES_WIDTH - LANES_LEFT - LANES_RIGHT
    result = boxes()
    assert result[0] == (LANES_LEFT, result[0][1], whole)
    assert result[1][0] == LANES_LEFT
    assert abs(result[1][2] - whole / 4) < 0.01
    assert abs(result[2][0] - (LANES_LEFT + whole / 4)) < 0.01
    assert result[1][1] == result[2][1] > result[0][1]


def test_one_instruction_can_be_seen() -> None:
    assert boxes()[3][2] == NARROW


def test_a_stop_is_told_by_more_than_its_colour() -> None:
    assert re.search(r'stroke-dasharray="4 3"', DRAWN)
    assert ">stopped</text>" in DRAWN
    assert ">CPU 1</text>" in DRAWN
