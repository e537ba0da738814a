"""The page of an exploration: its runs, its finds by group, and the interleaving that is left of each.

Takes the state and the command of each find; gives HTML in one text, by the same means as a session's page.
Does not fail.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from benchgate.base.text import counted
from benchgate.explore.exploration_result import ExplorationResult, Find, RunLine, SmallFind
from benchgate.render.page.html import Child, Html, join, tag
from benchgate.render.page.look import legend
from benchgate.render.page.page import Section, document
from benchgate.render.page.pictures import exploration
from benchgate.render.page.pictures.exploration import Dot, Stretch
from benchgate.render.page.pictures.frame import short
from benchgate.render.page.tables import commands, figure, grid, listed, more, scrolling
from benchgate.render.tables import finds as tables

LONG_LIST = 12
"""A longer group of finds shows the others on request."""


def page(state: ExplorationResult, of_find: Mapping[str, str]) -> str:
    """`of_find`: the command that replays each."""
    cells = counted(len({line.cell for line in state.lines}), "cell")
    told = f"an exploration of {cells}; an explored run is never a sample of a gate"
    return document(f"{_word(state)}: {tables.headline(state)}", told, [*_sections(state, of_find)])


def _word(state: ExplorationResult) -> str:
    if state.finds:
        return "FAIL"
    if not state.is_complete:
        return "PARTIAL"
    return "UNDECIDED" if state.unstalled else "PASS"


def _sections(state: ExplorationResult, of_find: Mapping[str, str]) -> Iterator[Section]:
    if state.notes:
        yield "notes", "What was left out", listed(state.notes)
    for number, (name, finds) in enumerate(state.groups, 1):
        title = f"Group {number}: {finds[0].kind}, {counted(len(finds), 'find')}"
        yield f"group-{number}", title, _group(name, finds, of_find)
    yield "runs", "Runs", join([_panels(state), grid(tables.strategies(state))])
    if state.finds:
        yield "finds", "All finds", grid(tables.finds(state, lambda name: of_find.get(name, "")))


# ---- a group


def _group(name: str, finds: tuple[Find, ...], of_find: Mapping[str, str]) -> Html:
    first = next((find for find in finds if find.small), finds[0])
    parts: list[Child] = [
        tag("p", f"{first.name}, {first.cell}: {first.what}"),
        commands(of_find.get(first.name, "")),
    ]
    if first.small is not None:
        parts += [listed(tables.small(first)), _lanes(first.small)]
    parts.append(tag("p", f"What they have in common: {name}.", class_="soft"))
    if first.places:
        places = ", ".join(f"CPU {n} at {where}" for n, where in enumerate(first.places))
        parts.append(tag("p", f"At the end: {places}."))
    if first.last_lines:
        lines = "\n".join(first.last_lines)
        parts.append(more("the last lines of its console", tag("pre", *_lines(lines))))
    others = [f"{find.name}: {find.cell}, {find.strategy} {find.seed}" for find in finds if find is not first]
    if others:
        parts.append(more(f"{counted(len(others), 'other find')}", listed(others[: LONG_LIST * 10])))
    return join(parts)


def _lines(text: str) -> Iterator[Html]:
    for n, line in enumerate(text.split("\n")):
        if n:
            yield Html("\n")
        yield tag("span", line)


def _lanes(small: SmallFind) -> Html | None:
    if not small.segments:
        return None
    stretches = [
        Stretch(
            segment.vcpu,
            segment.begin,
            segment.end,
            segment.symbol,
            f"CPU {segment.vcpu}, {segment.symbol or 'stopped'}: {segment.begin} to {segment.end} ns",
        )
        for segment in small.segments
    ]
    title = "the interleaving that is left: what each CPU executed around the stall"
    drawn = exploration.draw_lanes(title, stretches, short)
    return tag("figure", tag("figcaption", title), scrolling(title, drawn), class_="whole")


# ---- the runs


def _panels(state: ExplorationResult) -> Html:
    """A panel for each cell."""
    names = [*dict.fromkeys(line.strategy for line in state.lines)]
    panels = []
    for cell in dict.fromkeys(line.cell for line in state.lines):
        mine = [line for line in state.lines if line.cell == cell]
        has_window = any(one.work_ns for one in mine)
        what = "timed window" if has_window else "guest time to the end"
        dots = [_dot(one, names.index(one.strategy), has_window=has_window) for one in mine]
        title = f"{cell}: {what} of each run; a cross is a find"
        drawn = exploration.draw_runs(title, dots, short, "run")
        panels.append(figure(drawn, title, legend([(n, name) for n, name in enumerate(names)])))
    return tag("div", *panels, class_="panels")


def _dot(line: RunLine, look: int, *, has_window: bool) -> Dot:
    value = line.work_ns if has_window else line.end_ns
    said = f"run {line.number}, {line.strategy} {line.seed}: {line.find or f'{value} ns'}"
    return Dot(line.number, look, None if line.find else value, said)
