"""run.json, the record of one attempt: written atomically, and read back.

`save` takes a RawRun. `load` takes a run's folder and gives a RawRun; the file is untrusted, and it fails
with EvidenceError that names the file and what is wrong with it. This module imports nothing that measures,
so that `rejudge` can use it.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from benchgate.base import exploration as exploring
from benchgate.base.errors import EvidenceError
from benchgate.base.exploration import Exploration, exploration_of
from benchgate.base.files import read_json, read_start, write_json
from benchgate.base.jsonfields import as_json, read, read_key, without_head
from benchgate.base.runs import RawRun
from benchgate.base.text import visible

SCHEMA = 1
RUN, UNANSWERED = "run.json", "oracle.json"
SMOKES = "smokes"
_EARLIER = ("void_reason", "host_delay_ns")
"""The keys that only records of earlier versions have."""
_FILE_BYTES = 1 << 16
_EXPLORATION_BYTES = 1 << 21


def save(raw: RawRun) -> None:
    """Writes run.json atomically."""
    path = raw.folder / RUN
    fresh = path.with_suffix(".new")
    write_json(fresh, _as_json(raw))
    fresh.replace(path)


@dataclass(frozen=True)
class _MissingAnswer:
    failed: str


def save_unanswered(folder: Path, reason: str) -> None:
    """Writes beside a run's record why its oracle failed. The run is never judged again: an oracle that fails
    on one machine may answer on another, and the session would contradict itself."""
    write_json(folder / UNANSWERED, as_json(_MissingAnswer(reason)))


def unanswered(folder: Path) -> str:
    """Why the oracle of the run in this folder failed; empty if it did not."""
    path = folder / UNANSWERED
    if not os.path.lexists(path):
        return ""
    try:
        reason = read(_MissingAnswer, read_json(read_start(path, _FILE_BYTES)), "the oracle").failed
    except OSError as error:
        raise EvidenceError(f"{path} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise EvidenceError(f"{path} is not a file that benchgate wrote: {error}.") from error
    return visible(reason) or "the oracle failed"


def load(folder: Path) -> RawRun:
    """Reads the attempt in a folder."""
    path = folder / RUN
    try:
        text = read_start(path, _FILE_BYTES)
    except OSError as error:
        raise EvidenceError(f"{path} cannot be read: {error.strerror}.{_where_runs_are(folder)}") from error
    if len(text) > _FILE_BYTES:
        why = "benchgate writes no run.json of that size."
        raise EvidenceError(f"{path} has more than {_FILE_BYTES} bytes; {why}")
    return parsed(text, folder)


def _where_runs_are(folder: Path) -> str:
    """For whoever named another folder than a run's."""
    if (folder / "session.json").exists():
        return f" This is a session; next: name one of its runs, below {folder / 'runs'}"
    return (
        "" if folder.is_dir() else " There is no such folder; those of runs are reports/runs/SESSION/runs/*"
    )


def parsed(text: bytes, folder: Path, exploration: bytes | None = None) -> RawRun:
    """The attempt that this run.json of the folder describes. `exploration` is the content of the file beside
    it; if None, it is read from the folder if the record names it."""
    path = folder / RUN
    try:
        return _from_json(read_json(text), folder, exploration)
    except ValueError as error:
        raise EvidenceError(f"{path} is not a run that benchgate wrote: {error}.") from error


def _as_json(raw: RawRun) -> dict[str, object]:
    # The path is relative to the folder, so that a session folder can be moved.
    log = None if raw.clock_log is None else os.fspath(raw.clock_log.relative_to(raw.folder))
    result = {"schema": SCHEMA, **as_json(raw), "clock_log": log}
    # The text may be long, so it has its own file; an ordinary run has no exploration.
    return result | ({} if raw.exploration is None else {"exploration": _digest(raw.exploration)})


def _from_json(value: object, folder: Path, beside: bytes | None) -> RawRun:
    run = without_head(value, "the run", "use the benchgate that wrote it", schema=SCHEMA)
    log = read_key(str | None, run, "clock_log", "the run")
    apart: dict[str, object] = {"clock_log": None if log is None else _inside(folder, log)}
    if "exploration" in run:
        digest = read_key(str, run, "exploration", "the run")
        apart["exploration"] = _exploration(folder, beside, digest)
    others = ("clock_log", "exploration", *_EARLIER)
    rest = {name: one for name, one in run.items() if name not in others}
    return read(RawRun, rest, "the run", folder=folder, **apart)


def _digest(exploration: Exploration) -> str:
    return hashlib.sha256(exploration.text.encode()).hexdigest()


def _exploration(folder: Path, beside: bytes | None, digest: str) -> Exploration:
    """The exploration beside the record, if its digest is the recorded one."""
    try:
        content = read_start(folder / exploring.FILE, _EXPLORATION_BYTES) if beside is None else beside
        exploration = exploration_of(content.decode("ascii", "replace"))
    except OSError as error:
        raise ValueError(f"{exploring.FILE} beside it cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise ValueError(f"{exploring.FILE} beside it: {error}") from error
    if _digest(exploration) != digest:
        raise ValueError(f"{exploring.FILE} beside it is not the one that it names")
    return exploration


def _inside(folder: Path, name: str) -> Path:
    if not name or Path(name).is_absolute() or ".." in Path(name).parts:
        raise ValueError("its clock_log is outside the run's folder")
    return folder / name


def smoke_folder(session: Path, system: str, cpus: int, clock: str = "") -> Path:
    """The folder of a system's smoke boot at a CPU count, in a session's folder. `clock` is the cell's."""
    return session / SMOKES / f"{system}{f'-{clock}' if clock else ''}-smp{cpus}"


def clock_log(folder: Path) -> Path:
    return folder / "clock.log"
