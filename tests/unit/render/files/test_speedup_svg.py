"""speedup.svg: the ideal line, the points, the host, whole names, and no active content."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from itertools import pairwise

from benchgate.base.cells import Lane
from benchgate.base.gates import CapacityBound
from benchgate.render.files import speedup_svg
from tests.unit.factories import cell, rows, scaled_view, view

SVG = "{http://www.w3.org/2000/svg}"


def test_the_svg_has_the_ideal_line_the_points_and_the_host() -> None:
    seen = scaled_view(capacity={2: CapacityBound(Lane.TCG, 2, 1.94, 1.90, 1.97)})
    root = ET.fromstring(speedup_svg.render(seen))
    assert root.tag == f"{SVG}svg"
    titles = [one.text for one in root.iter(f"{SVG}title")]
    assert "smp2 96.7% (1.93x) PASS" in titles
    assert "host capacity 97%" in titles
    assert [one.get("class") for one in root.iter(f"{SVG}path")].count("ideal") == 1
    allowed = {"svg", "g", "title", "style", "path", "text", "circle", "rect", "polygon"}
    assert {one.tag.removeprefix(SVG) for one in root.iter()} <= allowed


def test_a_better_speedup_is_drawn_higher() -> None:
    def height(two: int) -> float:
        root = ET.fromstring(speedup_svg.render(view(*rows(cell(1), [200] * 5), *rows(cell(2), [two] * 5))))
        marks = [one for one in root.iter(f"{SVG}circle") if "smp2" in "".join(one.itertext())]
        return float(marks[0].get("cy") or "nan") - top_of(root, "50%")

    def top_of(root: ET.Element, shown: str) -> float:
        return float(next(one for one in root.iter(f"{SVG}text") if one.text == shown).get("y") or "nan")

    heights = [height(two) for two in (110, 150, 190)]
    assert all(higher < lower for higher, lower in pairwise(heights))


def test_a_long_name_is_whole() -> None:
    name = "a-system-of-" + "-".join(["very"] * 30) + "-long-names"
    both = (*rows(cell(1, system=name), [200] * 5), *rows(cell(2, system=name), [100] * 5, first=6))
    root = ET.fromstring(speedup_svg.render(view(*both)))
    shown = "".join(one.text or "" for one in root.iter(f"{SVG}text"))
    assert name in shown
