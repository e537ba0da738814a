"""The tables of an exploration: groups of finds, finds, and what each strategy found.

Takes the state and what makes a find's command; gives grids, whose first row is the heading, and the lines
for a terminal. Does not fail.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchgate.base.text import NAMED, counted, first_few
from benchgate.features.explore import exploration_result
from benchgate.features.explore.exploration_result import ExplorationResult, Find
from benchgate.render.tables.columns import Grid

CommandOf = Callable[[str], str]


def headline(state: ExplorationResult) -> str:
    runs = counted(len(state.lines), "run")
    if not state.finds:
        return f"{_nothing(state)}: {runs}"
    asked = "" if state.is_complete else f", of {state.expected} asked for"
    return f"{counted(len(state.groups), 'find')}, in {len(state.finds)} of {runs}{asked}"


def _nothing(state: ExplorationResult) -> str:
    if not state.is_complete:
        return "nothing found so far"
    missed = len(state.unstalled)
    if not missed:
        return "nothing found"
    cells = len({line.cell for line in state.lines})
    if missed == cells:
        return "nothing explored"
    return f"nothing found, and {missed} of {cells} cells {'was' if missed == 1 else 'were'} not explored"


def unexplored(state: ExplorationResult) -> tuple[str, ...]:
    """A sentence about the cells in which no run had a stall, if there are any."""
    cells = state.unstalled
    if not cells:
        return ()
    return (
        f"no run of {first_few(cells, NAMED)} had a stall: nothing was explored there; next: let "
        "stalls happen in more of a run, with `--with` from_ns, until_ns or one_in, or without --window",
    )


def strategies(state: ExplorationResult) -> Grid:
    """Each strategy has a row: runs, finds, and how many runs the first find took."""
    rows = []
    for name in dict.fromkeys(line.strategy for line in state.lines if line.number):
        mine = [line for line in state.lines if line.strategy == name and line.number]
        first = [runs for (_, of), runs in exploration_result.first_finds(mine).items() if of == name]
        stalls = sum(line.stalls for line in mine) / len(mine)
        each = sum(line.seconds for line in mine) / len(mine)
        found = sum(bool(line.find) for line in mine)
        figures = (len(mine), found, min(first) if first else "-", f"{stalls:.0f}", f"{each:.1f}")
        rows.append((name, *map(str, figures)))
    heads = ("strategy", "runs", "finds", "runs to the first", "stalls of a run", "s of a run")
    return Grid("strategies", (heads, *rows))


def finds(state: ExplorationResult, command_of: CommandOf) -> Grid:
    rows = [
        (of.name, str(of.kind), of.cell, f"{of.strategy} {of.seed}", command_of(of.name), of.what)
        for of in state.finds
    ]
    heads = ("find", "kind", "cell", "strategy, seed", "replay", "what")
    return Grid("finds", (heads, *rows), texts=6)


def small(find: Find) -> Sequence[str]:
    """What is left of a find, in sentences."""
    if find.small is None:
        return ()
    made = find.small
    where = f" in {made.cell}" if made.cell != find.cell else ""
    stalls = f"{len(made.points)} of {counted(made.of_points, 'stall')}"
    return (f"{stalls} left{where}, after {counted(made.runs, 'run')}", *made.said)


def text(state: ExplorationResult, command_of: CommandOf) -> list[str]:
    lines = [headline(state), *unexplored(state)]
    for name, of_group in state.groups:
        first = shown(of_group)
        lines += ["", f"{name}: in {counted(len(of_group), 'run')}", f"  {command_of(first.name)}"]
        lines += [f"  {first.name}: {first.what}", *(f"  {first.name}: {line}" for line in small(first))]
        lines += [f"  {cell}: seeds {', '.join(seeds)}" for cell, seeds in seeds_of(of_group).items()]
    return lines


def shown(of_group: Sequence[Find]) -> Find:
    """The find that stands for its group: the one that was made small."""
    return next((find for find in of_group if find.small), of_group[0])


def seeds_of(of_group: Sequence[Find]) -> dict[str, list[str]]:
    """The strategies and seeds of a group's runs, by cell, as `sync 3`."""
    result: dict[str, list[str]] = {}
    for find in of_group:
        result.setdefault(find.cell, []).append(f"{find.strategy} {find.seed}")
    return result
