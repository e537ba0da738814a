"""The pictures of an exploration: each run has its mark, each stretch its place in time and lane."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

from benchgate.render.page.pictures import exploration
from benchgate.render.page.pictures.exploration import (
    CROSSES,
    HIGH,
    LANES_LEFT,
    LANES_RIGHT,
    LANES_WIDTH,
    NARROW,
    RUNS_TOP,
    Dot,
    Stretch,
)


def test_a_run_is_a_mark_at_its_value_and_a_find_a_cross_on_top() -> None:
    dots = [Dot(1, 0, 0.0, "low"), Dot(50, 0, 100.0, "high"), Dot(100, 1, None, "panic")]
    root = ET.fromstring(exploration.draw_runs("runs", dots, str, "run"))
    low, high = root.iter("circle")
    assert float(low.attrib["cy"]) == RUNS_TOP + CROSSES + HIGH
    assert float(high.attrib["cy"]) == RUNS_TOP + CROSSES
    (bad,) = [one for one in root.iter("g") if one.attrib.get("class") == "bad"]
    assert [one.text for one in bad.iter("title")] == ["panic"]
    assert float(low.attrib["cx"]) < float(high.attrib["cx"])


def test_finds_alone_and_nothing_at_all_can_be_drawn() -> None:
    ET.fromstring(exploration.draw_runs("runs", [Dot(1, 0, None, "panic")], str, "run"))
    ET.fromstring(exploration.draw_runs("runs", [], str, "run"))


DRAWN = exploration.draw_lanes(
    "what was executed",
    [
        Stretch(0, 0, 100, "unpark", "CPU 0, unpark"),
        Stretch(1, 0, 25, "park", "CPU 1, park"),
        Stretch(1, 25, 75, "", "CPU 1, stopped"),
        Stretch(1, 75, 75.01, "park", "one instruction"),
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
    found = boxes()
    assert found[0] == (LANES_LEFT, found[0][1], whole)
    assert found[1][0] == LANES_LEFT
    assert abs(found[1][2] - whole / 4) < 0.01
    assert abs(found[2][0] - (LANES_LEFT + whole / 4)) < 0.01
    assert found[1][1] == found[2][1] > found[0][1]


def test_one_instruction_can_be_seen() -> None:
    assert boxes()[3][2] == NARROW


def test_a_stop_is_told_by_more_than_its_colour() -> None:
    assert re.search(r'stroke-dasharray="4 3"', DRAWN)
    assert ">stopped</text>" in DRAWN
    assert ">CPU 1</text>" in DRAWN
