"""No two systems look alike, in colour and without it, on light and on dark."""

from __future__ import annotations

import itertools
import re

import pytest

from benchgate.render.page import look
from benchgate.render.page.page_view import page_view
from tests.unit.factories import cell, rows, view

GROUND = {"light": "#ffffff", "dark": "#0f1318"}


def luminance(colour: str) -> float:
    """Relative luminance, by the definition of WCAG 2."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [number / 12.92 if number <= 0.04045 else ((number + 0.055) / 1.055) ** 2.4 for number in parts]
    return sum(weight * number for weight, number in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, two: str) -> float:
    low, high = sorted((luminance(one), luminance(two)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(("scheme", "colours"), [("light", look.LIGHT), ("dark", look.DARK)])
def test_twelve_colours_stand_out_from_the_ground_and_from_each_other(
    scheme: str, colours: tuple[str, ...]
) -> None:
    assert len(set(colours)) == len(colours) == 12
    assert min(contrast(colour, GROUND[scheme]) for colour in colours) >= 3
    channels = [[int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in colours]
    apart = [
        sum(abs(a - b) for a, b in zip(one, two, strict=True))
        for one, two in itertools.combinations(channels, 2)
    ]
    assert min(apart) >= 40


def test_without_colour_the_first_35_differ_by_marker_and_dash() -> None:
    shapes = [re.sub(r"s\d+", "", look.sample(n)) for n in range(35)]
    assert len(set(shapes)) == 35


def test_the_style_has_each_colour_in_both_schemes() -> None:
    light, dark = look.VARIABLES.split("@media(prefers-color-scheme:dark)")
    for number, (bright, dim) in enumerate(zip(look.LIGHT, look.DARK, strict=True)):
        assert f"--s{number}:{bright};" in light
        assert f"--s{number}:{dim};" in dark


def test_a_system_keeps_its_look_and_a_lane_is_another() -> None:
    given = (*rows(cell(1), [5]), *rows(cell(1, system="kernel"), [5], first=2), *rows(cell(2), [3], first=3))
    assert page_view(view(*given)).looks == {"linux, tcg": 0, "kernel, tcg": 1}


def test_a_legend_has_whole_names() -> None:
    name = "linux:kernel=" + "x" * 300
    assert name in look.legend([(0, name)])
