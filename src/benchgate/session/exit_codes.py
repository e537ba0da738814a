"""The exit code of a session's verdicts (docs/run-in-ci.md).

Takes the words of verdicts; gives a number. Pure; does not fail.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchgate.base.gates import Word

UNDECIDED = 5
"""The exit code if nothing was decided, or if the session is partial."""
INCONCLUSIVE = 75


def exit_code(words: Sequence[Word]) -> int:
    """0 every gate PASS; 1 a FAIL or INVALID; 5 nothing was decided; 75 only INCONCLUSIVE."""
    if any(word in (Word.FAIL, Word.INVALID) for word in words):
        return 1
    if Word.INCONCLUSIVE in words:
        return INCONCLUSIVE
    return 0 if Word.PASS in words else UNDECIDED
