"""Smokes: a system's own short checks, which pass at a CPU count before a figure of that count is accepted.

Takes a planned cell whose system has a `smoke`, boots it once without a workload, and keeps that boot in the
session's folder. `require` reads it back, now and whenever the session is judged again: a run whose smokes
did not pass, or were never run, is no result (VerifyError says which and why).
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from benchgate import boot, run, verify, wire
from benchgate.errors import EvidenceError, UsageError, VerifyError
from benchgate.machine.watch import GUEST_WATCH, Watch
from benchgate.model import BootSpec, Cell, Deadlines, Ending, Lane, RawRun
from benchgate.plaintext import by_lines, plain
from benchgate.plan import PlannedCell
from benchgate.run import RunRequest
from benchgate.systems import EndBy, Smoke, System

FOLDER = "smokes"
WORKLOAD = "smoke"


def place(session: Path, system: str, cpus: int) -> Path:
    """Where the smokes of a system at a CPU count stand in a session's folder."""
    return session / FOLDER / f"{system}-smp{cpus}"


def watch(system: System, smoke: Smoke) -> Watch:
    """A `killed` or the like is a failure of a workload; in a smoke it may be what is tried."""
    is_killed = system.end_by is EndBy.KILL
    return replace(
        GUEST_WATCH,
        ready=by_lines(system.ready) if system.ready else None,
        result=None,
        ends=(boot.whole_line(smoke.passes),) if is_killed else (),
        success=frozenset(system.exit_codes),
        kill_after_end=is_killed,
    )


def deadlines(stated: Deadlines) -> Deadlines:
    """Of a lane, for its smokes: they are short, so once the guest is up they get no more than it had for
    coming up. A hang is then seen in seconds, not after the minutes that a workload may take."""
    return replace(stated, run_s=min(stated.run_s, stated.boot_s))


def execute(planned: PlannedCell, spec: BootSpec, folder: Path, *, guest_digest: str, nonce: str) -> None:
    """One boot, kept as every run is. Whether it passed is for `require` to say."""
    system, cell = planned.system, planned.cell
    if system.smoke is None:
        raise UsageError(f"{system.file}: `smoke` is missing, so there is nothing to boot")
    folder.mkdir(parents=True)
    run.execute(
        RunRequest(
            cell=Cell(cell.system, WORKLOAD, cell.mode, (), cell.cpus),
            spec=replace(spec, deadlines=deadlines(spec.deadlines)),
            folder=folder,
            nonce=nonce,
            attempt=1,
            order=0,
            seed=0,
            placement=planned.seats.placement,
            warmup=True,
            guest_digest=guest_digest,
            watch=watch(system, system.smoke),
            clock_log=boot.clock_log(folder) if spec.lane is Lane.INSN else None,
        )
    )


def require(session: Path, system: System, raw: RawRun) -> None:
    """VerifyError unless the smokes of this run's system passed at its CPU count, on its lane."""
    if system.smoke is None:
        return
    folder = place(session, system.name, raw.cell.cpus)
    what = f"the smokes of {system.name} at smp{raw.cell.cpus}"
    try:
        kept = run.load(folder)
    except EvidenceError as error:
        raise VerifyError(f"{what} were not run: {error}") from error
    if (kept.cell.system, kept.cell.cpus, kept.lane) != (system.name, raw.cell.cpus, raw.lane):
        raise VerifyError(f"{what} in {folder} are of another system, CPU count or lane")
    why = _trouble(kept, system, system.smoke)
    if why:
        raise VerifyError(f"{what} did not pass: {why}")


def _trouble(kept: RawRun, system: System, smoke: Smoke) -> str:
    console = verify.read_console(kept)
    if kept.ending is not Ending.DONE:
        said = wire.trouble(console) or failed_check(console)
        return f"ended with {kept.ending}: {kept.detail}" + (f"; it said `{said}`" if said else "")
    if system.end_by is EndBy.EXIT and kept.exit_status not in system.exit_codes:
        return f"exit status {kept.exit_status} does not mean success"
    text = plain(console).decode("ascii", "replace")
    return "" if re.search(smoke.passes, text, re.MULTILINE) else f"nothing matched `{smoke.passes}`"


def failed_check(console: bytes) -> str:
    """The first line that tells of a failed check, made safe to show; empty where none does."""
    found = re.search(rb"^[^\r\n]*\bFAILED\b[^\r\n]*", console, re.MULTILINE)
    text = found[0][:160] if found else b""
    return "".join(chr(byte) if 32 <= byte < 127 else "?" for byte in text)
