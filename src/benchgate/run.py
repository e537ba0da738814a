"""Cell -> RawRun: one attempt, with everything that later stages read on disk in its folder.

Takes a RunRequest; gives a RawRun and, in its folder, argv.json, environment.json, serial.log, stderr.log,
affinity.json, threads.json, qmp.log (of guests) and run.json. A guest's failure is a RawRun with an `Ending`.
Raises BootError when the program cannot be executed at all, EvidenceError when the folder cannot be written;
an interrupt passes through. In each case the attempt is on disk: run.json says `interrupted` from the first
moment, so that even a session that was killed leaves a record of it.

`load` reads run.json back and believes nothing: EvidenceError names the file and what is wrong with it.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from benchgate.errors import BootError, EvidenceError, HostError
from benchgate.files import read_json, read_start
from benchgate.machine.accounting import host_delay_ns, host_span_ns
from benchgate.machine.console import Limits
from benchgate.machine.guest import OnPhase, run_guest, write_json
from benchgate.machine.native import run_native
from benchgate.machine.process import base_environment
from benchgate.machine.watch import GUEST_WATCH, NATIVE_WATCH, Watch
from benchgate.model import BootSpec, Cell, Ending, Lane, Mode, Params, ParamValue, Placement, RawRun

SCHEMA = 1
_FILE_BYTES = 1 << 16
_WORD = re.compile(r"[A-Za-z0-9_.:+-]{1,128}")
_Word = TypeVar("_Word", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class RunRequest:
    """One attempt at a cell. The folder exists and is this attempt's alone."""

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
    watch: Watch | None = None
    """Default: what systems of the wire format print."""
    clock_log: Path | None = None
    """A file inside the folder."""
    limits: Limits = field(default_factory=Limits)


def execute(request: RunRequest, on_phase: OnPhase = lambda _: None) -> RawRun:
    """Runs it once. `on_phase` hears starting, booting, running, ended, of a guest at least once a second;
    what it raises ends the run as an interrupt does."""
    raw = _attempt(request)
    try:
        write_json(request.folder / "argv.json", list(request.spec.argv))
        write_json(request.folder / "environment.json", base_environment(request.spec.environment))
        save(raw)
        try:
            raw = _run(request, raw, on_phase)
        except BootError as error:
            raw = replace(raw, ending=Ending.NO_START, detail=str(error))
            raise
        finally:
            save(raw)
    except OSError as error:
        raise _explain(error, request.folder) from error
    return raw


def _attempt(request: RunRequest) -> RawRun:
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
        detail="the session ended while this run was under way",
    )


def _run(request: RunRequest, raw: RawRun, on_phase: OnPhase) -> RawRun:
    native = request.spec.lane is Lane.NATIVE
    run = run_native if native else run_guest
    watch = request.watch or (NATIVE_WATCH if native else GUEST_WATCH)
    end = run(
        request.spec,
        request.folder,
        watch=watch,
        nonce=request.nonce,
        limits=request.limits,
        on_phase=on_phase,
    )
    return replace(
        raw,
        ending=end.ending,
        exit_status=end.exit_status,
        detail=end.detail,
        host_delay_ns=host_delay_ns(end.samples),
        host_span_ns=host_span_ns(end.samples),
    )


def _explain(error: OSError, folder: Path) -> EvidenceError | HostError:
    named = isinstance(error.filename, str) and Path(error.filename).is_relative_to(folder)
    if named or error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG, errno.EIO}:
        return EvidenceError(
            f"cannot keep a run's files in {folder}: {error.strerror}. "
            "Make room there, or give another place with --reports."
        )
    return HostError(f"the host refused what a run needs (pipes, processes, memory): {error.strerror}.")


def save(raw: RawRun) -> None:
    """Writes run.json so that it is there in full or not at all."""
    path = raw.folder / "run.json"
    fresh = path.with_suffix(".new")
    write_json(fresh, _as_json(raw))
    fresh.replace(path)


def load(folder: Path) -> RawRun:
    """The attempt that a folder holds."""
    path = folder / "run.json"
    try:
        text = read_start(path, _FILE_BYTES)
    except OSError as error:
        raise EvidenceError(f"{path} cannot be read: {error.strerror}.") from error
    if len(text) > _FILE_BYTES:
        raise EvidenceError(f"{path} is larger than any run.json that benchgate writes.")
    try:
        return _from_json(read_json(text), folder)
    except (ValueError, RecursionError) as error:
        raise EvidenceError(f"{path} is not a run that benchgate wrote: {error}.") from error


def _as_json(raw: RawRun) -> dict[str, object]:
    cell = raw.cell
    return {
        "schema": SCHEMA,
        "cell": {
            "system": cell.system,
            "workload": cell.workload,
            "mode": cell.mode.value,
            "params": dict(cell.params),
            "cpus": cell.cpus,
            "label": cell.label,
            "variant": cell.variant,
        },
        "attempt": raw.attempt,
        "order": raw.order,
        "nonce": raw.nonce,
        "seed": raw.seed,
        "lane": raw.lane.value,
        "placement": raw.placement.value,
        "pins": list(raw.pins),
        "warmup": raw.warmup,
        "ending": raw.ending.value,
        "exit_status": raw.exit_status,
        "guest_digest": raw.guest_digest,
        # Inside the folder, so that a bundle can be read wherever it is copied to.
        "clock_log": None if raw.clock_log is None else os.fspath(raw.clock_log.relative_to(raw.folder)),
        "void_reason": raw.void_reason,
        "host_delay_ns": raw.host_delay_ns,
        "host_span_ns": raw.host_span_ns,
        "detail": raw.detail,
    }


class _Fields:
    """An untrusted JSON object whose every key must be taken, with its type."""

    def __init__(self, value: object, where: str) -> None:
        if not isinstance(value, dict):
            raise ValueError(f"{where} is not an object")  # noqa: TRY004 - what is wrong is the file
        self._left: dict[str, object] = dict(value)
        self._where = where

    def take(self, key: str, *kinds: type) -> object:
        if key not in self._left:
            raise ValueError(f"{self._where} has no {key}")
        value = self._left.pop(key)
        if type(value) not in kinds:
            raise ValueError(f"{self._where}'s {key} has a wrong type")
        return value

    def text(self, key: str) -> str:
        return str(self.take(key, str))

    def word(self, key: str, *, empty: bool = False) -> str:
        value = self.text(key)
        if not _WORD.fullmatch(value) and (value or not empty):
            raise ValueError(f"{self._where}'s {key} is not a plain word")
        return value

    def number_or_none(self, key: str) -> int | None:
        """A count from 0, or null where it was not known."""
        if self._left.get(key, "") is not None:
            return self.number(key)
        self._left.pop(key)
        return None

    def number(self, key: str, minimum: int = 0) -> int:
        value = self.take(key, int)
        assert isinstance(value, int)
        if not minimum <= value < 2**63:
            raise ValueError(f"{self._where}'s {key} is out of range")
        return value

    def choice(self, key: str, kind: Callable[[str], _Word]) -> _Word:
        return kind(self.text(key))

    def done(self) -> None:
        if self._left:
            raise ValueError(f"{self._where} has an unknown key {min(self._left)!r}")


def _from_json(value: object, folder: Path) -> RawRun:
    run = _Fields(value, "the run")
    if run.number("schema") != SCHEMA:
        raise ValueError(f"its schema is not {SCHEMA}; use the benchgate that wrote it")
    status = run.take("exit_status", int, type(None))
    clock_log = run.take("clock_log", str, type(None))
    raw = RawRun(
        cell=_cell(run.take("cell", dict)),
        folder=folder,
        attempt=run.number("attempt", 1),
        order=run.number("order"),
        nonce=run.word("nonce"),
        seed=run.number("seed"),
        lane=run.choice("lane", Lane),
        placement=run.choice("placement", Placement),
        pins=_pins(run.take("pins", list)),
        warmup=bool(run.take("warmup", bool)),
        ending=run.choice("ending", Ending),
        exit_status=status if isinstance(status, int) else None,
        guest_digest=run.text("guest_digest"),
        clock_log=_inside(folder, clock_log) if isinstance(clock_log, str) else None,
        void_reason=run.text("void_reason"),
        host_delay_ns=run.number_or_none("host_delay_ns"),
        host_span_ns=run.number_or_none("host_span_ns"),
        detail=run.text("detail"),
    )
    run.done()
    return raw


def _cell(value: object) -> Cell:
    cell = _Fields(value, "its cell")
    made = Cell(
        system=cell.word("system"),
        workload=cell.word("workload"),
        mode=cell.choice("mode", Mode),
        params=_params(cell.take("params", dict)),
        cpus=cell.number("cpus", 1),
        label=cell.text("label"),
        variant=cell.word("variant", empty=True),
    )
    cell.done()
    return made


def _params(value: object) -> Params:
    assert isinstance(value, Mapping)
    params: list[tuple[str, ParamValue]] = []
    for name, setting in sorted(value.items()):
        if type(setting) not in (int, str):
            raise ValueError(f"its parameter {name} is neither a number nor a word")
        params.append((name, setting))
    return tuple(params)


def _pins(value: object) -> tuple[int, ...]:
    assert isinstance(value, list)
    if not all(type(pin) is int and pin >= 0 for pin in value):
        raise ValueError("its pins are not CPU numbers")
    return tuple(value)


def _inside(folder: Path, name: str) -> Path:
    if not name or Path(name).is_absolute() or ".." in Path(name).parts:
        raise ValueError("its clock_log lies outside the run's folder")
    return folder / name
