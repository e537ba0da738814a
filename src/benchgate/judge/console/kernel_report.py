"""Reads what a Linux kernel reported of itself, so that finds with one report are one defect. Pure.

Takes the lines of a console; gives the headline of the first report and what tells it from others with the
same headline: the locks of lockdep and where they are taken, and the function in which the kernel was.
Empty if there is no report. Lines are untrusted: what is given is cut, and has no timestamps. Does not fail.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

LONGEST = 160
_NEAR, _FAR = 12, 60
"""So many lines below its headline a report says which locks, and where the kernel was."""
_MOST_LOCKS = 2
_STAMP = re.compile(r"(?:\[[^\]]*\] ?)*")
_HEADLINE = re.compile(
    r"(?:BUG: |WARNING: |INFO: trying to register|Oops: |UBSAN: |rv: |Kernel panic|"
    r"(?:general protection fault|kernel BUG at)\b)"
)
_LOCK = re.compile(r"\((\S{1,80})\)\{\S{1,20}\}.* at: ([\w.]{1,80})")
_PLACE = re.compile(r"RIP: [0-9a-fA-F]+:([\w.]{1,80})\+0x")


def kernel_report(lines: Sequence[str]) -> tuple[str, ...]:
    bare = [line[found.end() :] if (found := _STAMP.match(line)) else line for line in lines]
    first = next((number for number, line in enumerate(bare) if _HEADLINE.match(line)), None)
    if first is None:
        return ()
    near = bare[first : first + _NEAR]
    locks = [f"{match[1]} at {match[2]}" for line in near if (match := _LOCK.search(line))]
    places = [f"in {match[1]}" for line in bare[first : first + _FAR] if (match := _PLACE.match(line))]
    return (bare[first][:LONGEST].rstrip(), *(locks[:_MOST_LOCKS] or places[:1]))
