"""What a worker sends back: the files of a run's folder with their digests, or why there is no run.

`made` takes a folder; gives bytes: a line of JSON, then the packed files one after the other. `read` takes
untrusted bytes; gives a `WorkerAnswer` whose files have the digests that it names, or fails with FleetError.
A digest shows that the answer is whole, not that the worker is honest; fleet/doubles.py compares two workers.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

from benchgate.base.files import read_json
from benchgate.base.jsonfields import Presence, Size, as_json
from benchgate.base.jsonfields import read as read_typed
from benchgate.evidence.files import files_below, is_safe_name
from benchgate.features.fleet.errors import FleetError

LARGEST = 1 << 30
"""All files of one run together."""
_MOST_FILES = 100
_LEVEL = 1
"""Packing only spares the network; the loop of the session must not wait for it."""


@dataclass(frozen=True, slots=True)
class WorkerAnswer:
    key: str
    worker: str
    host: str
    files: Annotated[Mapping[str, bytes], Presence.APART] = field(default_factory=dict)
    listed: Annotated[tuple[tuple[str, str, int, int], ...], Size(0, _MOST_FILES)] = ()
    """Each file has its name, SHA-256, size, and size when packed."""
    missing: tuple[str, ...] = ()
    """The inputs that it needs first."""
    refused: str = ""
    """Why this worker does not run this task, and never will."""
    trouble: str = ""
    """What its host lacks: another worker may do better."""

    @property
    def line(self) -> bytes:
        """The line of JSON: the answer without the content of its files."""
        return json.dumps(as_json(self), sort_keys=True).encode() + b"\n"


def made(key: str, worker: str, host: str, folder: Path) -> bytes:
    files = {name: (folder / name).read_bytes() for name in files_below(folder)}
    packed = {name: zlib.compress(content, _LEVEL) for name, content in files.items()}
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    listed = tuple((name, digests[name], len(files[name]), len(packed[name])) for name in files)
    return WorkerAnswer(key, worker, host, listed=listed).line + b"".join(packed.values())


def read(data: object) -> WorkerAnswer:
    if type(data) is not bytes:
        raise FleetError(f"an answer is bytes, not {type(data).__name__}")
    line, _, packed = data.partition(b"\n")
    try:
        head = read_typed(WorkerAnswer, read_json(line), "its head")
        return replace(head, files=MappingProxyType(_unpacked(head.listed, packed)))
    except (ValueError, zlib.error) as error:
        raise FleetError(f"an answer that no worker of this version gives: {error}") from error


def _unpacked(listed: Sequence[tuple[str, str, int, int]], packed: bytes) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    at, left = 0, LARGEST
    for name, digest, size, length in listed:
        if not is_safe_name(name) or "/" in name:
            raise ValueError(f"{name!r:.80} is not a file of a run's folder")
        if name in files:
            raise ValueError(f"it has two files {name}")
        left -= size
        if left < 0:
            raise ValueError(f"its files have more than {LARGEST} bytes")
        unpacker = zlib.decompressobj()
        content = unpacker.decompress(packed[at : at + length], max(size, 1))
        if len(content) != size or unpacker.unconsumed_tail or not unpacker.eof:
            raise ValueError(f"{name} is cut off, or longer than it says")
        if hashlib.sha256(content).hexdigest() != digest:
            raise ValueError(f"{name} has another digest than it says")
        files[name] = content
        at += length
    if at != len(packed):
        raise ValueError("there are bytes behind its files")
    return files
