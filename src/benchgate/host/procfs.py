"""Small readers for /proc and /sys, where any file may be absent.

Takes paths and text, gives plain values; a missing value is None ("unavailable" in reports) and is never
invented. Only `cpu_list` fails: with ValueError for text that is not a list of CPUs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from benchgate.base.text import UNAVAILABLE, one_line

CPUS = Path("sys/devices/system/cpu")
_MOST_CPUS = 65_536
_LONGEST = 1 << 20
_RANGE = re.compile(r"([0-9]{1,6})(?:-([0-9]{1,6}))?")


def text_of(path: Path) -> str | None:
    """A small file's text without surrounding white space; None if it is absent or unreadable."""
    try:
        with path.open("rb") as stream:
            return stream.read(_LONGEST).decode(errors="replace").strip()
    except OSError:
        return None


def fact(path: Path) -> str:
    """A file's text as one line, or "unavailable"."""
    return one_line(text_of(path) or "") or UNAVAILABLE


def field(text: str, name: str) -> str:
    """The value of the first line `name: value`, as in /proc/cpuinfo, or "unavailable"."""
    match = re.search(rf"^{name}\s*:\s*(.+)$", text, re.MULTILINE)
    return one_line(match[1]) if match else UNAVAILABLE


def number_of(path: Path) -> int | None:
    """The whole number in a file; None if there is none."""
    text = text_of(path)
    return int(text) if text and re.fullmatch(r"-?[0-9]{1,20}", text) else None


def cpu_list(text: str) -> tuple[int, ...]:
    """The CPUs of a kernel list such as "0-2,5", in ascending order. Empty text means no CPU."""
    cpus: set[int] = set()
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        match = _RANGE.fullmatch(part)
        if not match:
            raise ValueError(f"not a list of CPUs: {text[:80]!r}")
        first = int(match[1])
        last = int(match[2] or match[1])
        if not first <= last < _MOST_CPUS:
            raise ValueError(f"not a range of CPUs: {part!r}")
        cpus.update(range(first, last + 1))
    return tuple(sorted(cpus))


def cpu_list_of(path: Path) -> tuple[int, ...] | None:
    """The list of CPUs in a file; None if the file is absent or contains something else."""
    text = text_of(path)
    if text is None:
        return None
    try:
        return cpu_list(text)
    except ValueError:
        return None


def as_list(cpus: Iterable[int]) -> str:
    """The shortest kernel list for these CPUs, e.g. "0-2,5"; "none" for no CPU."""
    spans: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if spans and cpu == spans[-1][1] + 1:
            spans[-1][1] = cpu
        else:
            spans.append([cpu, cpu])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in spans) or "none"
