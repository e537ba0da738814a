"""The course in the terminal: every point in its place, changes, and nothing wider than the screen."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchgate.features.history.course import Course, CoursePoint, course_of
from benchgate.features.history.page import course_table as drawn
from benchgate.features.history.tests.entries import EXACT


def point(number: int, median: float, **changes: object) -> CoursePoint:
    made = CoursePoint(
        session=f"2026010{number % 9 + 1}T030405Z-{number:06d}",
        started=f"2026-01-{number % 28 + 1:02d}T03:04:05Z",
        commit=f"{number:08x}" * 5,
        is_dirty=number % 2 == 1,
        verified=True,
        runs=5,
        median=median,
        low=median - 1,
        high=median + 1,
        guest="",
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def course(medians: list[float]) -> Course:
    points = [point(number, median) for number, median in enumerate(medians)]
    samples = {course_point.session: [course_point.median] * 5 for course_point in points}
    return course_of(EXACT, points, samples, 0.05)


def picture(found: Course, width: int = 80) -> list[str]:
    lines = drawn.render(found, width)
    start = lines.index("") + 1
    return [line.partition("|")[2] for line in lines[start : start + drawn.HEIGHT]]


def test_a_step_is_drawn_with_its_border() -> None:
    lines = picture(course([100.0, 100.0, 100.0, 180.0, 180.0]))
    assert lines[0] == "   **"
    assert lines[-1] == "***|"
    assert lines[4] == "   |"


def test_a_flat_course_is_one_line_in_the_middle() -> None:
    assert [line for line in picture(course([100.0] * 6)) if line] == ["******"]


def test_more_points_than_columns_share_them() -> None:
    lines = picture(course([100.0 + n % 2 for n in range(1000)]), 60)
    assert max(map(len, lines)) <= 60
    assert lines[0].count("*") > 30
    assert lines[-1].count("*") > 30


def test_the_change_is_said_and_marked() -> None:
    lines = drawn.render(course([100.0, 100.0, 200.0]), 200)
    (said,) = [line for line in lines if "->" in line]
    place = "2026-01-03 03:04 0000000200 (the one before: 2026-01-02 03:04 0000000100+)"
    assert said == f"{place}: 100 insn -> 200 insn, 2x: worse"
    assert lines[-1].endswith("<- worse 2x")


def test_better_and_worse_follow_the_metric() -> None:
    result = course([100.0, 200.0])
    assert result.changes[0].is_worse
    points = list(result.points)
    more = course_of(replace(EXACT, better="more"), points, {p.session: [p.median] * 5 for p in points}, 0.05)
    assert not more.changes[0].is_worse


def test_an_unverified_point_has_another_sign() -> None:
    result = course([100.0, 200.0, 100.0])
    points = [replace(course_point, verified=n != 1) for n, course_point in enumerate(result.points)]
    marked = course_of(EXACT, points, {p.session: [p.median] * 5 for p in points}, 0.05)
    assert marked.changes == ()
    assert picture(marked)[0] == " ?"
    assert any(line.endswith("UNVERIFIED") for line in drawn.render(marked, 100))


@pytest.mark.parametrize("width", [1, 56, 61, 80, 132])
def test_no_line_is_wider_than_the_screen(width: int) -> None:
    long = replace(EXACT, cell="a-very-long-name-of-a-row" * 4, params="hi=1;" * 30, machine="m " * 100)
    result = replace(course([1e9, 2e9, 1e9]), series=long)
    assert max(map(len, drawn.render(result, width))) <= max(width, drawn.LEAST_WIDTH)


def test_text_from_outside_is_made_visible() -> None:
    result = course([100.0, 200.0])
    hostile = replace(
        result,
        points=tuple(replace(course_point, commit="\x1b[2J::error::") for course_point in result.points),
    )
    text = "\n".join(drawn.render(hostile, 120))
    assert "\x1b" not in text
    assert text.isprintable() or all(line.isprintable() for line in text.splitlines())
