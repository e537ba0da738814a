"""The work of guest/work.h in closed form: random numbers, turns, folds, equal shares.

Takes numbers or arrays of 64-bit words; gives arrays of words, or numbers. All sums and products are modulo
2^64. Nothing fails. Exported from `benchgate`, for oracles.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]

_MODULUS = 2**64
TURN = (6364136223846793005, 1442695040888963407)
"""The factor and the addend of one turn."""
FOLD = 0x9FB21C651E98DF25


def random_numbers(first: int, end: int, seed: int = 0) -> Words:
    """Elements first..end-1 of the splitmix64 sequence for this seed."""
    z = (np.arange(first, end, dtype=np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z += np.uint64(seed)
    z = (z ^ z >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    found: Words = z ^ z >> np.uint64(31)
    return found


def after_turns(start: Words, turns: Words | int) -> Words:
    """What `turns` turns make of each number. 2 * n turns are the map of n turns, applied to itself; so each
    bit of a number of turns takes one multiplication."""
    value, left = np.broadcast_arrays(start, np.asarray(turns, dtype=np.uint64))
    factor, addend = TURN
    while left.any():
        odd = (left & np.uint64(1)).astype(bool)
        value = np.where(odd, value * np.uint64(factor) + np.uint64(addend), value)
        factor, addend = factor * factor % _MODULUS, addend * (factor + 1) % _MODULUS
        left = left >> np.uint64(1)
    return np.array(value, dtype=np.uint64)


def after_turns_from(start: int, turns: int) -> int:
    """Turns one number any number of times: after 2^64 turns every number is what it was."""
    return int(after_turns(np.array([start % _MODULUS], dtype=np.uint64), turns % _MODULUS)[0])


def total(values: Words) -> int:
    return int(values.sum(dtype=np.uint64))


def folded(values: Words) -> int:
    """fold * FOLD + value over all values in their order, from 0."""
    powers = np.full(len(values), FOLD, dtype=np.uint64)
    powers[:1] = 1
    return total(values[::-1] * np.multiply.accumulate(powers))


def equal_share(items: int, workers: int, worker: int) -> tuple[int, int]:
    """The part of 0..items-1 that bench_share() gives to a worker: from lo up to but not including hi."""
    return items * worker // workers, items * (worker + 1) // workers
