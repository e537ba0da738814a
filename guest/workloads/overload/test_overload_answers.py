"""The oracle of overload, compared with one turn at a time and with the masks that each case means."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchgate import ParamValue, VerifyError, WorkerReport
from guest.workloads.overload import oracle as overload
from tests.answerkit import Reports, Result, histogram_run, refuses_every_lie, reports_of, turned

TURNS, ROUNDS = 12, 4


def params(case: str, nodes: int) -> dict[str, ParamValue]:
    return {"case": case, "nodes": nodes, "turns": TURNS, "rounds": ROUNDS}


def row(place: tuple[int, int, int], number: int) -> dict[str, int]:
    home, may, group = place
    return {"home": home, "may": may, "group": group, "turns": TURNS, "number": number}


HOME = (0b0011, 0b1111, 0)
ROWS = {
    # 4 CPUs in 2 nodes: a hog on CPU 2, which is the first of node 1, and three of the group at home
    ("group", 2): [
        row((0b0100, 0b1111, 1), turned(0, TURNS)),
        *(row(HOME, turned(worker, TURNS)) for worker in (1, 2, 3)),
    ],
    # 4 CPUs in 4 nodes: two threads for the one CPU of node 0, and node 2 is half way round
    ("hops", 4): [row((0b0001, 0b0101, 0), turned(worker, TURNS)) for worker in (0, 1)],
    # the even worker of pair i begins with i; the last 3 turns are made by the odd one
    ("wake", 2): [
        row(HOME, turned(pair, 2 * TURNS - (0 if odd else 3))) for pair in range(4) for odd in (0, 1)
    ],
    ("home", 2): [row(HOME, turned(worker, TURNS)) for worker in range(4)],
    ("hotplug", 2): [row(HOME, turned(worker, TURNS)) for worker in range(4)],
}
ENDED = {
    ("group", 2): ([2, 2, 0, 3], 2),
    ("hops", 4): ([0, 2], 1),
    ("wake", 2): ([0, 1, 2, 3, 0, 2, 2, 1], 4),
    ("home", 2): ([1, 1, 0, 0], 0),
    ("hotplug", 2): ([2, 2, 3, 3], 4),
}
"""The CPU on which each worker ended, and how many of these are not its home."""


def reports(case: str, nodes: int) -> list[WorkerReport]:
    ended, _ = ENDED[case, nodes]
    made = zip(reports_of(ROWS[case, nodes]), ended, strict=True)
    return [replace(report, cpu_end=cpu) for report, cpu in made]


@pytest.mark.parametrize(("case", "nodes"), ROWS)
def test_every_worker_is_checked(case: str, nodes: int) -> None:
    result = {"turns": len(ROWS[case, nodes]) * TURNS, "left": ENDED[case, nodes][1]}

    def check(reports: Reports, found: Result) -> None:
        overload.check(params(case, nodes), reports, found, histogram_run("none", [], 4))

    refuses_every_lie(check, reports(case, nodes), result)


def test_a_pair_too_few_is_refused() -> None:
    rows = reports("wake", 2)[:6]
    with pytest.raises(VerifyError, match="6 workers reported, but case=wake with 4 CPUs has 8"):
        overload.check(params("wake", 2), rows, {"turns": 6 * TURNS, "left": 3}, histogram_run("none", [], 4))


def test_who_left_follows_from_where_the_workers_ended() -> None:
    rows = reports("hotplug", 2)
    rows[2] = replace(rows[2], cpu_end=1)
    with pytest.raises(VerifyError, match="the result reported left=4, expected left=3"):
        overload.check(params("hotplug", 2), rows, {"turns": 48, "left": 4}, histogram_run("none", [], 4))
