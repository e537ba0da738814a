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
    assert "smp2 96.68% (1.93x)" in titles
    assert "host capacity 97%" in titles
    assert [one.get("class") for one in root.iter(f"{SVG}path")].count("ideal") == 1
    allowed = {"svg", "g", "title", "style", "path", "text", "circle", "rect", "polygon"}
    assert {one.tag.removeprefix(SVG) for one in root.iter()} <= allowed


def test_a_better_speedup_is_drawn_higher() -> None:
    given = [
        row
        for number, (system, two) in enumerate((("a", 110), ("b", 150), ("c", 190)))
        for cpus, work in ((1, 200), (2, two))
        for row in rows(cell(cpus, system=system), [work] * 5, first=1 + 20 * number + 5 * cpus)
    ]
    root = ET.fromstring(speedup_svg.render(view(*given)))
    marks = [one for one in root.iter() if one.tag in (f"{SVG}circle", f"{SVG}rect", f"{SVG}polygon")]
    two = [middle(mark) for mark in marks if "smp2" in "".join(mark.itertext())]
    assert len(two) == 3
    assert all(higher < lower for higher, lower in pairwise(two))


def middle(mark: ET.Element) -> float:
    if mark.get("cy"):
        return float(mark.get("cy") or "nan")
    ys = [float(corner.partition(",")[2]) for corner in (mark.get("points") or "").split()]
    return (min(ys) + max(ys)) / 2


def test_a_long_name_is_whole() -> None:
    name = "a-system-of-" + "-".join(["very"] * 30) + "-long-names"
    both = (*rows(cell(1, system=name), [200] * 5), *rows(cell(2, system=name), [100] * 5, first=6))
    root = ET.fromstring(speedup_svg.render(view(*both)))
    shown = "".join(one.text or "" for one in root.iter(f"{SVG}text"))
    assert name in shown
