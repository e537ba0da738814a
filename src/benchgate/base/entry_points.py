"""What installed distributions add under a group of entry points; nothing of theirs is imported.

Takes the name of a group; gives its entry points, in the order of names. importlib.metadata, whose import
takes longer than a whole usage message of benchgate, is asked only if an `entry_points.txt` on sys.path has
the group. Fails with ValueError if such a file cannot be read.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import Distribution

FILE = "entry_points.txt"


@dataclass(frozen=True, slots=True)
class InstalledName:
    """One entry point of an installed distribution."""

    name: str
    place: str
    """What it names, as its file has it."""
    distribution: str
    version: str


def of_group(group: str) -> tuple[InstalledName, ...]:
    if not any(group.encode() in text for text in _texts()):
        return ()
    from importlib import metadata  # noqa: PLC0415 - see above

    try:
        entries = metadata.entry_points(group=group)
    except (TypeError, ValueError) as error:
        raise ValueError(f"its lines must be NAME = MODULE ({error})") from error
    found = (InstalledName(one.name, one.value, *_described(one.dist)) for one in entries if one.dist)
    return tuple(sorted(found, key=lambda one: (one.name, one.distribution)))


def _described(distribution: Distribution) -> tuple[str, str]:
    """Name and version. Its METADATA may be missing or broken."""
    name = version = None
    with contextlib.suppress(Exception):
        name, version = distribution.name, distribution.version
    return name or "a distribution without a name", version or "of no version"


def _texts() -> Iterator[bytes]:
    for place in sys.path:
        for name in _listed(place):
            if name.endswith((".dist-info", ".egg-info")):
                yield _text(os.path.join(place, name, FILE))  # noqa: PTH118 - each run of pytest pays for it


def _listed(place: str) -> list[str]:
    with contextlib.suppress(OSError):
        return os.listdir(place or ".")  # noqa: PTH208 - as above
    return []


def _text(file: str) -> bytes:
    with contextlib.suppress(OSError), open(file, "rb") as stream:  # noqa: PTH123 - as above
        return stream.read()
    return b""
