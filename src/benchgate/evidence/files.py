"""The files of a session folder: read as untrusted input, and written atomically.

Takes a folder; gives names, digests and texts. Fails with EvidenceError for what no session contains (links,
pipes, devices, paths that lead outside, files that are too large), and if a file cannot be written.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import re
import stat
from pathlib import Path

from benchgate.base import files
from benchgate.base.errors import EvidenceError, IncompleteError
from benchgate.base.files import read_json

MANIFEST = "manifest.sha256"
SIGNATURE = "manifest.sha256.sig"
"""Made after the session, and outside of it: the manifest does not list it."""
ATTEMPTS = "attempts.jsonl"
SESSION = "session.json"

MOST_FILES = 200_000
DEEPEST = 8
LARGEST_FILE = 4 << 30
LARGEST_TEXT = 64 << 20

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+=@,:-]{0,199}")


def is_safe_name(name: str) -> bool:
    """True if benchgate could have written a file of this path below a session folder."""
    parts = name.split("/")
    return len(parts) <= DEEPEST and all(_NAME.fullmatch(part) for part in parts)


def files_below(folder: Path) -> tuple[str, ...]:
    """The relative path of every file, sorted. Anything but plain files and folders is refused."""
    paths: list[str] = []
    waiting = [""]
    while waiting:
        base = waiting.pop()
        with os.scandir(folder / base) as entries:
            for entry in entries:
                name = f"{base}/{entry.name}".lstrip("/")
                if not is_safe_name(name):
                    raise EvidenceError(f"{folder}: {name!r:.200} is not a name in a session folder")
                mode = entry.stat(follow_symlinks=False).st_mode
                if stat.S_ISDIR(mode):
                    waiting.append(name)
                elif stat.S_ISREG(mode):
                    paths.append(name)
                else:
                    raise EvidenceError(f"{folder}/{name} is not a plain file")
        if len(paths) + len(waiting) > MOST_FILES:
            raise EvidenceError(f"{folder} has more than {MOST_FILES} files")
    return tuple(sorted(paths))


def empty_folders(folder: Path) -> tuple[str, ...]:
    """The relative path of every folder without files and folders, sorted; no manifest lists one. Call
    `files_below` first, which refuses links."""
    paths = [
        Path(base).relative_to(folder) for base, folders, names in os.walk(folder) if not folders + names
    ]
    return tuple(sorted(map(str, paths)))


def digest_of(folder: Path, name: str) -> str:
    """SHA-256 of a plain file below the folder, in hex."""
    with _opened(folder / name, LARGEST_FILE) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def read_text(folder: Path, name: str, limit: int = LARGEST_TEXT) -> str:
    """A text file below the folder. IncompleteError if it is missing, EvidenceError if it is too large or not
    UTF-8."""
    try:
        with _opened(folder / name, limit) as stream:
            return stream.read(limit + 1).decode()
    except FileNotFoundError:
        raise IncompleteError(f"{folder / name} is missing") from None
    except UnicodeDecodeError as error:
        raise EvidenceError(f"{folder / name} is not UTF-8 text (byte {error.start})") from None


def read_object(folder: Path, name: str) -> dict[str, object]:
    """A JSON object in a file below the folder."""
    try:
        data = read_json(read_text(folder, name))
    except ValueError as error:
        raise EvidenceError(f"{folder / name} is not JSON: {error}") from None
    if not isinstance(data, dict):
        raise EvidenceError(f"{folder / name} is not a JSON object")
    return data


def folder_digest(folder: Path, below: str) -> str:
    """One digest of the names and contents of all files of an attempt."""
    names = files_below(folder / below)
    lines = (f"{digest_of(folder, f'{below}/{name}')}  {name}\n" for name in names)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def write_whole(path: Path, text: str) -> None:
    """Writes a new file and renames it, so that the file is complete even if the process is killed."""
    fresh = path.with_name(f"{path.name}.new")
    try:
        with fresh.open("wb") as stream:
            stream.write(text.encode(errors="backslashreplace"))
            stream.flush()
            os.fsync(stream.fileno())
        fresh.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            fresh.unlink(missing_ok=True)
        raise unwritable(path, error, KEPT) from None


def append_line(path: Path, line: str) -> None:
    """Appends the whole line or nothing: on a full disk a partial line is removed again."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(path, flags), "ab", buffering=0) as stream:
            before = os.fstat(stream.fileno()).st_size
            try:
                _write_all(stream, line.encode(errors="backslashreplace"))
                os.fsync(stream.fileno())
            except OSError:
                with contextlib.suppress(OSError):
                    stream.truncate(before)
                raise
    except OSError as error:
        raise unwritable(path, error, KEPT) from None


KEPT = "the files written before are kept; free disk space, then run again"


def unwritable(path: Path, error: OSError, advice: str) -> EvidenceError:
    return EvidenceError(f"{path} cannot be written: {error.strerror}; {advice}")


def _write_all(stream: io.FileIO, data: bytes) -> None:
    """A write to a full disk may be short; only the next write reports the error."""
    rest = memoryview(data)
    while rest:
        rest = rest[stream.write(rest) :]


def _opened(path: Path, limit: int) -> io.BufferedReader:
    """A regular file that is not too large, and not a link, which could lead anywhere."""
    try:
        stream = files.open_regular(path, follow=False)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise EvidenceError(f"{path} cannot be read: {error.strerror}") from None
    if os.fstat(stream.fileno()).st_size > limit:
        stream.close()
        raise EvidenceError(f"{path} has more than {limit} bytes")
    return stream
