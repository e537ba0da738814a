"""Checks that a system's smokes passed at a CPU count; otherwise no run at that count is a result.

Takes the session's folder, the system and a run; reads the record and the console of the smoke boot; gives
nothing. Fails with VerifyError that says which smokes did not pass, and why.
"""

from __future__ import annotations

import re
from pathlib import Path

from benchgate.base.console_text import plain
from benchgate.base.errors import EvidenceError, VerifyError
from benchgate.base.runs import Ending, RawRun
from benchgate.base.system.boots import EndBy, Smoke
from benchgate.base.system.systems import System
from benchgate.base.text import one_line
from benchgate.judge import wire
from benchgate.judge.run_files import read_console
from benchgate.run.record import load, smoke_folder


def require_smokes(session: Path, system: System, raw: RawRun) -> None:
    """Requires that the smokes of this run's system passed at its CPU count, on its lane."""
    if system.smoke is None:
        return
    folder = smoke_folder(session, system.name, raw.cell.cpus, raw.cell.clock)
    what = f"the smokes of {system.name} at smp{raw.cell.cpus}"
    try:
        boot = load(folder)
    except EvidenceError as error:
        raise VerifyError(f"{what} were not run: {error}") from error
    if (boot.cell.system, boot.cell.cpus, boot.lane) != (system.name, raw.cell.cpus, raw.lane):
        raise VerifyError(f"{what} in {folder} are of another system, CPU count or lane")
    why = problem(boot, system, system.smoke)
    if why:
        raise VerifyError(f"{what} did not pass: {why} ({folder.parent.name}/{folder.name}/serial.log)")


def problem(boot: RawRun, system: System, smoke: Smoke) -> str:
    """Why this boot did not pass; empty if it did."""
    console = read_console(boot)
    if boot.ending is not Ending.DONE:
        line = wire.failure_line(console) or _failed_check(console)
        printed = f"; it printed `{line}`" if line not in boot.detail else ""
        return f"ended with {boot.ending}: {boot.detail}{printed}"
    if system.end.by is EndBy.EXIT and boot.exit_status not in system.end.exit_codes:
        return f"exit status {boot.exit_status} does not mean success"
    text = plain(console).decode("ascii", "replace")
    return "" if re.search(smoke.passes, text, re.MULTILINE) else f"nothing matched `{smoke.passes}`"


def _failed_check(console: bytes) -> str:
    """The first line about a failed check, safe to display; empty if there is none."""
    match = re.search(rb"^[^\r\n]*\bFAILED\b[^\r\n]*", console, re.MULTILINE)
    return one_line(match[0]) if match else ""
