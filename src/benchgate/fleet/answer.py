"""What a worker sends back: the files of a run's folder with their digests, or why there is no run.

`made` takes a folder; gives bytes: a line of JSON, then the packed files one after the other. `read` takes
untrusted bytes; gives an `Answer` whose files have the digests that it names, or fails with FleetError. A
digest shows that the answer is whole, not that the worker is honest; fleet/doubles.py compares two workers.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from benchgate.base.errors import FleetError
from benchgate.base.files import read_json
from benchgate.base.jsonfields import Fields
from benchgate.evidence.files import files_below, is_safe_name

LARGEST = 1 << 30
"""All files of one run together."""
_MOST_FILES = 100
_LEVEL = 1
"""Packing is only to spare the network; the loop of the session must not wait for it."""


@dataclass(frozen=True, slots=True)
class Answer:
    key: str
    """Of the task."""
    worker: str
    host: str
    files: Mapping[str, bytes] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    """The inputs that it needs first."""
    refused: str = ""
    """Why this worker does not run this task, and never will."""
    trouble: str = ""
    """What its host lacks: another worker may do better."""


def made(key: str, worker: str, host: str, folder: Path) -> bytes:
    files = {name: (folder / name).read_bytes() for name in files_below(folder)}
    packed = {name: zlib.compress(content, _LEVEL) for name, content in files.items()}
    listed = [
        [name, hashlib.sha256(content).hexdigest(), len(content), len(packed[name])]
        for name, content in files.items()
    ]
    return _head(key, worker, host, files=listed) + b"".join(packed.values())


def without_run(  # noqa: PLR0913 - keyword arguments
    key: str, worker: str, host: str, *, missing: Sequence[str] = (), refused: str = "", trouble: str = ""
) -> bytes:
    return _head(key, worker, host, missing=list(missing), refused=refused, trouble=trouble)


def _head(key: str, worker: str, host: str, **rest: object) -> bytes:
    empty = {"files": [], "missing": [], "refused": "", "trouble": ""}
    value = {"key": key, "worker": worker, "host": host, **empty, **rest}
    return json.dumps(value, sort_keys=True).encode() + b"\n"


def read(data: object) -> Answer:
    if type(data) is not bytes:
        raise FleetError(f"an answer is bytes, not {type(data).__name__}")
    head, _, packed = data.partition(b"\n")
    try:
        fields = Fields(read_json(head), "its head")
        files = _unpacked(fields.take("files", list), packed)
        found = Answer(
            key=fields.text("key"),
            worker=fields.text("worker"),
            host=fields.text("host"),
            files=MappingProxyType(files),
            missing=fields.texts("missing"),
            refused=fields.text("refused"),
            trouble=fields.text("trouble"),
        )
        fields.done()
    except (ValueError, RecursionError, zlib.error) as error:
        raise FleetError(f"an answer that no worker of this version gives: {error}") from error
    return found


def _unpacked(listed: Sequence[object], packed: bytes) -> dict[str, bytes]:
    if len(listed) > _MOST_FILES:
        raise ValueError(f"it has more than {_MOST_FILES} files")
    files: dict[str, bytes] = {}
    at, left = 0, LARGEST
    for entry in listed:
        name, digest, size, length = _entry(entry)
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


def _entry(entry: object) -> tuple[str, str, int, int]:
    if type(entry) is not list or [type(one) for one in entry] != [str, str, int, int]:
        raise ValueError(f"{entry!r:.80} is no file")
    name, digest, size, length = entry
    if not is_safe_name(name) or "/" in name or min(size, length) < 0:
        raise ValueError(f"{name!r:.80} is not a file of a run's folder")
    return name, digest, size, length
