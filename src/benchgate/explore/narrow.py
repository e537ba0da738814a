"""The smallest number that still fails, between one that does and one that need not. Pure.

`least` and `farthest` are generators, as `ddmin`: they yield candidates in the order of preference, are sent
the number of the first one that fails (None: none), and return the number. If failing is not monotone, they
return a number that fails next to one that does not, which need not be the smallest. Does not fail.
"""

from __future__ import annotations

from collections.abc import Generator

Search = Generator[list[int], int | None, int]
PARTS = 3
"""How many numbers are tried at once."""


def least(failing: int, above: int = 0, fineness: int = 32) -> Search:
    """The least number that fails, above one that does not; up to a `fineness`th of it."""
    low, high = above, failing
    while high - low > max(1, high // fineness):
        step = (high - low) / (PARTS + 1)
        tried = sorted({low + max(1, int(step * n)) for n in range(1, PARTS + 1)} - {high})
        found = yield tried
        if found is None:
            low = tried[-1]
        else:
            low, high = (tried[found - 1] if found else low), tried[found]
    return high


def farthest(most: int) -> Search:
    """How far something can be moved and still fails: 0 if not at all, `most` at most."""
    reached, step = 0, 1
    while reached < most and (yield [min(step, most)]) == 0:
        reached = min(step, most)
        step *= 2
    low, high = reached, min(step, most)
    while high - low > 1:
        middle = (low + high) // 2
        if (yield [middle]) == 0:
            low = middle
        else:
            high = middle
    return low if reached < most else most
