"""Removes old sessions. The newest ones and those that still run are kept.

Takes the reports folder and the number to keep; removes the oldest above that number. Fails with
EvidenceError that names what cannot be removed, after the others are removed.
"""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

from benchgate.base.errors import EvidenceError
from benchgate.base.process import start_time
from benchgate.evidence.files import SESSION, read_object
from benchgate.evidence.session_folder import SESSION_NAME


def prune(reports: Path, keep: int, current: str = "") -> tuple[str, ...]:
    """Removes the oldest sessions above `keep` (0 keeps all), but never the current or a running one."""
    try:
        names = sorted(one.name for one in (reports / "runs").iterdir() if _is_session(one))
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise EvidenceError(f"{reports / 'runs'} cannot be read: {error.strerror}") from None
    surplus = names[: max(len(names) - keep, 0)] if keep else []
    gone = [name for name in surplus if name != current and not _is_running(reports / "runs" / name)]
    kept = []
    for name in gone:
        try:
            with contextlib.suppress(FileNotFoundError):  # another session removes it too
                shutil.rmtree(reports / "runs" / name)
        except OSError as error:
            kept.append(f"{reports / 'runs' / name} cannot be removed: {error.strerror}")
    if kept:
        raise EvidenceError("; ".join(kept))
    return tuple(gone)


def _is_session(path: Path) -> bool:
    return bool(SESSION_NAME.fullmatch(path.name)) and path.is_dir() and not path.is_symlink()


def _is_running(folder: Path) -> bool:
    """Compares the start time too, because another process may have the number by now."""
    try:
        facts = read_object(folder, SESSION)
    except EvidenceError:
        return False
    pid, started = facts.get("pid"), facts.get("pid_started")
    return type(pid) is int and type(started) is int and start_time(pid) == started
