from __future__ import annotations

import re

from benchgate.render.page.pictures.spans import Spans, ValueSpan, draw


def places(picture: str) -> list[float]:
    return [float(x) for x in re.findall(r'<circle cx="([0-9.]+)"', picture)]


def test_a_value_below_zero_is_left_of_zero() -> None:
    spans = (ValueSpan(0, "a", -0.1, -0.2, 0.0), ValueSpan(0, "b", 0.1))
    picture = draw(Spans("t", spans, ((0.0, "none"),)), lambda value: f"{value:g}")
    left, right = places(picture)
    zero = float(re.findall(r'class="ideal" d="M([0-9.]+)', picture)[0])
    assert left < zero < right
    assert abs((zero - left) - (right - zero)) < 0.2


def test_an_interval_is_a_bar_and_a_figure_without_one_has_none() -> None:
    picture = draw(
        Spans("t", (ValueSpan(0, "a", 1.0, 0.5, 1.5), ValueSpan(0, "b", 1.0))), lambda value: f"{value:g}"
    )
    assert picture.count('stroke-width="1.5"') == 1
    assert ">a</text>" in picture
    assert ">b</text>" in picture


def test_nothing_to_draw() -> None:
    assert "<svg" in draw(Spans("t", ()), str)
