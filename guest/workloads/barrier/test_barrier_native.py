"""The C of barrier, run on this host: right answers, and lies that are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.nativekit import Lie, expect_refused, expect_right

pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.mark.parametrize("cpus", [1, 2, 3, 6])
def test_every_worker_gives_the_correct_answer(tmp_path: Path, cpus: int) -> None:
    expect_right(tmp_path, "barrier", {}, cpus)


LIES = [
    # a phase without work, with an old value, without a barrier
    Lie("barrier", "bench_turns(x, share)", "bench_turns(x, phase == 3 ? 0 : share)", "worker"),
    Lie("barrier", "[worker].is = x", "[worker].is = phase == 3 ? 0 : x", "worker"),
    Lie("barrier", "bench_barrier(&loop->barrier);", "(void)0;", "worker"),
    # the last phase ends without a barrier, which no later phase shows
    Lie(
        "barrier",
        "        bench_barrier(&loop->barrier);",
        "        if (done < loop->phases)\n            bench_barrier(&loop->barrier);",
        "the result reported phases=11",
    ),
]


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: lie.new)
def test_a_lie_is_found(tmp_path: Path, lie: Lie) -> None:
    expect_refused(tmp_path, lie)
