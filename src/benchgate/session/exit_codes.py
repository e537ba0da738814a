"""The exit code that a session's verdicts deserve (docs/run-in-ci.md).

Takes verdict words, gives a number. Pure; does not fail.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchgate.base.gates import Word

UNDECIDED = 5
"""The exit code where nothing, or not everything that was asked, was decided."""


def exit_code(words: Sequence[Word]) -> int:
    """0 every gate PASS; 1 a FAIL or INVALID; 5 nothing was decided; 75 only INCONCLUSIVE."""
    if any(word in (Word.FAIL, Word.INVALID) for word in words):
        return 1
    if Word.INCONCLUSIVE in words:
        return 75
    return 0 if Word.PASS in words else UNDECIDED
