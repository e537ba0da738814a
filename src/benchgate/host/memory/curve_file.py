"""The file of curves beside a machine file: every chase, as CSV.

Takes curves by kind; gives text, and reads it back. Fails with UsageError, which names file and line, for a
file that is something else.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping
from pathlib import Path

from benchgate.base.errors import UsageError
from benchgate.base.text import visible
from benchgate.host.memory.curve import Point

HEAD = ("kind", "bytes", "ns", "typical_ns")
LARGEST = 1 << 24


def text(curves: Mapping[str, tuple[Point, ...]], decides: str) -> str:
    """The kind that decides comes first."""
    output = io.StringIO()
    writer = csv.writer(output, lineterminator="\n")
    writer.writerow(HEAD)
    for kind in sorted(curves, key=lambda kind: (kind != decides, kind)):
        writer.writerows((kind, one.size, f"{one.ns:.4f}", f"{one.typical_ns:.4f}") for one in curves[kind])
    return output.getvalue()


def load(path: Path) -> dict[str, tuple[Point, ...]]:
    """The curves by kind, in the file's order: the first kind is the one that decides."""
    try:
        with path.open("rb") as stream:
            raw = stream.read(LARGEST).decode("utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
    return parse(raw, path)


def parse(raw: str, path: Path) -> dict[str, tuple[Point, ...]]:
    rows = list(csv.reader(raw.splitlines()))
    if not rows or tuple(rows[0]) != HEAD:
        raise UsageError(f"{path}:1: expected `{','.join(HEAD)}`, as `benchgate machine calibrate` writes it")
    found: dict[str, list[Point]] = {}
    for number, row in enumerate(rows[1:], 2):
        try:
            kind, size, ns, typical = row
            point = Point(int(size), float(ns), float(typical))
        except ValueError:
            raise UsageError(
                f"{path}:{number}: `{visible(','.join(row))[:80]}` is not a point of a curve"
            ) from None
        before = found.setdefault(kind, [])
        if not (0 < point.ns < math.inf and (not before or point.size > before[-1].size)):
            raise UsageError(f"{path}:{number}: sizes must ascend, and latencies must be above zero")
        before.append(point)
    if not found:
        raise UsageError(f"{path}: has no points")
    return {kind: tuple(points) for kind, points in found.items()}
