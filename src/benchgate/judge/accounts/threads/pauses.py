"""What is worked out once of a schedule: where its threads waited, and where CPUs idled meanwhile.

Takes a `Schedule`; gives its waits and its stretches of idleness, when they are first asked for. Pure;
nothing fails.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from benchgate.judge.accounts.threads.books import WastedStretch
from benchgate.judge.accounts.threads.idleness import find_idleness
from benchgate.judge.accounts.threads.lateness import PlainWait, find_waits
from benchgate.judge.accounts.threads.schedule import Schedule


@dataclass(frozen=True)
class SchedulePauses:
    schedule: Schedule

    @cached_property
    def waits(self) -> Sequence[PlainWait]:
        """By length, the longest first."""
        return find_waits(self.schedule)

    @property
    def wasted(self) -> Sequence[WastedStretch]:
        """Where a CPU idled although a thread waited that may run there, by time."""
        return self._idleness[0]

    @property
    def excused(self) -> Sequence[WastedStretch]:
        return self._idleness[1]

    @cached_property
    def _idleness(self) -> tuple[tuple[WastedStretch, ...], tuple[WastedStretch, ...]]:
        return find_idleness(self.schedule)
