"""The C of wake, run on this host: right answers, and lies that are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.nativekit import Lie, expect_refused, expect_right

pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.mark.parametrize("cpus", [1, 2, 3, 6])
@pytest.mark.parametrize("change", [{"pattern": "pong"}, {"pattern": "fan"}])
def test_every_worker_gives_the_correct_answer(tmp_path: Path, change: dict[str, object], cpus: int) -> None:
    expect_right(tmp_path, "wake", change, cpus)


LIES = [
    # a number that is not turned, a wake-up that is not recorded or made up
    Lie("wake", "number = bench_turns(number, shared->turns);", "(void)0;", "worker 0"),
    Lie("wake", "bench_turns(number + worker, share)", "number + worker", "worker 0", {"pattern": "fan"}),
    Lie("wake", "bench_record(wakeup,", "if (round != 3)\n        bench_record(wakeup,", "histogram"),
    Lie("wake", "port_now() - post->when", "port_now() - post->when + 60000000000", "histogram"),
]


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: lie.new)
def test_a_lie_is_found(tmp_path: Path, lie: Lie) -> None:
    expect_refused(tmp_path, lie)
