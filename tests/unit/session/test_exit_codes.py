"""The exit code of a session's verdicts."""

from __future__ import annotations

import pytest

from benchgate.base.gates import Word
from benchgate.session.exit_codes import exit_code


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ([], 5),
        ([Word.SKIP], 5),
        ([Word.PASS, Word.SKIP], 0),
        ([Word.PASS, Word.INCONCLUSIVE], 75),
        ([Word.INCONCLUSIVE, Word.FAIL], 1),
        ([Word.PASS, Word.INVALID], 1),
    ],
)
def test_exit_codes(words: list[Word], code: int) -> None:
    assert exit_code(words) == code
