"""The oracle of barrier, compared with one phase and one worker at a time."""

from __future__ import annotations

import pytest

from benchgate import ParamValue, VerifyError
from guest.workloads.barrier import oracle as barrier
from tests.answerkit import MODULUS, folded, mixed, refuses_every_lie, reports_of, turned

PARAMS: dict[str, ParamValue] = {"phases": 6, "turns": 200}


def run(workers: int, skipped: tuple[int, int] | None = None) -> tuple[list[dict[str, int]], dict[str, int]]:
    """What the workers report. `skipped`: this worker's value is made from the phase before the last one."""
    history: list[list[int]] = [[0] * workers, [0] * workers]
    turns = [0] * workers
    for phase in range(6):
        weight = [8 + mixed(phase * 64 + k) % 8 for k in range(workers)]
        share = [200 * w // sum(weight) for w in weight]
        made = []
        for k in range(workers):
            before = history[-2] if skipped == (phase, k) else history[-1]
            made.append(turned((sum(before) + k) % MODULUS, share[k]))
            turns[k] += share[k]
        history.append(made)
    rows = [
        {"phases": 6, "turns": turns[k], "fold": folded([values[k] for values in history[2:]])}
        for k in range(workers)
    ]
    return rows, {"phases": 6, "sum": sum(history[-1]) % MODULUS}


@pytest.mark.parametrize("workers", [1, 2, 3, 8])
def test_every_phase_of_every_worker_is_checked(workers: int) -> None:
    rows, result = run(workers)
    refuses_every_lie(lambda r, s: barrier.check(PARAMS, r, s), reports_of(rows), result)


@pytest.mark.parametrize("phase", range(1, 6))
def test_a_worker_that_enters_a_phase_too_early_is_refused(phase: int) -> None:
    rows, result = run(3, skipped=(phase, 1))
    with pytest.raises(VerifyError, match=r"wrong answer: worker [01] reported fold="):
        barrier.check(PARAMS, reports_of(rows), result)
