"""The picture of a chase: points, axes and the staircase are where their figures say."""

from __future__ import annotations

import math
import re
from xml.etree import ElementTree

from benchgate.render.page.pictures.frame import LEFT, RIGHT, WIDTH
from contrib.calibration.latency import BOTTOM, HEIGHT, TOP, Curve, Stair, draw, size_text

KIB, MIB = 1 << 10, 1 << 20
POINTS = ((4 * KIB, 1.0, 1.0), (64 * KIB, 10.0, 20.0), (1 * MIB, 100.0, 100.0))
ONE = Curve(0, "huge", POINTS)
STAIRS = (Stair("L1d", 64 * KIB, 1.0), Stair("L2", 256 * KIB, 10.0), Stair("memory", None, 100.0))


def corners(picture: str, kind: str) -> list[tuple[float, float]]:
    match = re.search(rf'<path[^>]*{kind}[^>]*d="M([^"]+)"|<path d="M([^"]+)"[^>]*{kind}', picture)
    assert match is not None
    places = [point.split() for point in (match[1] or match[2]).split("L")]
    return [(float(x), float(y)) for x, y in places]


def test_equal_factors_are_equal_distances() -> None:
    track = corners(draw("t", [ONE], ()), "stroke-width")
    middle = ((LEFT + WIDTH - RIGHT) / 2, (TOP + HEIGHT - BOTTOM) / 2)
    assert [(round(x), round(y)) for x, y in track] == [
        (LEFT, HEIGHT - BOTTOM),
        (round(middle[0]), round(middle[1])),
        (WIDTH - RIGHT, TOP),
    ]


def test_a_bar_goes_from_the_lowest_pass_to_the_typical_one() -> None:
    bars = re.findall(r'd="M([\d.]+) ([\d.]+)V([\d.]+)" stroke="currentColor"', draw("t", [ONE], ()))
    lengths = [float(low) - float(high) for _, low, high in bars]
    decade = (HEIGHT - BOTTOM - TOP) / 2
    assert [round(length) for length in lengths] == [0, round(decade * math.log10(2)), 0]


def test_the_staircase_turns_at_each_size() -> None:
    picture = draw("t", [ONE], STAIRS)
    track = corners(picture, "ideal")
    x = [LEFT + (WIDTH - LEFT - RIGHT) * part for part in (0, 0.5, 0.5, 0.75, 0.75, 1)]
    assert [round(place) for place, _ in track] == [round(number) for number in x]
    levels = [place for _, place in track]
    assert levels[0] == levels[1] > levels[2] == levels[3] > levels[4] == levels[5]
    assert re.findall(r">((?:L1d|L2|memory)[^<]*)</text>", picture) == ["L1d 64 KiB", "L2 256 KiB"]


def test_labels_of_near_edges_stand_beside_each_other() -> None:
    near = (Stair("L1d", 8 * KIB, 1.0), Stair("L2", 9 * KIB, 10.0), Stair("memory", None, 100.0))
    labels = re.findall(r'<text x="([\d.]+)" y="([\d.]+)"[^>]*>L[12]', draw("t", [ONE], near))
    (first, y), (second, same) = labels
    assert y == same
    assert float(second) - float(first) > 40


def test_it_is_xml_and_names_every_curve() -> None:
    picture = draw("a & b", [ONE, Curve(1, "<small>", POINTS[:1]), Curve(2, "none", ())], STAIRS)
    root = ElementTree.fromstring(picture)
    titles = [one.text for one in root.iter("title")]
    assert {"a & b", "huge", "<small>", "the machine file"} <= set(titles)
    assert "none" not in titles
    assert "nan" not in picture


def test_nothing_measured_is_an_empty_picture() -> None:
    assert "<path" not in draw("t", [Curve(0, "none", ())], STAIRS)


def test_sizes_have_their_unit() -> None:
    assert [size_text(size) for size in (4 * KIB, 1536 * KIB, 5 << 30)] == ["4 KiB", "1.5 MiB", "5 GiB"]
