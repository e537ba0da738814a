"""Finds that are the same defect, as far as their consoles and the places of their vCPUs tell. Pure.

Takes what is wrong with a run and what it left; gives the name of its group. Numbers are masked, because a
time, an address or a nonce differs in each run. Does not fail.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from benchgate.explore.finding import Kind, Made, Trouble

LAST_LINES = 3
_NUMBER = re.compile(r"0x[0-9a-fA-F]+|\b[0-9a-fA-F]{8,}\b|[0-9]+")
_BY_PLACE = (Kind.HANG,)
"""Their consoles say what happened before; where the vCPUs are says why it does not go on."""
_BY_CONSOLE = (Kind.HANG, Kind.PANIC, Kind.FAILURE, Kind.CRASH)
"""The other kinds have results on the console, which say nothing of the defect."""


ELSEWHERE = " and elsewhere"
"""Behind the last place of a CPU that does not stay in one function: one that looks for work, say."""
STAYS = 0.75
"""A CPU stays in a function if it was seen there that often, of the last times it was looked at."""


def settled(places: Sequence[str]) -> str:
    """The place of a CPU in a guest that hangs. `places`: where it was seen, the last one last."""
    name, times = Counter(map(symbol, places)).most_common(1)[0]
    if times < STAYS * len(places):
        return places[-1] + ELSEWHERE
    return [one for one in places if symbol(one) == name][-1]


def masked(line: str) -> str:
    """The line with `#` for each number."""
    return _NUMBER.sub("#", line)


def symbol(place: str) -> str:
    """`thread_park` of `thread_park+0x1c`."""
    return "no one place" if place.endswith(ELSEWHERE) else place.partition("+")[0]


def group_of(found: Trouble, made: Made) -> str:
    """One line. Two finds with the same one are counted as one defect."""
    parts = [str(found.kind)]
    if found.kind in _BY_PLACE and made.places:
        parts.append(f"at {', '.join(sorted(map(symbol, made.places)))}")
    if found.kind in _BY_CONSOLE:
        parts += [masked(line) for line in made.last_lines[-LAST_LINES:]]
    elif found.kind is not Kind.SLOW:
        parts.append(masked(found.what))
    return " | ".join(parts)
