"""The C of streamer, run on this host: right answers, and lies that are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.nativekit import Lie, expect_refused, expect_right

pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.mark.parametrize("cpus", [1, 2, 3, 6])
@pytest.mark.parametrize("change", [{}, {"stride": 8, "passes": 4}])
def test_every_worker_gives_the_correct_answer(tmp_path: Path, change: dict[str, object], cpus: int) -> None:
    expect_right(tmp_path, "streamer", change, cpus)


LIES = [
    # a pass that is skipped, a word that is read but not written, a last word that is not read
    Lie("streamer", "pass < arrays->passes; pass++)", "pass < arrays->passes; pass += 2)", "worker 0"),
    Lie(
        "streamer",
        "to[i * step] = bench_turns(word, 1);",
        "if (i != 99)\n                to[i * step] = bench_turns(word, 1);",
        "worker 0 reported sum=",
    ),
    Lie("streamer", "        read++;", "        read += i != 99;", "worker 0 reported read="),
]


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: lie.new)
def test_a_lie_is_found(tmp_path: Path, lie: Lie) -> None:
    expect_refused(tmp_path, lie)
