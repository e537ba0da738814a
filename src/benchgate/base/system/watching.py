"""The types that say how a boot is watched and how it ends. plan/systemfile/console.py reads it.

Takes the values of `console`, `end` and `smoke`; gives them as frozen types. Nothing fails.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from benchgate.base.runs import Deadlines
from benchgate.base.system.qemu import GOOD_EXIT

REPEAT_BYTES = 64 << 10
"""A console that repeats one byte or a few lines for this long is stopped (0: never). A progress bar of 64 Ki
dots, or 1,600 equal lines of 40 bytes, is still taken for progress."""
DEADLINES = Deadlines(boot_s=60.0, run_s=120.0)


@dataclass(frozen=True, slots=True)
class ConsoleWords:
    """The patterns that are matched while the guest prints; empty where the file has none."""

    ready: str = ""
    failures: tuple[str, ...] = ()
    harmless: tuple[str, ...] = ()
    """Patterns of lines that look like a panic and are none."""
    repeat_bytes: int = REPEAT_BYTES
    online: str = ""
    """A pattern whose group (?P<n>...) is the number of online CPUs; empty if the begin line has it."""
    by_clock: bool = False
    """Whether, in place of a pattern, the instruction clock must show that each vCPU worked in the window."""
    online_lines: str = ""
    """A pattern that matches one line for each CPU that came up, as another way to count them."""

    @property
    def counts_cpus(self) -> bool:
        """Whether a line says how many CPUs came up; the wire format says it without a pattern."""
        return bool(self.online or self.online_lines)


class EndBy(StrEnum):
    EXIT = "exit"  # the guest ends QEMU; `exit_codes` lists the statuses that mean success
    KILL = "kill"  # QEMU is killed after the guest has printed its last result


@dataclass(frozen=True, slots=True)
class End:
    """The ways in which a boot ends well."""

    by: EndBy = EndBy.EXIT
    exit_codes: tuple[int, ...] = (GOOD_EXIT,)
    may_reset: bool = False
    """Whether the guest may end by a reset. A triple fault is a reset too."""


@dataclass(frozen=True, slots=True)
class Smoke:
    """A boot without a workload. It must pass once per CPU count before any figure of that count is valid."""

    append: str
    passes: str
    """The regular expression that its console must match."""
