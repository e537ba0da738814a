"""The oracle of wake, compared with one post at a time."""

from __future__ import annotations

import pytest

from benchgate import OracleRun, ParamValue, VerifyError
from guest.workloads.wake import oracle as wake
from tests.answerkit import MODULUS, Reports, Result, histogram_run, refuses_every_lie, reports_of, turned

ROUNDS, TURNS = 10, 12


def params(pattern: str) -> dict[str, ParamValue]:
    return {"pattern": pattern, "rounds": ROUNDS, "turns": TURNS}


def pong(cpus: int) -> list[dict[str, int]]:
    rows = []
    for pair in range(cpus):
        lo, hi = ROUNDS * pair // cpus, ROUNDS * (pair + 1) // cpus
        number = 2 * pair
        for _ in range(lo, hi):
            number = turned(turned(number, TURNS), TURNS)  # the even worker's turns, then the odd one's
        row = {"lo": lo, "hi": hi, "wakes": hi - lo, "turns": (hi - lo) * TURNS, "number": number}
        rows += [row, row]
    return rows


def fan(cpus: int) -> list[dict[str, int]]:
    share = TURNS // cpus
    posted, made = 0, [0] * cpus
    for _ in range(ROUNDS):
        made = [turned((posted + worker) % MODULUS, share) for worker in range(1, cpus + 1)]
        posted = sum(made) % MODULUS
    task = {"lo": 0, "hi": ROUNDS}
    others = [{**task, "wakes": ROUNDS, "turns": ROUNDS * share, "number": number} for number in made]
    return [{**task, "wakes": 0, "turns": 0, "number": posted}, *others]


def run(rows: list[dict[str, int]], cpus: int, work: int = 10**9) -> OracleRun:
    return histogram_run("wakeup", [row["wakes"] for row in rows], cpus, work)


@pytest.mark.parametrize("cpus", [1, 2, 3, 5])
@pytest.mark.parametrize("pattern", ["pong", "fan"])
def test_every_worker_is_checked(pattern: str, cpus: int) -> None:
    rows = {"pong": pong, "fan": fan}[pattern](cpus)
    result = {"wakes": sum(row["wakes"] for row in rows), "rounds": ROUNDS}

    def check(reports: Reports, found: Result) -> None:
        wake.check(params(pattern), reports, found, run(rows, cpus))

    refuses_every_lie(check, reports_of(rows), result)


def test_a_wake_up_that_was_not_recorded_is_refused() -> None:
    rows = pong(2)
    dropped = histogram_run("wakeup", [5, 5, 4, 5], 2)
    with pytest.raises(VerifyError, match="worker 2 has 4 values in histogram wakeup, expected 5"):
        wake.check(params("pong"), reports_of(rows), {"wakes": 20, "rounds": ROUNDS}, dropped)


def test_wake_ups_longer_than_the_window_are_refused() -> None:
    rows = pong(2)
    with pytest.raises(VerifyError, match="histogram wakeup of worker 0 has 500 ns together, but the work"):
        wake.check(params("pong"), reports_of(rows), {"wakes": 20, "rounds": ROUNDS}, run(rows, 2, work=499))


def test_a_pair_too_few_is_refused() -> None:
    rows = pong(1)
    with pytest.raises(VerifyError, match="2 workers reported, but 2 CPUs need 4"):
        wake.check(params("pong"), reports_of(rows), {"wakes": 20, "rounds": ROUNDS}, run(rows, 2))
