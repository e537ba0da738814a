"""The C of locks, run on this host: right answers, and lies that are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.base.errors import VerifyError
from tests.nativekit import Lie, broken, refusals, right_answers, run_of, verified_by

pytestmark = pytest.mark.usefixtures("own_cache")


test_every_worker_gives_the_correct_answer = right_answers(
    "locks", {"kind": "tas"}, {"kind": "ttas"}, {"kind": "ticket"}, {"kind": "mcs"}, cpus=(1, 2, 3)
)

LIES = [
    # a lost turn inside and outside of the lock, a take that counts twice, no lock at all
    Lie("locks", "data.count++;", "data.count += 1 + (data.count == 7);", "the sum of all workers"),
    Lie("locks", ".chain, asked.hold)", ".chain, asked.hold - (data.count == 3))", "reported chain="),
    Lie("locks", "own = bench_turns(own, asked.delay);", "(void)own;", "worker"),
    Lie("locks", "_RELAXED) != worker;", "_RELAXED) == worker;", "the result reported met=2000"),
    Lie("locks", "larger(passed, place", "larger(passed, 2000 + place", "the others took the lock"),
]

test_a_lie_is_found = refusals(LIES)


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        ("tas", ".taken, 1, __ATOMIC_ACQUIRE) != 0)\n        bench", ".taken, 1, 0) > 1)\n        bench"),
        ("ticket", "__ATOMIC_ACQUIRE) != ticket)", "__ATOMIC_ACQUIRE) > ticket)"),
        ("mcs", "mine->waits = 1;", "mine->waits = 0;"),
    ],
)
def test_a_lock_that_admits_two_is_found(tmp_path: Path, kind: str, old: str, new: str) -> None:
    """Two holders for 100,000 turns meet, as long as the host lets both workers run before one is done."""
    workload = broken(tmp_path, "locks", old, new)
    with pytest.raises(VerifyError, match=r"the result reported|the sum of all workers reported"):
        verified_by(run_of(tmp_path, workload, 2, kind=kind, takes=200, hold=1_000_000), workload)
