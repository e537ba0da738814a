"""The oracle of overload, compared with one turn at a time and with the masks that each case means."""

from __future__ import annotations

import pytest

from benchgate import ParamValue, VerifyError
from guest.workloads.overload import oracle as overload
from tests.answerkit import Reports, Result, histogram_run, refuses_every_lie, reports_of, turned

TURNS, ROUNDS = 12, 4


def params(case: str, nodes: int) -> dict[str, ParamValue]:
    return {"case": case, "nodes": nodes, "turns": TURNS, "rounds": ROUNDS}


def row(place: tuple[int, int, int], number: int, left: int) -> dict[str, int]:
    home, may, group = place
    return {"home": home, "may": may, "group": group, "turns": TURNS, "number": number, "left": left}


HOME = (0b0011, 0b1111, 0)
ROWS = {
    # 4 CPUs in 2 nodes: a hog on CPU 2, which is the first of node 1, and three of the group at home
    ("group", 2): [
        row((0b0100, 0b1111, 1), turned(0, TURNS), 0),
        *(row(HOME, turned(worker, TURNS), worker % 2) for worker in (1, 2, 3)),
    ],
    # 4 CPUs in 4 nodes: two threads for the one CPU of node 0, and node 2 is half way round
    ("hops", 4): [row((0b0001, 0b0101, 0), turned(worker, TURNS), worker) for worker in (0, 1)],
    # the even worker of pair i begins with i; the last 3 turns are made by the odd one
    ("wake", 2): [
        row(HOME, turned(pair, 2 * TURNS - (0 if odd else 3)), odd) for pair in range(4) for odd in (0, 1)
    ],
    ("home", 2): [row(HOME, turned(worker, TURNS), 0) for worker in range(4)],
    ("hotplug", 2): [row(HOME, turned(worker, TURNS), 1) for worker in range(4)],
}


@pytest.mark.parametrize(("case", "nodes"), ROWS)
def test_every_worker_is_checked(case: str, nodes: int) -> None:
    rows = ROWS[case, nodes]
    result = {"turns": len(rows) * TURNS, "left": sum(made["left"] for made in rows)}

    def check(reports: Reports, found: Result) -> None:
        overload.check(params(case, nodes), reports, found, histogram_run("none", [], 4))

    refuses_every_lie(check, reports_of(rows), result)


def test_a_pair_too_few_is_refused() -> None:
    rows = reports_of(ROWS["wake", 2][:6])
    with pytest.raises(VerifyError, match="6 workers reported, but case=wake with 4 CPUs has 8"):
        overload.check(params("wake", 2), rows, {"turns": 6 * TURNS, "left": 3}, histogram_run("none", [], 4))


def test_a_worker_that_left_twice_is_refused() -> None:
    rows = [dict(made) for made in ROWS["hotplug", 2]]
    rows[2]["left"] = 2
    with pytest.raises(VerifyError, match="worker 2 reported left=2, which is 0 or 1"):
        overload.check(
            params("hotplug", 2), reports_of(rows), {"turns": 48, "left": 5}, histogram_run("none", [], 4)
        )
