"""How the machine itself measures a workload's histograms: `machine:` of a workload's YAML as types.

Takes plain values, gives frozen objects. `begins` and `ends` are names of calls: `syscalls.NAME`,
`program.NAME`, for a begin also `wake`, and for an end `record.NUMBER`. Nothing fails.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from benchgate.base.workload.witness import is_chosen

WAKE = "wake"
"""The call in which another thread woke this one."""
PROGRAM, SYSCALLS = "program.", "syscalls."
RECORDER, RECORD = "bench_record", re.compile(r"record\.([0-3])")
"""The harness's function that puts a value into a histogram, and the word for its call with the workload's
histogram of that number."""
SLEEPER = PROGRAM + "port_sleep_until"
"""The harness's function whose first argument is the time until which it sleeps, by the program's clock."""
CALL = re.compile(r"(?:syscalls|program)\.[a-z_][a-z0-9_]{0,29}")
MOST_OPERATIONS, MOST_OF_OPERATION, LONGEST_NAME = 4, 32, 32
"""The histograms of a workload (BENCH_HISTS), the calls that begin or end a span of one, and the most
characters of its name."""


@dataclass(frozen=True, slots=True)
class SpanRule:
    """A span of one thread: from the entry of a call to the exit of the last one before the next begins.
    `record.NUMBER`: each value that the program records is the calls since the last one, together, from
    entry to exit, or the time since the wake-up, which a call that woke nobody may have asked for, too."""

    begins: tuple[str, ...]
    ends: tuple[str, ...]
    when: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    """Maps parameters to the choices with which it is measured; empty: always."""

    @property
    def is_wake(self) -> bool:
        return WAKE in self.begins

    @property
    def record(self) -> int | None:
        """The number of the program's histogram whose records are the values; None: the spans are."""
        found = (RECORD.fullmatch(name) for name in self.ends)
        return next((int(match[1]) for match in found if match), None)

    def is_made(self, params: Mapping[str, object]) -> bool:
        return is_chosen(self.when, params)
