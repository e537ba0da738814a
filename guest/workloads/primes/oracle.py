"""The correct answers of primes.c, from a sieve instead of divisions.

Takes the parameters and reports of a run; gives nothing if they are correct, else fails with VerifyError. The
number of divisions follows from a number's smallest prime factor p: trying 2, 3, 5, 7, 9 ... up to p takes 1
division for p = 2, else (p + 1) / 2. For a prime all of these up to its square root are tried.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from benchgate import (
    ParamValue,
    VerifyError,
    WorkerReport,
    all_in_one,
    equal_cost,
    equal_width,
    expect,
    ranges,
    whole,
)

_SEGMENT = 2**18


@lru_cache(maxsize=4)
def table(hi: int) -> tuple[NDArray[np.int64], NDArray[np.uint16]]:
    """The primes up to hi, and the number of divisions for each number 0..hi."""
    base = _small_primes(int(hi**0.5) + 1)
    divisions = np.zeros(hi + 1, dtype=np.uint16)
    primes = []
    for first in range(0, hi + 1, _SEGMENT):
        end = min(first + _SEGMENT, hi + 1)
        factor = _smallest_factors(first, end, base)
        divisions[first:end] = _divisions(first, end, factor)
        found = np.flatnonzero(factor == 0) + first
        primes.append(found[found >= 2])
    return np.concatenate(primes), divisions


def _small_primes(limit: int) -> list[int]:
    return [n for n in range(2, limit + 1) if all(n % d for d in range(2, int(n**0.5) + 1))]


def _smallest_factors(first: int, end: int, base: list[int]) -> NDArray[np.int64]:
    """The smallest prime factor of each number in first..end-1; 0 for a prime (and for 0 and 1)."""
    factor = np.zeros(end - first, dtype=np.int64)
    for p in reversed(base):  # in descending order, so that a smaller factor overwrites a larger one
        start = max(p * p, (first + p - 1) // p * p)
        if start < end:
            factor[start - first :: p] = p
    return factor


def _divisions(first: int, end: int, factor: NDArray[np.int64]) -> NDArray[np.int64]:
    root = np.floor(np.sqrt(np.arange(first, end, dtype=np.float64))).astype(np.int64)
    of_prime = np.where(root < 2, 0, 1 + (root - 1) // 2)
    of_composite = np.where(factor == 2, 1, (factor + 1) // 2)
    return np.where(factor == 0, of_prime, of_composite)


def answer(hi: int, lo: int, end: int) -> dict[str, int]:
    """Count and sum of the primes in lo..end-1, and the number of divisions to find them."""
    primes, divisions = table(hi)
    inside = primes[np.searchsorted(primes, lo) : np.searchsorted(primes, end)]
    return {
        "count": len(inside),
        "sum": int(inside.sum()),
        "divs": int(divisions[lo:end].sum(dtype=np.int64)),
    }


def check(
    params: Mapping[str, ParamValue], reports: Sequence[WorkerReport], result: Mapping[str, int]
) -> None:
    hi = whole(params, "hi")
    for report, (lo, end) in zip(reports, ranges(reports, 2, hi + 1), strict=True):
        expect(f"worker {report.id}", report.values, {"lo": lo, "hi": end, **answer(hi, lo, end)})
    expect("the result", result, answer(hi, 2, hi + 1))
    _check_split(str(params["split"]), hi, reports)


def _check_split(split: str, hi: int, reports: Sequence[WorkerReport]) -> None:
    """Checks that the work was divided as requested; otherwise a negative control would be meaningless."""
    match split:
        case "cost":
            equal_cost(reports, "divs", grain=int(hi**0.5))
        case "one":
            all_in_one(reports)
        case "width":
            equal_width(reports, 2, hi + 1)
        case _:
            raise VerifyError(f"parameter split={split} is not cost, one or width")
