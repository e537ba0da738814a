"""The oracle of spawn, compared with one errand at a time."""

from __future__ import annotations

from itertools import pairwise

import pytest

from benchgate import ParamValue, VerifyError
from guest.workloads.spawn import oracle as spawn
from tests.answerkit import MODULUS, folded, mixed, refuses_every_lie, reports_of, turned

PARAMS: dict[str, ParamValue] = {"kind": "thread", "errands": 11, "grain": 4, "live": 1}
ANSWERS = [turned(mixed(i), 4) for i in range(11)]
RESULT = {"lost": 0, "twice": 0, "fold": folded(ANSWERS)}


def rows(workers: int) -> list[dict[str, int]]:
    cuts = [11 * k // workers for k in range(workers + 1)]
    return [
        {"lo": lo, "hi": hi, "made": hi - lo, "sum": sum(ANSWERS[lo:hi]) % MODULUS, "elsewhere": hi - lo}
        for lo, hi in pairwise(cuts)
    ]


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_every_errand_is_checked(workers: int) -> None:
    refuses_every_lie(lambda r, s: spawn.check(PARAMS, r, s), reports_of(rows(workers)), RESULT)


def test_an_answer_that_was_read_before_the_errand_was_done_is_refused() -> None:
    early = rows(2)
    early[1] = {**early[1], "sum": (early[1]["sum"] - ANSWERS[9]) % MODULUS}
    with pytest.raises(VerifyError, match="worker 1 reported sum="):
        spawn.check(PARAMS, reports_of(early), RESULT)
