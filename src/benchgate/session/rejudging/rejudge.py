"""Judges a session again from its files: verifies the runs, decides, renders. Boots nothing.

Takes a session folder; gives its verdicts, by the same functions as the session, or its page in a file
outside of it. For a results.csv without its session it gives a summary that is marked UNVERIFIED and has no
verdicts. Fails with EvidenceError that names what cannot be read, with NeedsFilesError that has the command
if programs of the user are needed, and with HostError if an oracle fails on this machine that answered when
the session was made; a page with UsageError if its file cannot be written or would be inside the session.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchgate.base.cells import Lane, Placement
from benchgate.base.clocks import clock_of
from benchgate.base.errors import CatalogError, EvidenceError, HostError, NeedsFilesError, UsageError
from benchgate.base.runs import Outcome, RawRun, VerifiedRun
from benchgate.base.system.systems import System
from benchgate.base.void_rule import VoidRule
from benchgate.base.workload.workloads import Workload
from benchgate.evidence import check, kept_files, metrics_csv, results_csv, session_folder
from benchgate.evidence.chain import parse_chain
from benchgate.evidence.facts import read_machine, read_plan, read_policy
from benchgate.evidence.files import ATTEMPTS, MANIFEST, SESSION, files_below, read_object, read_text
from benchgate.evidence.session_folder import METRICS, RESULTS
from benchgate.judge import verify
from benchgate.judge.checks import smoke_check
from benchgate.judge.checks.binding import check_binding
from benchgate.judge.judged_run import JudgedRun, judge_run
from benchgate.judge.oracles.oracle import ORACLES
from benchgate.plan import catalog, systemfile
from benchgate.render import reports
from benchgate.render.files import report_html
from benchgate.render.tables import terminal
from benchgate.render.view import SessionView
from benchgate.run.record import load, unanswered
from benchgate.session.conclusion import view_of
from benchgate.session.exit_codes import exit_code
from benchgate.session.rejudging.trust import TrustedPrograms, require_programs

NOTHING = TrustedPrograms()
_STRANGE = re.compile(r"[^A-Za-z0-9._-]")


@dataclass(frozen=True, slots=True)
class JudgedSession:
    """A session that was judged again."""

    facts: Mapping[str, Any]
    runs: tuple[JudgedRun, ...]
    view: SessionView


def judge_session(folder: Path, trusted: TrustedPrograms = NOTHING, verb: str = "rejudge") -> SessionView:
    """The session's view, from its runs. `verb`: the command to name if the caller did not name a program."""
    return judged(folder, trusted, verb).view


def judged(folder: Path, trusted: TrustedPrograms, verb: str) -> JudgedSession:
    facts = read_object(folder, SESSION)
    where = str(folder / SESSION)
    _require_plain_files(folder)
    require_programs(facts, where, trusted, ["benchgate", *shlex.split(verb), str(folder)])
    plan, policy = read_plan(facts, where), read_policy(facts, where)
    known = {cell for sweep in plan for cell, _ in sweep.cells}
    try:
        runs = tuple(_judge(path, facts, where, trusted, policy.void) for path in _run_folders(folder, facts))
    finally:
        ORACLES.close()
    strangers = [judged.run.folder.name for judged in runs if judged.run.cell not in known]
    if strangers:
        raise EvidenceError(f"{folder / 'runs' / strangers[0]}: its cell is not in the session's plan")
    sweeps = [frozenset(cell.id for cell, skip in sweep.cells if not skip) for sweep in plan]
    systems = {judged.run.cell.system for judged in runs}
    per_count = {system for system in systems if system_of(facts, system, where).has_guest_per_count}
    check_binding(facts, runs, sweeps, policy, where, per_count=per_count)
    against = kept_files.read_back(folder, facts, where)
    view = view_of(facts, runs, where, trusted, against)
    for gate in (one for sweep in plan for one in sweep.gates):
        if other := {gate.base or gate.cell, gate.cell} - known:
            what = f"{other.pop().id}, which is not a cell of the session's plan as it is described there"
            raise EvidenceError(f"{where}: the gate {gate.id} compares {what}")
    return JudgedSession(facts, runs, view)


def _require_plain_files(folder: Path) -> None:
    """Refuses links, pipes and strange names by the same function as `verify`."""
    try:
        files_below(folder)
    except OSError as error:  # a session that still runs removes files, too
        raise EvidenceError(f"{error.filename or folder} cannot be read: {error.strerror}") from error


def _run_folders(folder: Path, facts: Mapping[str, Any]) -> list[Path]:
    """The attempts to judge: in a partial session only the recorded ones, without the interrupted one."""
    try:
        paths = sorted(path for path in (folder / "runs").iterdir() if path.is_dir())
    except OSError as error:
        raise EvidenceError(f"{folder / 'runs'} cannot be read: {error.strerror}") from error
    if facts.get("state") == session_folder.COMPLETE:
        return paths
    recorded = {link.folder for link in parse_chain(read_text(folder, ATTEMPTS), ATTEMPTS)}
    return [path for path in paths if f"runs/{path.name}" in recorded]


def find_workload(facts: Mapping[str, Any], name: str, trusted: TrustedPrograms) -> Workload:
    """A built-in workload, or one that the caller trusts; never one by a path in the session folder."""
    if name in trusted.workloads:
        return trusted.workloads[name]
    word = str(facts["workloads"][name])
    if word != name or not catalog.is_built_in_workload(name):  # `x.yaml` is a path, too
        advice = f"if you trust it, name its YAML file with --workload (it was {word!r:.200})"
        raise NeedsFilesError(f"workload {name} is not built in, and its oracle is a program: {advice}")
    return catalog.load_workload(name)


def _judge(
    folder: Path, facts: Mapping[str, Any], where: str, trusted: TrustedPrograms, rule: VoidRule
) -> JudgedRun:
    raw = load(folder)
    if folder.name != f"{raw.attempt:04d}-{raw.cell.id}":
        who = f"of attempt {raw.attempt}, {raw.cell.id}: a run was moved"
        raise EvidenceError(f"{folder / 'run.json'} is {who}")
    _require_placement(raw, facts, where)
    if raw.cell.clock and clock_of(raw.lane) != raw.cell.clock:
        raise EvidenceError(f"{folder / 'run.json'}: its lane {raw.lane} is not one of its clock")

    def check(run: RawRun) -> VerifiedRun:
        try:
            workload = find_workload(facts, run.cell.workload, trusted)
            system = system_of(facts, run.cell.system, where)
            if run.cell.machine:
                system = system.on(read_machine(facts, run.cell.machine, where))
        except NeedsFilesError as error:
            raise NeedsFilesError(f"{where}: {error}") from error
        except (KeyError, TypeError, ValueError) as error:
            raise EvidenceError(f"{where} does not describe {run.cell.id}: {error}") from error
        except (CatalogError, EvidenceError) as error:
            raise EvidenceError(f"{where}: {run.cell.id} cannot be judged here: {error}") from error
        smoke_check.require_smokes(folder.parent.parent, system, run)
        return verify.verify_on(run, workload, system, rule)

    failed = unanswered(folder)
    judged = JudgedRun(raw, None, failed, unanswered=True) if failed else judge_run(raw, check)
    if judged.unanswered and not failed and not _was_refused(folder.parent.parent, raw):
        why = f"runs/{folder.name} cannot be judged on this machine: {judged.reason}"
        advice = "next: the same command again, or on a machine with more memory"
        raise HostError(f"{why}. This says nothing about the session; {advice}")
    return judged


def _was_refused(session: Path, raw: RawRun) -> bool:
    """Reads results.csv. Sessions of earlier versions do not say if that was the oracle's fault."""
    rows = results_csv.parse(read_text(session, RESULTS), RESULTS)
    return any(row.run == raw.attempt and row.outcome is Outcome.INVALID for row in rows)


def system_of(facts: Mapping[str, Any], name: str, where: str) -> System:
    """The system that the session recorded, on the ideal machine."""
    return systemfile.parse(str(facts["systems"][name]), Path(where), dict(facts["settings"][name]))


def _require_placement(raw: RawRun, facts: Mapping[str, Any], where: str) -> None:
    """The host hides its topology or shows it: the envelope and the placement must say the same."""
    envelope = facts.get("envelope")
    hidden = envelope.get("topology_hidden") if isinstance(envelope, Mapping) else None
    denied = {"True": Placement.PHYSICAL, "False": Placement.VIRTUAL}.get(str(hidden))
    if raw.lane is not Lane.INSN and raw.placement is denied:
        raise EvidenceError(
            f"{raw.folder / 'run.json'} says placement {raw.placement}, but by the envelope in {where} the "
            f"host's topology is {'hidden' if hidden else 'known'}"
        )


def verified(folder: Path, trusted: TrustedPrograms, verb: str) -> tuple[check.Check, JudgedSession | None]:
    """What `verify` says of the session, and the session as it was judged for that, if it came so far."""
    sessions: list[JudgedSession] = []

    def again(of: Path) -> Mapping[str, str]:
        sessions.append(judged(of, trusted, verb))
        return texts(sessions[-1], trusted)

    return check.verify_session(folder, again), sessions[-1] if sessions else None


def recompute(folder: Path, trusted: TrustedPrograms = NOTHING) -> dict[str, str]:
    """The text that results.csv, metrics.csv and every report should have, for `benchgate verify`."""
    return texts(judged(folder, trusted, "verify"), trusted)


def texts(session: JudgedSession, trusted: TrustedPrograms = NOTHING) -> dict[str, str]:
    """The files that show this session."""
    view = session.view
    made = reports.rendered(view, trusted.for_files(session.facts).reports)
    if made.errors:
        raise reports.all_of(made.errors)
    return {RESULTS: results_csv.render(view.rows), METRICS: metrics_csv.render(view.rows), **made.texts}


def show(path: Path, trusted: TrustedPrograms = NOTHING, width: int = 100) -> tuple[str, int]:
    """The terminal's summary of a session or of a results.csv, and the exit code."""
    view = view_of_path(path, trusted)
    return terminal.render(view, width, path), exit_code(view)


def view_of_path(path: Path, trusted: TrustedPrograms = NOTHING, verb: str = "rejudge") -> SessionView:
    """Takes a session's folder, or a results.csv without its session, which decides nothing."""
    return _view_of_csv(path) if path.is_file() else judge_session(path, trusted, verb)


def _view_of_csv(path: Path) -> SessionView:
    rows = results_csv.parse(read_text(path.parent, path.name), str(path))
    policy = catalog.load_policy("default")
    return SessionView(
        id=path.name,
        state="complete",
        rows=rows,
        verdicts=(),
        alpha=policy.alpha,
        overall_error=policy.overall_error,
        superlinear=policy.superlinear,
        is_verified=False,
    )


def write_page(session: Path, out: Path | None, trusted: TrustedPrograms) -> Path:
    """`out`: None for `report-SESSION.html` in the current folder."""
    if out is not None:
        require_outside(out)
    view = view_of_path(session, trusted, "report")
    place = out or Path(file_name(f"report-{view.id}"))
    require_outside(place)
    try:
        place.write_text(report_html.render(view), encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        advice = "name another file with --out"
        raise UsageError(f"{place} cannot be written ({error.strerror}); {advice}") from None
    return place


def file_name(title: str) -> str:
    return f"{_STRANGE.sub('_', title)}.html"


def require_outside(place: Path) -> None:
    """A new file in a sealed session would look like tampering, so no parent folder may be one."""
    for folder in place.absolute().parents:
        if (folder / MANIFEST).is_file():
            advice = "name a file outside with --out (the session has a report.html of its own)"
            inside = f"{place} is inside the sealed session {folder}"
            raise UsageError(f"{inside}: a new file there would break its seal; {advice}")
