from __future__ import annotations

import xml.etree.ElementTree as ET

from benchgate.render.page.pictures import scatter
from benchgate.render.page.pictures.scatter import CROSSES, HIGH, TOP, Dot


def test_a_run_is_a_mark_at_its_value_and_a_find_a_cross_on_top() -> None:
    dots = [Dot(1, 0, 0.0, "low"), Dot(50, 0, 100.0, "high"), Dot(100, 1, None, "panic")]
    root = ET.fromstring(scatter.draw("runs", dots, str, "run"))
    low, high = root.iter("circle")
    assert float(low.attrib["cy"]) == TOP + CROSSES + HIGH
    assert float(high.attrib["cy"]) == TOP + CROSSES
    (bad,) = [one for one in root.iter("g") if one.attrib.get("class") == "bad"]
    assert [one.text for one in bad.iter("title")] == ["panic"]
    assert float(low.attrib["cx"]) < float(high.attrib["cx"])


def test_finds_alone_and_nothing_at_all_can_be_drawn() -> None:
    ET.fromstring(scatter.draw("runs", [Dot(1, 0, None, "panic")], str, "run"))
    ET.fromstring(scatter.draw("runs", [], str, "run"))
