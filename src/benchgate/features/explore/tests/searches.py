"""Answers a search (explore/narrow.py): what it found, and how many candidates were tried,
one after the other."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TypeVar

C = TypeVar("C")
R = TypeVar("R")


def answered(search: Generator[list[C], int | None, R], fails: Callable[[C], bool]) -> tuple[R, int]:
    tried = 0
    try:
        candidates = next(search)
        while True:
            result = None
            for number, one in enumerate(candidates):
                tried += 1
                if fails(one):
                    result = number
                    break
            candidates = search.send(result)
    except StopIteration as end:
        left: R = end.value
        return left, tried
