"""run.json, the record of one attempt: written atomically, and read back.

`save` takes a RawRun. `load` takes a run's folder and gives a RawRun; the file is untrusted, and it fails
with EvidenceError that names the file and what is wrong with it. This module imports nothing that measures,
so that `rejudge` can use it.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from benchgate.base import exploring
from benchgate.base.cell_json import cell_as_json, cell_from_json
from benchgate.base.cells import Lane, Placement
from benchgate.base.errors import EvidenceError
from benchgate.base.exploring import Exploration, exploration_of
from benchgate.base.files import read_json, read_start, write_json
from benchgate.base.jsonfields import Fields
from benchgate.base.runs import Ending, RawRun
from benchgate.base.text import visible

SCHEMA = 1
RUN, UNANSWERED = "run.json", "oracle.json"
SMOKES = "smokes"
_FILE_BYTES = 1 << 16
_EXPLORATION_BYTES = 1 << 21


def save(raw: RawRun) -> None:
    """Writes run.json atomically."""
    path = raw.folder / RUN
    fresh = path.with_suffix(".new")
    write_json(fresh, _as_json(raw))
    fresh.replace(path)


def save_unanswered(folder: Path, reason: str) -> None:
    """Beside the record of a run whose oracle failed: why. The run is never judged again, because an oracle
    that fails on one machine may answer on another, and the session would contradict itself."""
    write_json(folder / UNANSWERED, {"failed": reason})


def unanswered(folder: Path) -> str:
    """Why the oracle of the run in this folder failed; empty: it did not."""
    path = folder / UNANSWERED
    if not os.path.lexists(path):
        return ""
    try:
        fields = Fields(read_json(read_start(path, _FILE_BYTES)), "the oracle")
        reason = fields.text("failed")
        fields.done()
    except OSError as error:
        raise EvidenceError(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise EvidenceError(f"{path} is not a file that benchgate wrote: {error}.") from error
    return visible(reason) or "the oracle failed"


def load(folder: Path) -> RawRun:
    """The attempt in a folder."""
    path = folder / RUN
    try:
        text = read_start(path, _FILE_BYTES)
    except OSError as error:
        raise EvidenceError(f"{path} cannot be read: {error.strerror}.") from error
    if len(text) > _FILE_BYTES:
        raise EvidenceError(
            f"{path} has more than {_FILE_BYTES} bytes; benchgate writes no run.json of that size."
        )
    return parsed(text, folder)


def parsed(text: bytes, folder: Path, exploration: bytes | None = None) -> RawRun:
    """The attempt that this run.json of the folder describes. `exploration`: the content of the file beside
    it; None: it is read from the folder if the record names it."""
    path = folder / RUN
    try:
        return _from_json(read_json(text), folder, exploration)
    except (ValueError, RecursionError) as error:
        raise EvidenceError(f"{path} is not a run that benchgate wrote: {error}.") from error


def _as_json(raw: RawRun) -> dict[str, object]:
    return {
        "schema": SCHEMA,
        "cell": cell_as_json(raw.cell),
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
        # Relative to the folder, so that a session folder can be moved.
        "clock_log": None if raw.clock_log is None else os.fspath(raw.clock_log.relative_to(raw.folder)),
        "host_span_ns": raw.host_span_ns,
        "detail": raw.detail,
        # Its text is in a file beside, because it may be long; an ordinary run has neither.
        **({} if raw.exploration is None else {"exploration": _digest(raw.exploration)}),
    }


def _from_json(value: object, folder: Path, beside: bytes | None) -> RawRun:
    run = Fields(value, "the run")
    if run.number("schema") != SCHEMA:
        raise ValueError(f"its schema is not {SCHEMA}; use the benchgate that wrote it")
    for key in ("void_reason", "host_delay_ns"):  # in records of earlier versions
        run.drop(key)
    status = run.take("exit_status", int, type(None))
    log = run.take("clock_log", str, type(None))
    raw = RawRun(
        cell=cell_from_json(run.take("cell", dict)),
        folder=folder,
        attempt=run.number("attempt", 1),
        order=run.number("order"),
        nonce=run.word("nonce"),
        seed=run.number("seed"),
        lane=run.choice("lane", Lane),
        placement=run.choice("placement", Placement),
        pins=run.numbers("pins"),
        warmup=run.flag("warmup"),
        ending=run.choice("ending", Ending),
        exit_status=status,
        guest_digest=run.text("guest_digest"),
        clock_log=None if log is None else _inside(folder, log),
        host_span_ns=run.number_or_none("host_span_ns"),
        detail=run.text("detail"),
        exploration=_exploration(folder, beside, run.text("exploration")) if run.has("exploration") else None,
    )
    run.done()
    return raw


def _digest(exploration: Exploration) -> str:
    return hashlib.sha256(exploration.text.encode()).hexdigest()


def _exploration(folder: Path, beside: bytes | None, digest: str) -> Exploration:
    """The one that is beside the record, if it is the one that the record names."""
    try:
        content = read_start(folder / exploring.FILE, _EXPLORATION_BYTES) if beside is None else beside
        found = exploration_of(content.decode("ascii", "replace"))
    except OSError as error:
        raise ValueError(f"{exploring.FILE} beside it cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise ValueError(f"{exploring.FILE} beside it: {error}") from error
    if _digest(found) != digest:
        raise ValueError(f"{exploring.FILE} beside it is not the one that it names")
    return found


def _inside(folder: Path, name: str) -> Path:
    if not name or Path(name).is_absolute() or ".." in Path(name).parts:
        raise ValueError("its clock_log is outside the run's folder")
    return folder / name


def smoke_folder(session: Path, system: str, cpus: int, clock: str = "") -> Path:
    """The folder of a system's smoke boot at a CPU count, in a session's folder. `clock`: the cell's."""
    return session / SMOKES / f"{system}{f'-{clock}' if clock else ''}-smp{cpus}"


def clock_log(folder: Path) -> Path:
    """The path of the instruction clock's log in a run's folder."""
    return folder / "clock.log"
