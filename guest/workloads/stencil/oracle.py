"""The correct answers of stencil.c: the whole grid at once, in numpy.

Takes the parameters and reports of a run; gives nothing if they are correct, else fails with VerifyError.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from benchgate import ParamValue, WorkerReport, equal_share, expect, folded, random_numbers, whole

COLUMNS = 512


@lru_cache(maxsize=4)
def grid(rows: int, steps: int) -> NDArray[np.uint32]:
    """The cells after all steps. Outside of the grid all is 0."""
    cells = np.zeros((rows + 2, COLUMNS + 2), dtype=np.uint32)
    cells[1:-1, 1:-1] = random_numbers(0, rows * COLUMNS).astype(np.uint32).reshape(rows, COLUMNS)
    for _ in range(steps):
        inside = cells[1:-1, 1:-1]
        around = cells[:-2, 1:-1] + cells[2:, 1:-1] + cells[1:-1, :-2] + cells[1:-1, 2:]
        cells[1:-1, 1:-1] = around + np.uint32(5) * (inside ^ inside >> np.uint32(13))
    return cells[1:-1, 1:-1]


def fold(cells: NDArray[np.uint32]) -> int:
    return folded(cells.astype(np.uint64).ravel())


def check(
    params: Mapping[str, ParamValue], reports: Sequence[WorkerReport], result: Mapping[str, int]
) -> None:
    rows, steps = whole(params, "rows"), whole(params, "steps")
    cells = grid(rows, steps)
    for k, report in enumerate(reports):
        lo, hi = equal_share(rows, len(reports), k)
        neighbours = (k > 0) + (k + 1 < len(reports))
        correct = {"lo": lo, "hi": hi, "cells": (hi - lo) * COLUMNS * steps, "halos": neighbours * steps}
        expect(f"worker {report.id}", report.values, {**correct, "fold": fold(cells[lo:hi])})
    expect("the result", result, {"cells": rows * COLUMNS * steps, "fold": fold(cells)})
