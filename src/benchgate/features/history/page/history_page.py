"""A page with the courses of a row: for each the picture, its changes, and a table of its sessions.

Takes courses and where they come from; gives HTML in one text, by the same means as a session's page. In the
picture every session is a dot with its interval, and sessions are equally far apart, because a level belongs
to the sessions that measured it and not to the days between them. Does not fail.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchgate.base.statistics.stats import median
from benchgate.base.text import counted
from benchgate.features.history.course import Course, CoursePoint
from benchgate.features.history.page import course_table as told
from benchgate.render.page.html import Html, join, tag
from benchgate.render.page.page import document
from benchgate.render.page.pictures.frame import labels, ticks
from benchgate.render.page.tables import NOTHING, listed, more, scrolling, table, used, word
from benchgate.render.tables import units

HEADS = ("session", "commit", "guest", "runs", "median", "interval", "")
OVERVIEW = ("course", "lane", "newest change", "sessions", "newest figure", "of")


def page(name: str, courses: Sequence[Course], where: str, left_out: int = 0) -> str:
    """`left_out`: how many courses the page does not show."""
    changes = sum(len(course.changes) for course in courses)
    worse = sum(change.is_worse for course in courses for change in course.changes)
    changed = f"{counted(changes, 'change')} of level, {worse} for the worse"
    result = changed if changes else "no change of level"
    sections = [(f"course-{n}", _title(course), _body(course)) for n, course in enumerate(courses)]
    if len(courses) > 1:
        sections.insert(0, ("courses", "Courses", _overview(courses)))
    more_said = f"; {counted(left_out, 'course')} more not shown" if left_out else ""
    return document(f"{name}: {result}", f"history {where}{more_said}", sections)


def _overview(courses: Sequence[Course]) -> Html:
    rows = [_overview_row(n, course) for n, course in enumerate(courses)]
    return table("the newest figure and the newest change of each course", OVERVIEW, rows, texts=3)


def _overview_row(number: int, course: Course) -> list[str | Html]:
    newest, of = course.points[-1], course.series
    change = told.change_in_short(course, course.changes[-1]) if course.changes else NOTHING
    link = tag("a", f"{of.cell} {of.metric}", href=f"#course-{number}")
    figures = [str(len(course.points)), units.shown(newest.median, of.shown_unit)]
    return [link, of.lane, change, *figures, newest.started[:10]]


def _title(course: Course) -> str:
    of = course.series
    return f"{of.cell} {of.metric}, lane {of.lane}"


def _body(course: Course) -> Html:
    of = course.series
    facts = [("parameters", of.params), ("machine", of.machine), ("placement", of.placement)]
    pairs = join(join([tag("dt", name), tag("dd", value)]) for name, value in facts if value)
    drawn = scrolling(_title(course), draw(course))
    older = f"; {counted(course.left_out, 'older session')} not shown" if course.left_out else ""
    caption = f"{counted(len(course.points), 'session')}{older}; dashed: the median of a level"
    heads, rows = used(HEADS, [_row(point, of.shown_unit) for point in reversed(course.points)])
    whole = table(f"sessions of {of.cell} {of.metric}", heads, rows, texts=3)
    shown = [tag("dl", pairs), tag("p", caption, class_="soft"), drawn, listed(told.sentences(course))]
    return join([*shown, more("every session, newest first", whole)])


def _row(point: CoursePoint, unit: str) -> list[str | Html]:
    commit = f"{point.commit[:10]}{'+' if point.is_dirty else ''}" or NOTHING
    mark = "" if point.verified else word("UNVERIFIED")
    return [point.session, commit, point.guest[:12] or NOTHING, *told.figures(point, unit), mark]


# ---- the picture

WIDTH, HEIGHT = 720, 260
RIGHT, TOP, BOTTOM = 12, 22, 30
LINES = 4
_LETTER = 6.5
"""The width of a digit of a label."""


@dataclass(frozen=True, slots=True)
class _CourseScale:
    marks: tuple[float, ...]
    """Round values, at which the grid has lines."""
    count: int
    unit: str

    @property
    def labels(self) -> list[str]:
        return labels(self.marks, self.unit)

    @property
    def left(self) -> float:
        """The room that the longest label needs."""
        return 14 + _LETTER * max(map(len, self.labels))

    def x(self, place: float) -> float:
        return self.left + (WIDTH - self.left - RIGHT) * (place + 0.5) / self.count

    def y(self, value: float) -> float:
        low, high = self.marks[0], self.marks[-1]
        return TOP + (HEIGHT - TOP - BOTTOM) * (high - value) / (high - low)


def draw(course: Course) -> Html:
    scale = _scale(course)
    parts = (_grid(course, scale), _levels(course, scale), _dots(course, scale), _borders(course, scale))
    box: dict[str, str | float] = {"viewBox": f"0 0 {WIDTH} {HEIGHT}", "width": WIDTH, "height": HEIGHT}
    label = f"course of {course.series.cell} {course.series.metric}"
    return tag("svg", *map(join, parts), **box, role="img", aria_label=label)


def _scale(course: Course) -> _CourseScale:
    """The scale leaves at least a tenth free above and below; a flat course lies in the middle."""
    ends = [
        end for point in course.points for end in (point.median, point.low, point.high) if end is not None
    ]
    low, high = min(ends), max(ends)
    space = (high - low) / 10 or abs(high) / 100 or 1.0
    marks = ticks(low - space, high + space, LINES)
    return _CourseScale(marks, len(course.points), course.series.shown_unit)


def _grid(course: Course, scale: _CourseScale) -> Iterator[Html]:
    for n, (value, words) in enumerate(zip(scale.marks, scale.labels, strict=True)):
        y = scale.y(value)
        yield tag("line", x1=scale.left, y1=y, x2=WIDTH - RIGHT, y2=y, class_="grid" if n else "axis")
        yield tag("text", words, x=scale.left - 6, y=y + 4, text_anchor="end")
    ends = [(course.points[0], scale.left, "start"), (course.points[-1], WIDTH - RIGHT, "end")]
    for point, x, anchor in ends[: len(course.points)]:
        yield tag("text", point.started[:10], x=x, y=HEIGHT - 10, text_anchor=anchor)


def _levels(course: Course, scale: _CourseScale) -> Iterator[Html]:
    starts = [0, *(change.at for change in course.changes), len(course.points)]
    for first, end in itertools.pairwise(starts):
        medians = [point.median for point in course.points[first:end] if point.verified]
        if medians:
            y = scale.y(median(medians))
            yield tag("line", x1=scale.x(first - 0.5), y1=y, x2=scale.x(end - 0.5), y2=y, class_="ideal")


def _dots(course: Course, scale: _CourseScale) -> Iterator[Html]:
    for n, point in enumerate(course.points):
        x, y = scale.x(n), scale.y(point.median)
        if point.low is not None and point.high is not None:
            yield _upright(x, scale.y(point.low), scale.y(point.high), "s0", opacity=0.5)
        title = tag("title", _told(point, course.series.shown_unit))
        if point.verified:
            yield tag("circle", title, cx=x, cy=y, r=3, fill="currentColor", class_="s0")
        else:
            yield tag("circle", title, cx=x, cy=y, r=4, fill="none", stroke="currentColor", class_="void")


def _told(point: CoursePoint, unit: str) -> str:
    mark = "" if point.verified else ", UNVERIFIED"
    return f"{point.session}: {units.shown(point.median, unit)}, {point.runs} runs{mark}"


def _borders(course: Course, scale: _CourseScale) -> Iterator[Html]:
    for change in course.changes:
        x = scale.x(change.at - 0.5)
        yield _upright(x, TOP, HEIGHT - BOTTOM, "bad" if change.is_worse else "s0")
        ratio = "" if change.ratio is None else f" {change.ratio:.3g}x"
        said = f"{'worse' if change.is_worse else 'better'}{ratio}"
        anchor = "end" if x > WIDTH * 0.8 else "start"
        yield tag("text", said, x=x, y=TOP - 8, text_anchor=anchor, class_="strong")


def _upright(x: float, low: float, high: float, colour: str, opacity: float = 1) -> Html:
    return tag("line", x1=x, y1=low, x2=x, y2=high, stroke="currentColor", class_=colour, opacity=opacity)
