"""The C of mapreduce, run on this host: right answers, and lies that are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.nativekit import Lie, expect_refused, expect_right

pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.mark.parametrize("cpus", [1, 2, 3, 6])
def test_every_worker_gives_the_correct_answer(tmp_path: Path, cpus: int) -> None:
    expect_right(tmp_path, "mapreduce", {}, cpus)


LIES = [
    # a word that is skipped, one in the wrong bucket, a table that is not merged
    Lie("mapreduce", "i = job->task[worker][TASK_LO]", "i = job->task[worker][TASK_LO] + worker", "worker 1"),
    Lie("mapreduce", "count[key >> (64 - BUCKET_BITS)]++", "count[i == 5]++", "the result reported fold="),
    Lie("mapreduce", "merge(mine, &", "if (data->grain == 0)\n                merge(mine, &", "the result"),
]


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: lie.new)
def test_a_lie_is_found(tmp_path: Path, lie: Lie) -> None:
    expect_refused(tmp_path, lie)
