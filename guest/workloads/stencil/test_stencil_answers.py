"""The oracle of stencil, compared with one cell at a time."""

from __future__ import annotations

import pytest

from benchgate import ParamValue, VerifyError
from guest.workloads.stencil import oracle as stencil
from tests.answerkit import folded, mixed, refuses_every_lie, reports_of

ROWS, STEPS, COLUMNS = 6, 3, 512
PARAMS: dict[str, ParamValue] = {"rows": ROWS, "steps": STEPS}

Grid = list[list[int]]


def grid(stale: tuple[int, int] | None = None) -> Grid:
    """All cells after all steps. `stale`: in this step this row still sees the row above as it was before."""
    now = [[mixed(r * COLUMNS + c) % 2**32 for c in range(COLUMNS)] for r in range(ROWS)]
    before = now
    for step in range(STEPS):
        upper = before if stale and stale[0] == step else now
        now, before = (
            [
                [next_cell(now, upper if stale and stale[1] == r else now, r, c) for c in range(COLUMNS)]
                for r in range(ROWS)
            ],
            now,
        )
    return now


def next_cell(now: Grid, upper: Grid, r: int, c: int) -> int:
    above = upper[r - 1][c] if r > 0 else 0
    below = now[r + 1][c] if r + 1 < ROWS else 0
    left = now[r][c - 1] if c > 0 else 0
    right = now[r][c + 1] if c + 1 < COLUMNS else 0
    return (above + below + left + right + 5 * (now[r][c] ^ now[r][c] >> 13)) % 2**32


def fold(rows: Grid) -> int:
    return folded([cell for row in rows for cell in row])


def run(workers: int, cells: Grid) -> tuple[list[dict[str, int]], dict[str, int]]:
    rows = []
    for k in range(workers):
        lo, hi = ROWS * k // workers, ROWS * (k + 1) // workers
        halos = STEPS * ((k > 0) + (k < workers - 1))
        rows.append(
            {
                "lo": lo,
                "hi": hi,
                "cells": (hi - lo) * COLUMNS * STEPS,
                "halos": halos,
                "fold": fold(cells[lo:hi]),
            }
        )
    return rows, {"cells": ROWS * COLUMNS * STEPS, "fold": fold(cells)}


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_every_block_is_checked(workers: int) -> None:
    rows, result = run(workers, grid())
    refuses_every_lie(lambda r, s: stencil.check(PARAMS, r, s), reports_of(rows), result)


def test_a_halo_of_the_step_before_is_refused() -> None:
    rows, result = run(2, grid(stale=(1, 3)))
    with pytest.raises(VerifyError, match=r"wrong answer: worker [01] reported fold="):
        stencil.check(PARAMS, reports_of(rows), result)
