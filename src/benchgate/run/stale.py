"""Records running guests, and ends guests whose session is gone.

`recorded` takes a started process and the mark in its command line; it keeps a small file while the process
runs. `sweep_stale` ends the guests of dead sessions. It only ends a process that a record names, that has the
recorded start time and the mark in its command line, and whose session is gone. The parent-death signal
normally ends a guest; it fails for a wrapper that forks and for a binary with extra privileges. Fails with
HostError if the folder of records is not private to the user.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

from benchgate.base.errors import HostError
from benchgate.base.jsonfields import Between, Matches, read
from benchgate.base.process import start_time

_RECORD_BYTES = 4096
_MARK_LENGTH = 8
_TRIES = 10


@dataclass(frozen=True, slots=True)
class Record:
    """One guest and its session, each identified by process number and start time."""

    mark: Annotated[str, Matches(rf".{{{_MARK_LENGTH},}}", "a mark")]
    pid: Annotated[int, Between(2)]
    started: int
    owner: int
    owner_started: int


def runtime_folder() -> Path:
    """A private folder for the records, created if needed. It is in the temporary folder if $XDG_RUNTIME_DIR
    belongs to another user or to a login that has ended, which is common after `su`."""
    roots = dict.fromkeys(filter(None, (os.environ.get("XDG_RUNTIME_DIR"), tempfile.gettempdir())))
    problem = ""
    for root in roots:
        try:
            return _private(Path(root) / f"benchgate-{os.getuid()}")
        except OSError as error:
            problem = f"{error.filename}: {error.strerror}"
    advice = "Set XDG_RUNTIME_DIR."
    raise HostError(f"cannot create a folder for the records of running guests: {problem}. {advice}")


def _private(folder: Path) -> Path:
    found = _made(folder)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise HostError(f"{folder} is not a private folder of this user. Remove it, or set XDG_RUNTIME_DIR.")
    return folder


def _made(folder: Path) -> os.stat_result:
    """Makes the folder if it is missing. Another session may remove it when its last guest ends."""
    for _ in range(_TRIES):
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        with contextlib.suppress(FileNotFoundError):
            return folder.lstat()
    raise _keeps_vanishing(folder)


def _keeps_vanishing(folder: Path) -> HostError:
    return HostError(f"another process keeps removing {folder}; set XDG_RUNTIME_DIR to another folder.")


@contextlib.contextmanager
def recorded(pid: int, started: int | None, mark: str) -> Iterator[None]:
    """Keeps a record of a guest until the block ends."""
    if len(mark) < _MARK_LENGTH:
        raise ValueError(f"the mark {mark!r} is too short to identify a guest")
    owner_started = start_time(os.getpid())
    if started is None or owner_started is None:
        yield  # the process is gone already, so it needs no record
        return
    record = Record(mark, pid, started, os.getpid(), owner_started)
    path = _write(record)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            path.parent.rmdir()  # fails while another guest has a record there


def _write(record: Record) -> Path:
    text = json.dumps(asdict(record))
    for _ in range(_TRIES):
        path = runtime_folder() / f"guest-{record.pid}-{record.started}.json"
        # When the last guest of another session ends, that session may remove the folder between the two
        # calls.
        with contextlib.suppress(FileNotFoundError):
            path.write_text(text, encoding="utf-8")
            return path
    raise _keeps_vanishing(path.parent)


def sweep_stale() -> tuple[str, ...]:
    """Ends the guests of dead sessions and removes their records. Gives a sentence for each guest ended."""
    ended = []
    for path in sorted(runtime_folder().glob("guest-*.json")):
        record = _read(path)
        if record is not None and start_time(record.owner) == record.owner_started:
            continue  # its session still runs
        if record is not None and _is_still(record):
            with contextlib.suppress(ProcessLookupError):
                _end(record)
                ended.append(f"ended guest {record.pid}, which session {record.owner} left running")
        path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        runtime_folder().rmdir()
    return tuple(ended)


def _read(path: Path) -> Record | None:
    """The record, or None if the file is not a complete record (after a crash)."""
    try:
        with path.open("rb") as stream:
            return read(Record, json.loads(stream.read(_RECORD_BYTES)), "the record")
    except (OSError, ValueError):
        return None


def _is_still(record: Record) -> bool:
    if start_time(record.pid) != record.started:
        return False
    with contextlib.suppress(OSError):
        return record.mark.encode() in Path(f"/proc/{record.pid}/cmdline").read_bytes()
    return False


def _end(record: Record) -> None:
    """Ends the process through a pidfd, so that a process that reuses the number cannot be hit."""
    handle = os.pidfd_open(record.pid)
    try:
        if _is_still(record):
            if os.getpgid(record.pid) == record.pid:
                os.killpg(record.pid, signal.SIGKILL)
            else:
                signal.pidfd_send_signal(handle, signal.SIGKILL)
    finally:
        os.close(handle)
