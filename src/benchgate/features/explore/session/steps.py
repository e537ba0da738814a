"""An exploration from its beginning to its report and the replay of its finds, as the commands call it.

Takes an `ExplorationRequest`, a folder and what opens a Maker; gives the state, which is also in the folder.
An interrupt passes through, after all that is known was written. A find is replayed exactly, or what is left
of it, also under a debugger. Fails with UsageError for what cannot be explored, and as the Maker, the folder
and `session/replay.py` do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchgate.base.errors import UsageError
from benchgate.base.exploration import Strategy
from benchgate.base.snapshots import StartKind
from benchgate.base.text import counted
from benchgate.build.cache_storage import Notice
from benchgate.features.explore.exploration_result import ExplorationResult, Find, RunLine
from benchgate.features.explore.page import exploration_page
from benchgate.features.explore.page import finds as exploration
from benchgate.features.explore.session import folder as folders
from benchgate.features.explore.session import rows, smaller
from benchgate.features.explore.session.folder import ExplorationFolder
from benchgate.features.explore.session.guest_maker import LIMITS
from benchgate.features.explore.session.loop import ExplorationBench, ExplorationLoop, Open, command
from benchgate.features.explore.session.request import ExplorationRequest
from benchgate.features.explore.session.rows import RowSelection
from benchgate.features.explore.session.trials import Case, Trials
from benchgate.features.explore.trouble import RunObservation, usual
from benchgate.plan.planned import PlannedCell
from benchgate.run.record import load
from benchgate.session import replay
from benchgate.session.progress import Progress, seconds
from benchgate.session.rejudging import remembered
from benchgate.session.replay import ReplayRequest

VERB = ("benchgate", "explore", "replay")


def explore(asked: ExplorationRequest, out: Path, opened: Open, progress: Progress) -> ExplorationResult:
    selected = rows.select(asked)
    for note in selected.notes:
        progress.note(note)
    with folders.locked(out) as folder, opened(selected) as on:
        folder.begin({"asked": asked.what, **on.facts})
        remembered.keep(folder.path, on.cells)
        loop = ExplorationLoop(asked, on.cells, folder, on.maker, progress)
        try:
            loop.run()
            if asked.small:
                _make_small(asked, folder, on, progress)
        finally:
            state = write(folder, loop.expected, selected.notes)
        return state


def make_small(place: Path, asked: ExplorationRequest, opened: Open, progress: Progress) -> Find:
    """Makes one find small, again if it was made small before."""
    folder, name = folders.of_find(place.absolute())
    asked = asked_of(folder, asked)
    selected = rows.select(asked)
    with folders.locked(folder.path), opened(selected) as on:
        folder.require_same(on.facts, "inputs")
        find = _small(asked, folder, on, progress, folder.find(name))
        write(folder, ExplorationLoop(asked, on.cells, folder, on.maker, progress).expected, selected.notes)
        return find


def asked_of(folder: ExplorationFolder, asked: ExplorationRequest) -> ExplorationRequest:
    """What the folder's exploration asked for, with what may be asked for anew from `asked`."""
    try:
        what = {"start": str(StartKind.COLD), **folder.facts()["asked"]}
        texts = {name: tuple(what[name]) for name in ("paths", "systems", "words", "strategies")}
        return replace(asked, **{**what, **texts})
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{folder.path / folders.PLAN}: `asked` cannot be read: {error}") from error


def write(folder: ExplorationFolder, expected: int, notes: Sequence[str]) -> ExplorationResult:
    state = folders.state_of(folder, expected, notes)
    state = replace(state, notes=(*state.notes, *exploration.unexplored(state)))
    commands = {find.name: command(folder, find.name) for find in state.finds}
    folder.write(state, exploration_page.page(state, commands))
    return state


def _make_small(
    asked: ExplorationRequest, folder: ExplorationFolder, on: ExplorationBench, progress: Progress
) -> None:
    """The first find of each group."""
    for _, finds in folders.state_of(folder, 0, ()).groups:
        if all(find.small is None for find in finds):
            _small(asked, folder, on, progress, finds[0])


def _small(
    asked: ExplorationRequest, folder: ExplorationFolder, on: ExplorationBench, progress: Progress, find: Find
) -> Find:
    planned = next((cell for cell in on.cells if cell.cell.id == find.cell), None)
    if planned is None:
        raise UsageError(f"{find.name} is of {find.cell}, which is not explored any more")
    case, made = _read(on, planned, find, folder.find_folder(find.name))
    windows = [line.work_ns for line in _good(folder.lines(), find.cell) if line.work_ns is not None]
    trials = Trials(asked, find, folder, on.maker, progress, case, made, usual(windows))
    _go_on(trials, on, folder)
    whole = replace(find, small=smaller.small(trials, made.all_stalls))
    folder.keep_find(whole)
    progress.note(smaller.told(whole))
    return whole


def _read(on: ExplorationBench, planned: PlannedCell, find: Find, place: Path) -> tuple[Case, RunObservation]:
    """A run of a find's cell that was kept."""
    raw = load(place)
    if raw.exploration is None:
        raise UsageError(f"{place}: its run.json says of no exploration")
    case = Case(planned, raw.seed, raw.exploration, find.deadline_ns or None)
    return case, on.maker.read(case.job(place, find.number))


def _go_on(trials: Trials, on: ExplorationBench, folder: ExplorationFolder) -> None:
    """Begins with the smallest run that failed before an interrupt, or before the runs were spent."""
    place, find = folder.find_folder(f"{trials.find.name}{folders.SMALL}"), trials.find
    if not place.is_dir():
        return
    planned, cell = trials.best.planned, load(place).cell
    if cell.id != planned.cell.id:  # nobody wrote down a smaller cell's deadline
        other = on.maker.at(planned, cell.cpus) if cell.cpus != planned.cell.cpus else planned
        if other is None:
            return
        planned, find = replace(other, cell=cell), replace(find, deadline_ns=0)
    case, made = _read(on, planned, find, place)
    if made.is_whole and trials.is_same(made):
        trials.best, trials.last = case, made


def _good(lines: Sequence[RunLine], cell: str) -> list[RunLine]:
    mine = [line for line in lines if line.cell == cell and not line.find]
    return sorted(mine, key=lambda run_line: run_line.number)


def command_of(out: Path, name: str) -> str:
    return command(ExplorationFolder(out), name)


# ---- the plan


def plan_text(asked: ExplorationRequest, selected: RowSelection, out: Path) -> str:
    """What would be run, and how long it may take, where runs of this folder tell."""
    folder = ExplorationFolder(out)
    lines = folder.lines() if (out / folders.RUNS).is_file() else ()
    runs = asked.runs * len(selected.cells)
    each = f"{counted(asked.runs, 'run')} each: {', '.join(asked.strategies)} in turn"
    boots = counted(runs + len(selected.cells), "boot")
    told = [
        f"explore {counted(len(selected.cells), 'cell')}, {each}; {boots}",
        *(f"  {cell.cell.id}" for cell in selected.cells),
        *(f"left out: {note}" for note in selected.notes),
        f"folder: {out}",
    ]
    if lines:
        took = sum(line.seconds for line in lines) / len(lines)
        left = max(runs + len(selected.cells) - len(lines), 0)
        made = f"{counted(len(lines), 'run')}, {counted(sum(bool(line.find) for line in lines), 'find')}"
        told.append(f"made: {made}; {took:.1f} s each: {seconds(took * left)} of one CPU left")
    return "\n".join(told)


def replay_find(order: ReplayRequest, notice: Notice) -> tuple[str, bool]:
    """`order.folder` is that of the find."""
    folder, name = folders.of_find(order.folder)
    find = folder.find(name.removesuffix(folders.SMALL))
    notice(f"{name}: {find.kind}: {find.what}")
    limit = find.deadline_ns or None
    if name != find.name and find.small is not None and find.small.cell != find.cell:
        limit = None  # another cell has another deadline
    again = replace(order, facts=folders.PLAN, deadline_ns=limit, limits=LIMITS, verb=VERB)
    text, same = replay.replay(again, notice)
    return "\n".join([text, *_left_of(find, order.folder)]), same


def _left_of(find: Find, place: Path) -> list[str]:
    raw = load(place)
    stalls = raw.exploration
    listed = stalls is not None and stalls.strategy is Strategy.POINTS
    how = [f"stalls: {len(stalls.points)}, in {place / 'exploration.txt'}"] if stalls and listed else []
    return [*how, *([smaller.told(find)] if find.small else [])]
