"""What differs between two sessions that should be the same, but for times, folders and facts of the host.

Takes two folders; gives a sentence for each file that differs. Nothing is left out by a pattern: what may
differ is named here, file by file and key by key.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchgate.features.fleet import doubles

WHO = "worker.json"
"""The file of runs that a worker made."""
SESSION, ATTEMPTS, MANIFEST = "session.json", "attempts.jsonl", "manifest.sha256"
OF_THE_SESSION = ("id", "started", "finished", "pid", "pid_started", "command", "chain", "envelope", "fleet")
OF_ITS_OPTIONS = ("reports", "fleet")
PAGE = "report.html"
"""It draws how the host disturbed each run."""
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z")


def differences(path: Path, other: Path) -> list[str]:
    names = [{name for name in _names(folder) if Path(name).name != WHO} for folder in (path, other)]
    result = [f"only one has {name}" for name in sorted(names[0] ^ names[1])]
    return result + [name for name in sorted(names[0] & names[1]) if _differs(name, path, other)]


def _names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def _differs(name: str, path: Path, other: Path) -> bool:
    if "/" in name and Path(name).name in doubles.PER_HOST:
        return False
    if name.startswith("smokes/") and Path(name).name in (doubles.RUN, doubles.CONSOLE):
        return False  # a smoke has a nonce of its own
    if name == PAGE:
        return False
    return bool(_plain(name, path) != _plain(name, other))


def _plain(name: str, folder: Path) -> Any:
    """The content without what may differ."""
    content = (folder / name).read_bytes()
    reader = _READERS.get(name) or _READERS.get(Path(name).name)
    if reader is not None:
        return reader(content)
    if "/" in name:
        return content
    command = json.loads((folder / SESSION).read_text())["command"]
    text = content.decode().replace(command, "COMMAND").replace(folder.name, "SESSION")
    return _TIME.sub("TIME", text)


def _session(content: bytes) -> dict[str, Any]:
    facts = json.loads(content)
    kept = {name: value for name, value in facts.items() if name not in OF_THE_SESSION}
    kept["options"] = {name: value for name, value in facts["options"].items() if name not in OF_ITS_OPTIONS}
    return kept


def _attempts(content: bytes) -> list[Any]:
    """The attempts without digests and chain, which are also over what the host left."""
    return [(link["run"], link["folder"], link["outcome"]) for link in map(json.loads, content.splitlines())]


def _manifest(content: bytes) -> list[str]:
    return [line.split()[1] for line in content.decode().splitlines() if not line.endswith(WHO)]


def _run(content: bytes) -> dict[str, Any]:
    return {key: value for key, value in json.loads(content).items() if key != "host_span_ns"}


def _clock(content: bytes) -> bytes:
    return re.sub(rb"(?m)^host .*\n", b"", content)


_READERS: Mapping[str, Callable[[bytes], Any]] = {
    SESSION: _session,
    ATTEMPTS: _attempts,
    MANIFEST: _manifest,
    doubles.RUN: _run,
    doubles.CLOCK: _clock,
}
