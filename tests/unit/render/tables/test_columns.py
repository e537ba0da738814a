"""Columns of plain text."""

from __future__ import annotations

import pytest

from benchgate.render.tables.columns import wrapped


@pytest.mark.parametrize("before", range(30, 50))
def test_a_word_that_is_cut_cannot_begin_a_line_like_a_command(before: int) -> None:
    lines = wrapped("INVALID: " + "x" * before + "::error::y", 40)
    assert len(lines) > 1
    assert [line for line in lines if line.strip().startswith("::")] == []
