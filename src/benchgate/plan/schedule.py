"""Decides how many runs each cell gets, and in which order the arms of a sweep alternate.

Takes planned cells and the options, gives counts and orders. Pure; nothing fails.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from benchgate.base.cells import Lane
from benchgate.base.gates import Policy
from benchgate.plan.options import Options
from benchgate.plan.planned import PlannedCell, SweepPlan


def run_order(arms: Sequence[str], rounds: int, seed: int) -> tuple[str, ...]:
    """A counterbalanced order: each round contains every arm once, and every second round is reversed.

    A linear drift of the host then affects all arms equally over two rounds.
    """
    start = list(arms)
    random.Random(seed).shuffle(start)  # noqa: S311
    return tuple(arm for k in range(rounds) for arm in (start if k % 2 == 0 else start[::-1]))


def runs_of(cell: PlannedCell, options: Options) -> int:
    return options.seeds if cell.seats.lane is Lane.INSN else options.runs


def warmups_of(cell: PlannedCell, policy: Policy) -> int:
    """The number of discarded runs before the first counted one. The instruction clock needs none."""
    return 0 if cell.seats.lane is Lane.INSN else policy.warmups


def expected_runs(sweep: SweepPlan, options: Options, policy: Policy) -> int:
    """The number of runs up to the first look, with warm-ups and the instruction clock's repeated seeds."""
    runs = sum(runs_of(cell, options) + warmups_of(cell, policy) for cell in sweep.runnable)
    return runs + len(sweep.repeated)
