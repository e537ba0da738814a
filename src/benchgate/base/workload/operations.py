"""How the machine itself measures a workload's histograms: `machine:` of a workload's YAML as types.

Takes plain values, gives frozen objects. `begins` and `ends` are names of calls: `syscalls.NAME`,
`program.NAME`, and for a begin also `wake`. Nothing fails.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

WAKE = "wake"
"""The call in which another thread woke this one."""
PROGRAM, SYSCALLS = "program.", "syscalls."
CALL = re.compile(r"(?:syscalls|program)\.[a-z_][a-z0-9_]{0,29}")
MOST_OPERATIONS, MOST_OF_OPERATION, LONGEST_NAME = 4, 32, 32
"""The histograms of a workload (BENCH_HISTS), the calls that begin or end a span of one, and the most
characters of its name."""


@dataclass(frozen=True, slots=True)
class SpanRule:
    """A span of one thread: from the entry of a call to the exit of the last one before the next begins."""

    begins: tuple[str, ...]
    ends: tuple[str, ...]

    @property
    def is_wake(self) -> bool:
        return WAKE in self.begins


def functions(operations: Iterable[SpanRule]) -> tuple[str, ...]:
    """The functions of the program that they name."""
    names = (name for operation in operations for name in (*operation.begins, *operation.ends))
    return tuple(dict.fromkeys(name.removeprefix(PROGRAM) for name in names if name.startswith(PROGRAM)))
