"""Whether samples fall into groups, so that their median is that of none of them: two regimes of one system.

Takes samples, the least distance of two groups and a floor for it; gives the places of the samples of each
group, the smallest figures first. One group: there are no regimes. Uses no random numbers. A sample that is
not finite, or no sample at all, fails with ValueError.

Sorted samples are cut where the gap to the next one is at least the share `apart` of the larger one, and at
least `floor`. Noise of any size has gaps, too; so a gap between groups must also be REACH times as long as
each group beside it, and at most one in LONERS samples may stand alone. A single sample has no length, and
with more of them anything is a group.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from benchgate.base.statistics.stats import require_finite

REACH = 2.0
LONERS = 3

Groups = tuple[tuple[int, ...], ...]


def regimes(samples: Sequence[float], apart: float, floor: float = 0.0) -> Groups:
    """The places of each group's samples, in the order of `samples`. `apart` 0: there are no groups."""
    require_finite(samples)
    order = sorted(range(len(samples)), key=lambda place: (samples[place], place))
    whole: Groups = (tuple(sorted(order)),)
    if not apart:
        return whole
    parts = _cut(order, samples, apart, floor)
    while len(parts) > 1 and (weak := _weakest(parts, samples)) is not None:
        parts[weak : weak + 2] = [parts[weak] + parts[weak + 1]]
    loners = sum(len(part) == 1 for part in parts)
    if len(parts) == 1 or loners * LONERS > len(samples):
        return whole
    return tuple(tuple(sorted(part)) for part in parts)


def _cut(order: Sequence[int], samples: Sequence[float], apart: float, floor: float) -> list[list[int]]:
    parts = [[order[0]]]
    for place, following in itertools.pairwise(order):
        low, high = samples[place], samples[following]
        if high - low >= max(floor, apart * max(abs(low), abs(high))) and high > low:
            parts.append([])
        parts[-1].append(following)
    return parts


def _weakest(parts: Sequence[Sequence[int]], samples: Sequence[float]) -> int | None:
    """The first of the gaps that are shortest beside their groups; None if all are long enough."""
    spare = []
    for n, (one, two) in enumerate(itertools.pairwise(parts)):
        length = max(samples[part[-1]] - samples[part[0]] for part in (one, two))
        gap = samples[two[0]] - samples[one[-1]]
        if gap < REACH * length:
            spare.append((gap / length, n))
    return min(spare)[1] if spare else None
