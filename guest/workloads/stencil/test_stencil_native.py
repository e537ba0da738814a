"""The C of stencil, run on this host: right answers, and lies that are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.nativekit import Lie, expect_refused, expect_right

pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.mark.parametrize("cpus", [1, 2, 3, 6])
def test_every_worker_gives_the_correct_answer(tmp_path: Path, cpus: int) -> None:
    expect_right(tmp_path, "stencil", {}, cpus)


LIES = [
    # a halo that is not taken over, a cell that is wrong, a row that is skipped
    Lie("stencil", "copy_row(row, halo->row[step % 2]);", "(void)row;", "worker 0 reported fold="),
    Lie("stencil", "5 * (cell[c]", "(c == 9 ? 4 : 5) * (cell[c]", "worker 0 reported fold="),
    Lie(
        "stencil",
        "for (uint64_t row = 1; row <= rows; row++) {",
        "for (uint64_t row = 2; row <= rows; row++) {",
        "worker 0 reported cells=",
    ),
]


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: lie.new)
def test_a_lie_is_found(tmp_path: Path, lie: Lie) -> None:
    expect_refused(tmp_path, lie)
