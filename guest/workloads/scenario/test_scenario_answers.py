"""The oracle of scenario, compared with one turn at a time, for plans with each tie between threads."""

from __future__ import annotations

import pytest

from benchgate import OracleRun, ParamValue, VerifyError
from guest.workloads.scenario import oracle as scenario
from tests.answerkit import Reports, Result, refuses_every_lie, reports_of, turned

RUN = OracleRun(2, "ns", 10**9, 10**6, 2 * 10**6, {})


def params(*pieces: str) -> dict[str, ParamValue]:
    values = (*pieces, *["."] * (4 - len(pieces)))
    return {"time_ns": 10**6, **dict(zip(("p1", "p2", "p3", "p4"), values, strict=True))}


def row(worker: int, group: int, rounds: int, turns: int) -> dict[str, int]:
    made = rounds * turns
    return {"group": group, "rounds": rounds, "turns": made, "number": turned(worker, made)}


def result(rows: list[dict[str, int]]) -> dict[str, int]:
    return {key: sum(one[key] for one in rows) for key in ("rounds", "turns")}


DIRECTOR = {"group": 8, "rounds": 2, "turns": 0, "number": 0}
PLANS = {
    "alone": (params("Gt2r3Gr", "4t1k6o2"), [row(0, 0, 5, 3), row(1, 0, 7, 3), row(2, 1, 1, 4)]),
    "pipe": (params("Gt2k3r3"), [row(0, 0, 4, 3), row(1, 0, 4, 3)]),
    "chain": (params("Gt3k4r2"), [row(0, 0, 6, 2), row(1, 0, 6, 2), row(2, 0, 5, 2)]),
    "directed": (params("Gt1r3n25Lw3E", "t0l1w9Et5g0n39"), [row(0, 0, 9, 3), DIRECTOR]),
}


@pytest.mark.parametrize("name", ["alone", "directed"])
def test_every_worker_is_checked(name: str) -> None:
    asked, rows = PLANS[name]

    def check(reports: Reports, found: Result) -> None:
        scenario.check(asked, reports, found, RUN)

    reports = reports_of(rows)
    scenario.check(asked, reports, result(rows), RUN)
    with pytest.raises(VerifyError):
        scenario.check(asked, reports[:-1], result(rows[:-1]), RUN)
    refuses_every_lie(check, reports, result(rows))


@pytest.mark.parametrize("name", ["pipe", "chain"])
def test_threads_that_wake_each_other_are_right(name: str) -> None:
    asked, rows = PLANS[name]
    scenario.check(asked, reports_of(rows), result(rows), RUN)


@pytest.mark.parametrize(
    ("name", "worker", "rounds", "said"),
    [
        ("pipe", 1, 3, "a pipe of group 0 has 4 rounds at one end, 3 at the other"),
        ("chain", 1, 4, r"the chain of group 0 made \[6, 4, 5\] rounds"),
        ("chain", 2, 7, r"made \[6, 6, 7\] rounds"),
    ],
)
def test_a_round_that_one_of_them_did_not_make_is_refused(
    name: str, worker: int, rounds: int, said: str
) -> None:
    asked, rows = PLANS[name]
    turns = rows[worker]["turns"] // rows[worker]["rounds"]
    changed = [*rows]
    changed[worker] = row(worker, 0, rounds, turns)
    with pytest.raises(VerifyError, match=said):
        scenario.check(asked, reports_of(changed), result(changed), RUN)


def test_a_window_that_is_too_short_is_refused() -> None:
    asked, rows = PLANS["alone"]
    short = OracleRun(2, "cycles", 10**8, 5 * 10**4 - 1, 10**6, {})
    with pytest.raises(VerifyError, match="the work window has 49999 cycles, less than half of 1000000 ns"):
        scenario.check(asked, reports_of(rows), result(rows), short)


def test_a_plan_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(VerifyError, match="the plan `Gt1r3X` cannot be read"):
        scenario.check(params("Gt1r3X"), [], {}, RUN)
