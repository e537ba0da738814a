from __future__ import annotations

import re
import xml.etree.ElementTree as ET

from benchgate.render.page.pictures import interleaving
from benchgate.render.page.pictures.interleaving import LEFT, NARROW, RIGHT, WIDTH, Stretch

DRAWN = interleaving.draw(
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
    whole = WIDTH - LEFT - RIGHT
    found = boxes()
    assert found[0] == (LEFT, found[0][1], whole)
    assert found[1][0] == LEFT
    assert abs(found[1][2] - whole / 4) < 0.01
    assert abs(found[2][0] - (LEFT + whole / 4)) < 0.01
    assert found[1][1] == found[2][1] > found[0][1]


def test_one_instruction_can_be_seen() -> None:
    assert boxes()[3][2] == NARROW


def test_a_stop_is_told_by_more_than_its_colour() -> None:
    assert re.search(r'stroke-dasharray="4 3"', DRAWN)
    assert ">stopped</text>" in DRAWN
    assert ">CPU 1</text>" in DRAWN
