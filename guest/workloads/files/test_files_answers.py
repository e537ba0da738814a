"""The oracle of files, compared with one word of one block at a time."""

from __future__ import annotations

import pytest

from benchgate import ParamValue, VerifyError
from guest.workloads.files import oracle as files
from tests.answerkit import folded, mixed, refuses_every_lie, reports_of, turned

COUNT, BLOCKS, ROUNDS = 5, 2, 3
WORDS = 128
PARAMS: dict[str, ParamValue] = {"count": COUNT, "blocks": BLOCKS, "block_kb": 1, "rounds": ROUNDS}


def content(turn: int, number: int, block: int) -> list[int]:
    word, result = mixed((turn * COUNT + number) * BLOCKS + block), []
    for _ in range(WORDS):
        result.append(word)
        word = turned(word, 1)
    return result


def everything(lo: int, hi: int) -> list[int]:
    return [
        word
        for turn in range(ROUNDS)
        for number in range(lo, hi)
        for block in range(BLOCKS)
        for word in content(turn, number, block)
    ]


def rows(workers: int, flipped: int = -1) -> tuple[list[dict[str, int]], dict[str, int]]:
    """What the workers report. One bit of the word `flipped` that worker 0 reads is wrong."""
    result = []
    for k in range(workers):
        lo, hi = COUNT * k // workers, COUNT * (k + 1) // workers
        words = everything(lo, hi)
        if k == 0 and flipped >= 0:
            words[flipped] ^= 1 << 40
        blocks = (hi - lo) * BLOCKS * ROUNDS
        result.append(
            {
                "lo": lo,
                "hi": hi,
                "written": blocks,
                "read": blocks,
                "syncs": (hi - lo) * ROUNDS,
                "digest": folded(words),
                "bytes": (hi - lo) * BLOCKS * 1024,
            }
        )
    digest = folded([row["digest"] for row in result])
    return result, {"blocks": COUNT * BLOCKS * ROUNDS, "digest": digest}


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_every_block_is_checked(workers: int) -> None:
    found, result = rows(workers)
    refuses_every_lie(lambda r, s: files.check(PARAMS, r, s), reports_of(found), result)


@pytest.mark.parametrize("word", [0, 77, 2 * WORDS * BLOCKS * ROUNDS - 1])
def test_a_flipped_bit_is_refused(word: int) -> None:
    found, result = rows(2, word)
    with pytest.raises(VerifyError, match="worker 0 reported digest="):
        files.check(PARAMS, reports_of(found), result)
