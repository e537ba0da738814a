"""The C of counters, run on this host: right answers, and lies that are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.nativekit import Lie, expect_refused, expect_right

pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.mark.parametrize("cpus", [1, 2, 3])
@pytest.mark.parametrize("change", [{"layout": "packed"}, {"layout": "padded"}])
def test_every_worker_gives_the_correct_answer(tmp_path: Path, change: dict[str, object], cpus: int) -> None:
    expect_right(tmp_path, "counters", change, cpus)


LIES = [
    # an increment that is lost, work that is not done, counters elsewhere than asked for
    Lie("counters", "_RELAXED) + 1, __", "_RELAXED) + (step != 7), __", "worker 0 reported count="),
    Lie("counters", "own = bench_turns(own, delay);", "(void)delay;", "worker 0 reported own="),
    Lie("counters", "packed ? 1 : PADDED", "packed ? PADDED : 1", "the result reported .*apart=8"),
    Lie("counters", "sum += *", "sum += k * *", "the result reported sum="),
]


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: lie.new)
def test_a_lie_is_found(tmp_path: Path, lie: Lie) -> None:
    expect_refused(tmp_path, lie)
