"""The C of stencil, run on this host: right answers, and lies that are refused."""

from __future__ import annotations

from tests.nativekit import Lie, refusals, right_answers

test_every_worker_gives_the_correct_answer = right_answers("stencil")

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

test_a_lie_is_found = refusals(LIES)
