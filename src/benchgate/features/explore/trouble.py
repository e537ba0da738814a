"""What is a find: one run, what is wrong with it, and which finds are the same defect. Pure.

Takes what was made of one run; gives its kind and a sentence, or None, and the name of its group. A run is
compared with the first verified runs of its cell to see whether it is slow. Two finds are the same defect as
far as their consoles and the places of their vCPUs tell; numbers are masked, because a time, an address or a
nonce differs in each run. Does not fail.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median

from benchgate.base.runs import Ending
from benchgate.base.workload.metrics import time_text
from benchgate.insn.explore_log import Delay

MEDIAN_OF = 15
"""So many verified runs of a cell give the median with which later ones are compared."""
LAST_LINES = 3
_NUMBER = re.compile(r"0x[0-9a-fA-F]+|\b[0-9a-fA-F]{8,}\b|[0-9]+")


ELSEWHERE = " and elsewhere"
"""Behind the last place of a CPU that does not stay in one function: one that looks for work, say."""
STAYS = 0.75
"""A CPU stays in a function if it was seen there that often, of the last times it was looked at."""


class TroubleKind(StrEnum):
    HANG = "hang"
    PANIC = "panic"
    FAILURE = "failure"
    """A failure pattern of the system's YAML, a failed check, or an exit status that means failure."""
    WRONG = "wrong-answer"
    """The guest ended well, and its answers, windows or lines are not right."""
    UNUSED = "unused-cpu"
    """The answers are right, and a CPU that the row counts did no work for them."""
    BOOKS = "books"
    """A vCPU's time does not add up."""
    SLOW = "slow"
    CRASH = "crash"
    """QEMU ended, or the guest flooded its console."""


@dataclass(frozen=True, slots=True)
class RunObservation:
    """What one run was."""

    ending: Ending
    reason: str
    """Why it has no result; empty if it was verified."""
    work_ns: int | None = None
    """The timed window of a verified run; None of a smoke, which has none."""
    end_ns: int | None = None
    """The guest's time at its end, or when it was last seen."""
    steps: int | None = None
    """Its synchronising instructions; None: not counted."""
    stalls: tuple[Delay, ...] = ()
    all_stalls: int = 0
    """How many there were. Above the log's cap `stalls` has only the first ones."""
    delayed_ns: int = 0
    """The sum by which the stalls delayed all vCPUs."""
    unbalanced: str = ""
    """Why a vCPU's books do not balance."""
    last_lines: tuple[str, ...] = ()
    """The last lines of its console that are not blank, safe to show."""
    report: tuple[str, ...] = ()
    """What its kernel reported of itself (kernel_report.py), safe to show."""
    typed_ns: int | None = None
    """When the first line was typed at its prompt; None: nothing was."""
    places: tuple[str, ...] = ()
    """Where each vCPU was at the end, as symbol+offset; empty if that is not known."""
    cpus_used: float | None = None
    """How many CPUs were awake in the window, on average."""
    unused: str = ""
    """That a CPU had no work, although it should; the answers are right. Of a verified run, too."""

    @property
    def is_whole(self) -> bool:
        """Whether every stall is known, so that the list of them makes the run again."""
        return len(self.stalls) == self.all_stalls


@dataclass(frozen=True, slots=True)
class Trouble:
    """What is wrong with one run."""

    kind: TroubleKind
    what: str


_OF_ENDING = {
    Ending.BOOT_DEADLINE: TroubleKind.HANG,
    Ending.RUN_DEADLINE: TroubleKind.HANG,
    Ending.PANIC: TroubleKind.PANIC,
    Ending.FAILED: TroubleKind.FAILURE,
    Ending.DONE: TroubleKind.WRONG,
}


def trouble(made: RunObservation, usual_ns: float | None, slower: float) -> Trouble | None:
    """`usual_ns`: the cell's median window, if it is known; `slower`: how many times that is slow."""
    if made.unbalanced:
        return Trouble(TroubleKind.BOOKS, made.unbalanced)
    if made.unused and not _is_stalled(made):
        return Trouble(TroubleKind.UNUSED, made.unused)
    if made.reason:
        return Trouble(_OF_ENDING.get(made.ending, TroubleKind.CRASH), made.reason)
    if usual_ns and made.work_ns is not None:
        own_ns = made.work_ns - made.delayed_ns
        if own_ns > slower * usual_ns:
            stalls = " without its stalls" if made.delayed_ns else ""
            used = (
                f"; {made.cpus_used:.1f} of its CPUs were awake in it" if made.cpus_used is not None else ""
            )
            what = f"its window of {time_text(own_ns)}{stalls} is {own_ns / usual_ns:.1f} times the median of"
            return Trouble(TroubleKind.SLOW, f"{what} {time_text(usual_ns)}{used}")
    return None


def _is_stalled(made: RunObservation) -> bool:
    """Whether its stalls may be why a verified run left a CPU without work: they are half of its window."""
    return made.work_ns is not None and 2 * made.delayed_ns >= made.work_ns


def usual(windows: Sequence[int]) -> float | None:
    """The median of a cell's first verified windows, in the order of their numbers; None if there are not
    enough. It stays the same however many runs follow."""
    return median(windows[:MEDIAN_OF]) if len(windows) >= MEDIAN_OF else None


_BY_PLACE = (TroubleKind.HANG,)
"""Their consoles say what happened before; where the vCPUs are says why it does not go on."""
_BY_CONSOLE = (TroubleKind.HANG, TroubleKind.PANIC, TroubleKind.FAILURE, TroubleKind.CRASH)
"""In the others the console has the results, which say nothing of the defect."""
_BY_KIND = (TroubleKind.SLOW, TroubleKind.UNUSED)
"""Threads that are badly placed leave another CPU without work in each run: that is one defect."""


def settled(places: Sequence[str]) -> str:
    """Where a CPU of a guest that hangs is. `places`: where it was seen, the last one last."""
    name, times = Counter(map(symbol, places)).most_common(1)[0]
    if times < STAYS * len(places):
        return places[-1] + ELSEWHERE
    return [place for place in places if symbol(place) == name][-1]


def masked(line: str) -> str:
    """The line with `#` for each number."""
    return _NUMBER.sub("#", line)


def symbol(place: str) -> str:
    """`thread_park` of `thread_park+0x1c`."""
    return "no one place" if place.endswith(ELSEWHERE) else place.partition("+")[0]


def group_of(found: Trouble, made: RunObservation) -> str:
    """One line. Two finds with the same one are counted as one defect."""
    parts = [str(found.kind)]
    if found.kind in _BY_PLACE and made.places:
        parts.append(f"at {', '.join(sorted(map(symbol, made.places)))}")
    if found.kind in _BY_CONSOLE:
        parts += [masked(line) for line in made.report or made.last_lines[-LAST_LINES:]]
    elif found.kind not in _BY_KIND:
        parts.append(masked(found.what))
    return " | ".join(parts)
