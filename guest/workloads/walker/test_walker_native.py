"""The C of walker, run on this host: right answers, and lies that are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.nativekit import Lie, expect_refused, expect_right

pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.mark.parametrize("cpus", [1, 2, 3, 6])
@pytest.mark.parametrize("change", [{}, {"footprint_kb": 4, "seed": 9}])
def test_every_worker_gives_the_correct_answer(tmp_path: Path, change: dict[str, object], cpus: int) -> None:
    expect_right(tmp_path, "walker", change, cpus)


LIES = [
    # a step that is skipped, one to the neighbour, a shorter cycle
    Lie("walker", "; left > 0; left--)", "; left > worker; left--)", "worker 1 reported steps=49999"),
    Lie("walker", "at = line[at].next;", "at = left == 9 ? at + 1 : line[at].next;", "worker 0 reported"),
    Lie("walker", "lines - 1; i > 0; i--", "lines - 1; i > lines / 2; i--", "worker 0 reported at="),
]


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: lie.new)
def test_a_lie_is_found(tmp_path: Path, lie: Lie) -> None:
    expect_refused(tmp_path, lie)
