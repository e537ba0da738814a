"""Runs one attempt at a cell and writes everything that later stages read to its folder.

Takes a RunRequest; gives a RawRun and, in its folder, argv.json, environment.json, serial.log, stderr.log,
affinity.json, threads.json, host.json (wall-time lanes), qmp.log (guests only) and run.json. If the guest
fails, the RawRun's `Ending` says how. Raises BootError if the program cannot be executed at all,
EvidenceError if the folder cannot be written, and HostError if the host refuses a resource; an interrupt
passes through. In each case the attempt is on disk: run.json says `interrupted` until the attempt ends, so
that even a killed session leaves a record of it.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from benchgate.base.cells import Cell, Lane, Placement
from benchgate.base.errors import BootError, EvidenceError, HostError
from benchgate.base.files import write_json
from benchgate.base.process import MORE_FILES, TOO_MANY_FILES, base_environment
from benchgate.base.runs import BootSpec, Ending, RawRun
from benchgate.base.system.script import Script
from benchgate.run.console import ConsoleLimits
from benchgate.run.forked import Fork
from benchgate.run.guest import OnPhase, run_guest
from benchgate.run.native import run_native
from benchgate.run.record import clock_log, save
from benchgate.run.thread_use import host_span_ns
from benchgate.run.watch import GUEST_WATCH, NATIVE_WATCH, Watch

ARGV, ENVIRONMENT = "argv.json", "environment.json"
_FOLDER = "{run}/"


@dataclass(frozen=True, slots=True)
class RunRequest:
    """One attempt at a cell. The folder exists, and no other attempt uses it."""

    cell: Cell
    spec: BootSpec
    folder: Path
    nonce: str
    attempt: int
    order: int
    seed: int
    placement: Placement
    warmup: bool
    guest_digest: str
    script: Script | None = None
    """The script to type at its prompt; None if nothing is typed."""
    watch: Watch | None = None
    """The patterns to watch for; None for those of the wire format."""
    limits: ConsoleLimits = field(default_factory=ConsoleLimits)

    @property
    def clock_log(self) -> Path | None:
        return clock_log(self.folder) if self.spec.lane is Lane.INSN else None


def execute(request: RunRequest, on_phase: OnPhase = lambda _: None, fork: Fork | None = None) -> RawRun:
    """Runs it once. `on_phase` is called with PHASES and with what is odd about a guest; for a guest at least
    once a second. An exception from `on_phase` ends the run like an interrupt. `fork`: see run/guest.py."""
    raw = unfinished(request)
    try:
        write_command(request)
        save(raw)
        try:
            raw = _run(request, raw, on_phase, fork)
        except BootError as error:
            raw = replace(raw, ending=Ending.NO_START, detail=str(error))
            raise
        finally:
            save(raw)
    except OSError as error:
        raise explained(error, request.folder) from error
    return raw


def write_command(request: RunRequest) -> None:
    """Writes argv.json and environment.json: what this machine executes, or would execute."""
    write_json(request.folder / ARGV, list(request.spec.argv))
    write_json(request.folder / ENVIRONMENT, base_environment(request.spec.environment))


def words_of_run(argv: Iterable[str], folder: Path) -> str:
    """A command line as one text, without the run's own folder, so that it is the same in each session."""
    return "\0".join(argv).replace(f"{folder}/", _FOLDER)


def unfinished(request: RunRequest) -> RawRun:
    """The record of the attempt until it ends."""
    return RawRun(
        cell=request.cell,
        folder=request.folder,
        attempt=request.attempt,
        order=request.order,
        nonce=request.nonce,
        seed=request.seed,
        lane=request.spec.lane,
        placement=request.placement,
        pins=request.spec.pins,
        warmup=request.warmup,
        ending=Ending.INTERRUPTED,
        exit_status=None,
        guest_digest=request.guest_digest,
        clock_log=request.clock_log,
        detail="the session ended during this run",
        exploration=request.spec.exploration,
    )


def _run(request: RunRequest, raw: RawRun, on_phase: OnPhase, fork: Fork | None) -> RawRun:
    native = request.spec.lane is Lane.NATIVE
    run = run_native if native else partial(run_guest, script=request.script, fork=fork)
    watch = request.watch or (NATIVE_WATCH if native else GUEST_WATCH)
    nonce, limits = request.nonce, request.limits
    end = run(request.spec, request.folder, watch=watch, nonce=nonce, limits=limits, on_phase=on_phase)
    span_ns, status = host_span_ns(end.samples), end.exit_status
    return replace(raw, ending=end.ending, exit_status=status, detail=end.detail, host_span_ns=span_ns)


def explained(error: OSError, folder: Path) -> EvidenceError | HostError:
    """The error about what this host refused to a run whose files are in the folder."""
    if error.errno in TOO_MANY_FILES:
        return HostError(f"a run needs more open files: {error.strerror}; {MORE_FILES}")
    named = isinstance(error.filename, str) and Path(error.filename).is_relative_to(folder)
    if named or error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG, errno.EIO}:
        why = f"{error.strerror}. Free disk space there, or give another folder with --reports."
        return EvidenceError(f"cannot write the files of a run to {folder}: {why}")
    what = f"(pipes, processes, memory): {error.strerror}."
    return HostError(f"the host refused a resource that a run needs {what}")
