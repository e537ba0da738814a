"""Makes a list smaller while it still fails: delta debugging. Pure.

Zeller, Hildebrandt: Simplifying and Isolating Failure-Inducing Input (IEEE TSE 28, 2002), algorithm ddmin.
`ddmin` is a generator: it yields candidates in the order of preference, is sent the number of the first one
that fails (None: none of them), and returns the list that is left, of which each element is needed. The
caller may try several candidates at once. Does not fail.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from itertools import pairwise
from typing import TypeVar

T = TypeVar("T")
Search = Generator[list[tuple[T, ...]], int | None, tuple[T, ...]]


def ddmin(failing: Sequence[T]) -> Search[T]:
    left, parts = tuple(failing), 2
    if left and (yield [()]) == 0:
        return ()
    while len(left) > 1:
        pieces = _pieces(left, parts)
        rests = [_without(pieces, n) for n in range(len(pieces))] if parts > 2 else []
        candidates = [*pieces, *rests]
        found = yield candidates
        if found is None:
            if parts >= len(left):
                break
            parts = min(2 * parts, len(left))
            continue
        left = candidates[found]
        parts = 2 if found < len(pieces) else max(parts - 1, 2)
    return left


def _pieces(whole: tuple[T, ...], parts: int) -> list[tuple[T, ...]]:
    """Nearly equal, none empty."""
    ends = [len(whole) * n // parts for n in range(parts + 1)]
    return [whole[a:b] for a, b in pairwise(ends) if a < b]


def _without(pieces: Sequence[tuple[T, ...]], at: int) -> tuple[T, ...]:
    return tuple(one for n, piece in enumerate(pieces) if n != at for one in piece)
