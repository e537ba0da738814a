"""A page with the courses of a row: for each the picture, its changes, and a table of its sessions.

Takes courses and where they come from; gives HTML in one text, by the same means as a session's page. Does
not fail.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchgate.base.statistics.stats import Spread
from benchgate.base.text import counted
from benchgate.history.course import Course, CoursePoint
from benchgate.render.page.html import Html, join, tag
from benchgate.render.page.page import document
from benchgate.render.page.pictures import course as picture
from benchgate.render.page.tables import NOTHING, listed, more, scrolling, table, used, word
from benchgate.render.tables import course as told
from benchgate.render.tables import units

HEADS = ("session", "commit", "guest", "runs", "median", "interval", "")
OVERVIEW = ("course", "lane", "newest change", "sessions", "newest figure", "of")


def page(name: str, courses: Sequence[Course], where: str, left_out: int = 0) -> str:
    """`left_out`: how many courses the page does not show."""
    changes = sum(len(course.changes) for course in courses)
    worse = sum(change.is_worse for course in courses for change in course.changes)
    found = (
        f"{counted(changes, 'change')} of level, {worse} for the worse" if changes else "no change of level"
    )
    sections = [(f"course-{n}", _title(course), _body(course)) for n, course in enumerate(courses)]
    if len(courses) > 1:
        sections.insert(0, ("courses", "Courses", _overview(courses)))
    more_said = f"; {counted(left_out, 'course')} more not shown" if left_out else ""
    return document(f"{name}: {found}", f"history {where}{more_said}", sections)


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
    drawn = scrolling(_title(course), picture.draw(course))
    older = f"; {counted(course.left_out, 'older session')} not shown" if course.left_out else ""
    caption = f"{counted(len(course.points), 'session')}{older}; dashed: the median of a level"
    heads, rows = used(HEADS, [_row(point, of.shown_unit) for point in reversed(course.points)])
    return join(
        [
            tag("dl", pairs),
            tag("p", caption, class_="soft"),
            drawn,
            listed(told.sentences(course)),
            more(
                "every session, newest first",
                table(f"sessions of {of.cell} {of.metric}", heads, rows, texts=3),
            ),
        ]
    )


def _row(point: CoursePoint, unit: str) -> list[str | Html]:
    interval = NOTHING
    if point.low is not None and point.high is not None:
        interval = units.span(Spread(point.median, point.low, point.high, None), unit)
    commit = f"{point.commit[:10]}{'+' if point.is_dirty else ''}" or NOTHING
    mark = "" if point.verified else word("UNVERIFIED")
    median = units.shown(point.median, unit)
    return [point.session, commit, point.guest[:12] or NOTHING, str(point.runs), median, interval, mark]
