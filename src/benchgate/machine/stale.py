"""The record of running guests, and the end of those whose session is gone.

Takes a started child and the word that marks it; keeps a small file while it runs. `sweep_stale` ends what a
dead session left behind: only a process that a record names, with the recorded start time, with the mark in
its command line, whose session is gone. The parent-death signal makes such a guest rare (a wrapper that
forks, a binary with extra rights); the sweep is the second net. Fails with HostError when the folder is not
ours.
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

from benchgate.errors import HostError
from benchgate.machine.process import start_time

_RECORD_BYTES = 4096
_MARK_LENGTH = 8


@dataclass(frozen=True, slots=True)
class Record:
    """One guest and the session it belongs to; each process by number and start time."""

    mark: str
    pid: int
    started: int
    owner: int
    owner_started: int


def runtime_folder() -> Path:
    """A private folder for the records, made if need be; below the temporary folder where $XDG_RUNTIME_DIR is
    one of another user or of a login that has ended, as it is for many who came by `su`."""
    roots = dict.fromkeys(filter(None, (os.environ.get("XDG_RUNTIME_DIR"), tempfile.gettempdir())))
    trouble = ""
    for root in roots:
        try:
            return _private(Path(root) / f"benchgate-{os.getuid()}")
        except OSError as error:
            trouble = f"{error.filename}: {error.strerror}"
    raise HostError(f"no folder for the records of running guests: {trouble}. Set XDG_RUNTIME_DIR.")


def _private(folder: Path) -> Path:
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise HostError(f"{folder} is not a private folder of this user. Remove it, or set XDG_RUNTIME_DIR.")
    return folder


@contextlib.contextmanager
def recorded(pid: int, started: int | None, mark: str) -> Iterator[None]:
    """Keeps a record of a guest for as long as the block lasts."""
    if len(mark) < _MARK_LENGTH:
        raise ValueError(f"the mark {mark!r} is too short to tell a guest from anything else")
    owner_started = start_time(os.getpid())
    if started is None or owner_started is None:
        yield  # it is gone already; there is nothing to find later
        return
    record = Record(mark, pid, started, os.getpid(), owner_started)
    path = _write(record)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            path.parent.rmdir()  # the last one out; not empty: another guest's record is there


def _write(record: Record) -> Path:
    text = json.dumps(asdict(record))
    for _ in range(10):
        path = runtime_folder() / f"guest-{record.pid}-{record.started}.json"
        # Another session may remove the folder between the two lines, when its last guest ends.
        with contextlib.suppress(FileNotFoundError):
            path.write_text(text, encoding="utf-8")
            return path
    raise HostError(f"{path.parent} is removed again and again by another process; set XDG_RUNTIME_DIR.")


def sweep_stale() -> tuple[str, ...]:
    """Ends guests of dead sessions and drops their records. Gives a sentence for each one ended."""
    ended = []
    for path in sorted(runtime_folder().glob("guest-*.json")):
        record = _read(path)
        if record is not None and start_time(record.owner) == record.owner_started:
            continue  # its session lives and looks after it
        if record is not None and _is_still(record):
            with contextlib.suppress(ProcessLookupError):
                _end(record)
                ended.append(f"ended guest {record.pid}, left over from session {record.owner}")
        path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        runtime_folder().rmdir()
    return tuple(ended)


def _read(path: Path) -> Record | None:
    """The record, or None where the file is not one (cut short by a crash)."""
    try:
        with path.open("rb") as stream:
            values = json.loads(stream.read(_RECORD_BYTES))
        record = Record(**values)
    except (OSError, ValueError, TypeError):
        return None
    numbers = (record.pid, record.started, record.owner, record.owner_started)
    if not all(type(number) is int for number in numbers) or record.pid <= 1:
        return None
    return record if isinstance(record.mark, str) and len(record.mark) >= _MARK_LENGTH else None


def _is_still(record: Record) -> bool:
    if start_time(record.pid) != record.started:
        return False
    try:
        words = Path(f"/proc/{record.pid}/cmdline").read_bytes()
    except OSError:
        return False
    return record.mark.encode() in words


def _end(record: Record) -> None:
    """By a descriptor of the process, so that its number cannot pass to another in between."""
    handle = os.pidfd_open(record.pid)
    try:
        if _is_still(record):
            if os.getpgid(record.pid) == record.pid:
                os.killpg(record.pid, signal.SIGKILL)
            else:
                signal.pidfd_send_signal(handle, signal.SIGKILL)
    finally:
        os.close(handle)
