"""`benchgate baseline accept`: makes a baseline of a session that was checked by the same code as `verify`.

Takes a session's folder, the programs that the caller trusts and an older baseline; gives a Baseline, and
sentences for the person who reviews it. Fails with EvidenceError for a session that is not intact, is partial
or is INVALID, and with UsageError for one whose figures no gate may use, that has no cell with enough runs,
or whose FAIL or INVALID nobody has named.
"""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from benchgate.base.cells import Cell, Lane
from benchgate.base.errors import EvidenceError, NeedsFilesError, UsageError
from benchgate.base.gates import SMALLEST_LOOK, Arm, Verdict, Word
from benchgate.base.system.systems import plain_name
from benchgate.base.text import counted, located, without_advice
from benchgate.build.cache_storage import Notice
from benchgate.evidence import check, kept_files
from benchgate.evidence.facts import read_plan, read_policy
from benchgate.evidence.files import MANIFEST, SESSION, digest_of
from benchgate.features.baseline import baseline_file, checks, regression
from benchgate.features.baseline.baselines import AddedCells, Baseline, BaselineArm, SymbolCounts
from benchgate.features.baseline.origin import origin_of
from benchgate.judge.arms import arms
from benchgate.plan import catalog
from benchgate.run.record import load
from benchgate.session import replay
from benchgate.session.rejudging import rejudge
from benchgate.session.rejudging.rejudge import JudgedSession
from benchgate.session.rejudging.trust import TrustedPrograms


@dataclass(frozen=True, slots=True)
class AcceptanceRequest:
    folder: Path
    trusted: TrustedPrograms
    profile: bool = False
    """Replay one run of each cell on the instruction clock, and keep where its instructions went."""
    systems: tuple[str, ...] = ()
    """The YAML files of the user's own systems, for the replays."""
    despite: tuple[str, ...] = ()
    """The ids of verdicts that are FAIL or INVALID, and of which somebody said that they may be."""
    verb: str = "baseline accept"
    """The command, without its folder, for advice."""
    again: str = ""
    """The whole command, as it was given."""


@dataclass(frozen=True, slots=True)
class AcceptanceResult:
    baseline: Baseline
    notes: tuple[str, ...]
    session: str
    """The id of the session whose cells are new."""
    new: tuple[BaselineArm, ...]


def accept(asked: AcceptanceRequest, notice: Notice, before: Baseline | None = None) -> AcceptanceResult:
    """The baseline of a session. With `before`, that one with the cells that it lacks."""
    return _accepted(asked, notice, before, is_checked=True)


def _accepted(
    asked: AcceptanceRequest, notice: Notice, before: Baseline | None, *, is_checked: bool = False
) -> AcceptanceResult:
    session = checked(asked.folder, asked)
    facts, where = session.facts, str(asked.folder / SESSION)
    _require_decisive(session, where)
    of = measured_arms(session, where)
    new = [arm for arm in of.values() if before is None or not _known(before, arm)]
    usable = [arm for arm in new if _lack(arm) == ""]
    if not usable:
        lacks = map(_lack, new) if new else ["the file has all of its cells; without --add it is replaced"]
        raise UsageError(f"{asked.folder} has no cell to accept: {'; '.join(lacks)}")
    doubts = _doubts(session, where, of, asked.folder, new)
    if is_checked:
        _require_named(asked, session, doubts)
    kept = [_baseline_arm(arm) for arm in usable]
    if asked.profile:
        pairs = zip(kept, usable, strict=True)
        kept = [_with_symbols(asked, baseline_arm, arm, notice) for baseline_arm, arm in pairs]
    baseline = Baseline(
        session=str(facts["id"]),
        finished=str(facts["finished"]),
        accepted=f"{datetime.now(UTC):%Y-%m-%d}",
        manifest=digest_of(asked.folder, MANIFEST),
        commit=str(facts["commit"]),
        origin=origin_of(facts, where),
        arms=tuple(kept),
    )
    result = baseline if before is None else together(before, baseline)
    return AcceptanceResult(result, tuple(_notes(of, doubts)), baseline.session, baseline.arms)


def _known(before: Baseline, arm: Arm) -> bool:
    return any(kept.lane is arm.lane for kept in before.arms_of(arm.cell))


def together(before: Baseline, new: Baseline) -> Baseline:
    """The older baseline, untouched, and the new cells. A file has one origin of each system."""
    origin, other = before.origin, new.origin
    differing = [name for name, of in other.systems.items() if origin.systems.get(name, of) != of]
    is_of_wall = any(arm.lane is not Lane.INSN for arm in (*before.arms, *new.arms))
    differing += ["the machine"] if is_of_wall and origin.machine != other.machine else []
    if differing:
        raise UsageError(
            f"another {', another '.join(differing)} than in the older cells of the file, so these cells "
            "have no place in it; next: give a file of their own with --out"
        )
    ids = tuple(arm.cell.id for arm in new.arms)
    added = AddedCells(new.session, new.finished, new.manifest, new.commit, ids)
    systems = {**other.systems, **origin.systems}
    arms = (*before.arms, *new.arms)
    return replace(before, origin=replace(origin, systems=systems), arms=arms, added=(*before.added, added))


def _doubts(
    session: JudgedSession, where: str, of: Mapping[str, Arm], folder: Path, new: Iterable[Arm]
) -> dict[str, Verdict]:
    """By id, the verdicts that are neither PASS nor SKIP and about the rows of the accepted cells: what is
    slower in one cell of a row is measured in all of them. That the baseline has nothing to compare a cell
    with is no doubt: this is what is accepted for."""
    kept, here = kept_files.read_back(folder, session.facts, where), origin_of(session.facts, where)
    against = regression.baselines_in(kept)
    gates = [gate for sweep in read_plan(session.facts, where) for gate in sweep.gates]
    rows = {gate.id: {cell.row for cell in gate.cells} for gate in gates}
    accepted = {arm.cell.row for arm in new}
    lacking = {
        gate.id
        for gate in gates
        if gate.against
        and not checks.can_compare(against.baselines.get(gate.against), gate, of.get(gate.cell.id), here)
    }
    return {
        verdict.id: verdict
        for verdict in session.view.shown_verdicts
        if verdict.outcome not in (Word.PASS, Word.SKIP)
        and not (verdict.gate == regression.KIND and verdict.id in lacking)
        and accepted.intersection(rows.get(verdict.id, accepted))
    }


def _require_named(asked: AcceptanceRequest, session: JudgedSession, doubts: Mapping[str, Verdict]) -> None:
    """Whoever accepts figures that a gate refused must name each of these verdicts, and may name others that
    refuse."""
    bad, every = (Word.FAIL, Word.INVALID), session.view.verdicts
    refused = {name: of for name, of in doubts.items() if of.outcome in bad}
    others = {of.id for of in every if of.outcome in bad}
    if unknown := [name for name in asked.despite if name not in others]:
        known = f"those that are: {', '.join(map(shlex.quote, refused))}" if refused else "none is"
        raise UsageError(f"--despite {unknown[0]}: no verdict with this id is FAIL or INVALID; {known}")
    unnamed = {name: verdict for name, verdict in refused.items() if name not in asked.despite}
    if unnamed:
        first = next(iter(unnamed.values()))
        flags = " ".join(f"--despite {shlex.quote(name)}" for name in unnamed)
        raise UsageError(
            f"{asked.folder}: a gate refused figures of these rows ({counted(len(unnamed), 'verdict')}): "
            f"{without_advice(first.reason)}. They become the measure of all later ones only if you name "
            f"each such verdict; next: {asked.again} {flags}"
        )


def session_of(folder: Path) -> tuple[Path, Path | None]:
    """The session's folder, and the run's if it is one of a run."""
    path = folder.absolute()
    return (path.parent.parent, path) if (path / "run.json").exists() else (folder, None)


def checked(folder: Path, asked: AcceptanceRequest) -> JudgedSession:
    """The session, judged again after `verify`'s checks of its hashes, chain and reports. Its figures are its
    runs', so reports that another version of benchgate worded are no obstacle."""
    report, session = rejudge.verified(folder, asked.trusted, asked.verb)
    if report.exit_code == check.NEEDS_FILES:
        raise NeedsFilesError(report.text)
    if session is None or report.exit_code not in (check.INTACT, check.UNKNOWN_VERSION):
        advice = f"\nnext: benchgate verify {folder}" if folder.is_dir() else ""
        raise EvidenceError(report.text + advice)
    return session


def measured_arms(session: JudgedSession, where: str) -> dict[str, Arm]:
    """The arms of all cells that were measured, by id."""
    result: dict[str, Arm] = {}
    for sweep in read_plan(session.facts, where):
        for cell_id, arm in arms(sweep.cells, session.runs, sweep.declared).items():
            if not arm.skipped:
                result[cell_id] = arm
    return result


def _require_decisive(session: JudgedSession, where: str) -> None:
    """A verdict about an older baseline says nothing against this session's figures."""
    if informs := read_policy(session.facts, where).informs:
        raise UsageError(f"{where}: a session that decides nothing is no baseline: {informs}")
    invalid = (verdict for verdict in session.view.verdicts if verdict.outcome is Word.INVALID)
    if wrong := [verdict for verdict in invalid if verdict.gate != regression.KIND]:
        why = located(wrong[0].reason, Path(where).parent)
        raise EvidenceError(f"{where}: a session with an INVALID verdict is no baseline: {why}")


def _lack(arm: Arm) -> str:
    """Why a cell cannot be accepted; empty if it can."""
    if arm.informs:
        return f"{arm.cell.id}: its program does not verify its own work"
    if arm.runs < SMALLEST_LOOK:
        return f"{arm.cell.id} has {counted(arm.runs, 'run')}, and a baseline needs {SMALLEST_LOOK}"
    return ""


def _baseline_arm(arm: Arm) -> BaselineArm:
    work = arm.work
    assert work is not None  # it has runs
    return BaselineArm(arm.cell, work.lane, work.placement, work.guest, work.seeds, arm.measurements)


def _with_symbols(asked: AcceptanceRequest, kept: BaselineArm, arm: Arm, notice: Notice) -> BaselineArm:
    if arm.lane is not Lane.INSN:
        return kept
    return replace(kept, symbols=symbols_of(asked, asked.folder / arm.sample, kept.seeds[0], notice))


def symbols_of(asked: AcceptanceRequest, run: Path, seed: int, notice: Notice) -> SymbolCounts:
    """Replays a run to count where the instructions of its window went."""
    notice(f"replaying {run}")
    with tempfile.TemporaryDirectory(prefix="benchgate-") as name:
        order = replay.ReplayRequest(
            folder=run.absolute(),
            out=Path(name) / "replay",
            system=_own_system(asked.systems, load(run).cell),
            trusted=asked.trusted,
            profile=True,
            gdb=False,
        )
        seen = replay.profiled(order, notice)
    return SymbolCounts(seed, seen.window, dict(seen.by_symbol()))


def _own_system(files: tuple[str, ...], cell: Cell) -> str | None:
    """Which of the user's YAML files is the cell's system; None: it is built in."""
    name = plain_name(cell.system)
    return next((file for file in files if plain_name(catalog.load_system(file).name) == name), None)


def _notes(of: Mapping[str, Arm], doubts: Mapping[str, Verdict]) -> Iterator[str]:
    yield from (f"not accepted: {lack}" for arm in of.values() if (lack := _lack(arm)))
    yield from (f"accepted, although: {without_advice(verdict.reason)}" for verdict in doubts.values())


def differs(baseline: Baseline, asked: AcceptanceRequest, notice: Notice) -> str:
    """What in the baseline does not follow from the session; empty if all of it does. Its day is not asked,
    and its symbols only with `profile`, because they need replays."""
    made = _accepted(asked, notice, None).baseline
    added = next((of for of in baseline.added if of.session == made.session), None)
    for name in ("session", "finished", "manifest", "commit"):
        if getattr(made, name) != getattr(added or baseline, name):
            return f"its {name} is not that of {asked.folder}"
    if made.origin != baseline.origin and not baseline.added:
        return f"its origin is not that of {asked.folder}"
    later = {cell_id for of in baseline.added for cell_id in of.cells}
    mine = {arm.cell.id: arm for arm in made.arms if added is None or arm.cell.id in added.cells}
    ids = mine if added else {arm.cell.id for arm in baseline.arms} - later
    other = {arm.cell.id: arm for arm in baseline.arms if arm.cell.id in ids}
    if mine.keys() != other.keys():
        differing = ", ".join(sorted(mine.keys() ^ other.keys()))
        return f"it does not have the cells of {asked.folder}: {differing}"
    for cell_id, baseline_arm in mine.items():
        symbols = baseline_arm.symbols if asked.profile else other[cell_id].symbols
        written = baseline_file.as_written(replace(baseline_arm, symbols=symbols))
        if written != baseline_file.as_written(other[cell_id]):
            return f"its figures of {cell_id} are not those of {asked.folder}"
    return ""
