"""The oracle of streamer, compared with two lists that are copied word by word."""

from __future__ import annotations

import pytest

from benchgate import ParamValue, VerifyError
from guest.workloads.streamer import oracle as streamer
from tests.answerkit import MODULUS, mixed, refuses_every_lie, reports_of, turned

PARAMS: dict[str, ParamValue] = {"array_kb": 64, "passes": 3, "stride": 1024}
WORDS = 64


def row(lo: int, hi: int, stale: int = -1) -> dict[str, int]:
    """What a worker reports. Word `stale` is not written in the second pass."""
    array, total = [mixed(i) for i in range(lo, hi)], 0
    other = [0] * len(array)
    for turn in range(3):
        total += sum(array)
        before, other = other, [turned(word, 1) for word in array]
        if turn == 1 and lo <= stale < hi:
            other[stale - lo] = before[stale - lo]
        array, other = other, array
    words = hi - lo
    return {
        "lo": lo,
        "hi": hi,
        "written": 3 * words,
        "read": 4 * words,
        "sum": (total + sum(array)) % MODULUS,
    }


def rows(workers: int, stale: int = -1) -> tuple[list[dict[str, int]], dict[str, int]]:
    cuts = [WORDS * k // workers for k in range(workers + 1)]
    result = [row(cuts[k], cuts[k + 1], stale) for k in range(workers)]
    return result, {"sum": sum(one["sum"] for one in result) % MODULUS}


@pytest.mark.parametrize("workers", [1, 2, 3, 5])
def test_every_word_of_every_pass_is_checked(workers: int) -> None:
    found, result = rows(workers)
    refuses_every_lie(lambda r, s: streamer.check(PARAMS, r, s), reports_of(found), result)


def test_a_word_that_was_not_written_is_refused() -> None:
    found, result = rows(2, stale=40)
    with pytest.raises(VerifyError, match="worker 1 reported sum="):
        streamer.check(PARAMS, reports_of(found), result)
