"""The oracle of mapreduce, compared with one word at a time and with a tree of lists."""

from __future__ import annotations

import pytest

from benchgate import ParamValue, VerifyError
from guest.workloads.mapreduce import oracle as mapreduce
from tests.answerkit import MODULUS, folded, mixed, refuses_every_lie, reports_of, turned

PARAMS: dict[str, ParamValue] = {"words": 70, "grain": 3}


def table(keys: list[int]) -> list[int]:
    flat: list[int] = []
    for bucket in range(256):
        result = [key for key in keys if key >> 56 == bucket]
        flat += [len(result), sum(result) % MODULUS]
    return flat


def run(workers: int, unmerged: int = -1) -> tuple[list[dict[str, int]], dict[str, int]]:
    """What the workers report. The table of worker `unmerged` is not merged into another."""
    keys = [turned(mixed(i), 3) for i in range(70)]
    cuts = [70 * k // workers for k in range(workers + 1)]
    block = [keys[cuts[k] : cuts[k + 1]] for k in range(workers)]
    rows = [
        {
            "lo": cuts[k],
            "hi": cuts[k + 1],
            "words": len(block[k]),
            "sum": sum(block[k]) % MODULUS,
            "merges": 0,
        }
        for k in range(workers)
    ]
    step = 1
    while step < workers:
        for k in range(0, workers - step, 2 * step):
            rows[k]["merges"] += 1
            block[k] = block[k] + (block[k + step] if k + step != unmerged else [])
        step *= 2
    result = {"words": len(block[0]), "sum": sum(block[0]) % MODULUS, "fold": folded(table(block[0]))}
    return rows, {**result, "tables": folded([number for one in block for number in table(one)])}


@pytest.mark.parametrize("workers", [1, 2, 3, 4, 5, 7, 8])
def test_every_block_and_every_merge_is_checked(workers: int) -> None:
    rows, result = run(workers)
    refuses_every_lie(lambda r, s: mapreduce.check(PARAMS, r, s), reports_of(rows), result)


@pytest.mark.parametrize("unmerged", [1, 2, 3, 4])
def test_a_table_that_was_not_merged_is_refused(unmerged: int) -> None:
    rows, result = run(5, unmerged)
    with pytest.raises(VerifyError, match="wrong answer: the result reported words="):
        mapreduce.check(PARAMS, reports_of(rows), result)


def test_a_key_in_the_wrong_bucket_is_refused() -> None:
    rows, result = run(2)
    keys = [turned(mixed(i), 3) for i in range(70)]
    flat = table(keys)
    first = next(bucket for bucket in range(255) if flat[2 * bucket])
    flat[2 * first] -= 1
    flat[2 * first + 2] += 1
    with pytest.raises(VerifyError, match="wrong answer: the result reported fold="):
        mapreduce.check(PARAMS, reports_of(rows), {**result, "fold": folded(flat)})
