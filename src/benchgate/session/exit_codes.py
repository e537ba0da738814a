"""The exit code of a session (`benchgate docs run-in-ci`): pytest and `benchgate rejudge` share it.

Takes the session's view; gives a number. Pure; does not fail.
"""

from __future__ import annotations

from benchgate.base.gates import Word
from benchgate.evidence.session_folder import COMPLETE
from benchgate.render.view import SessionView

UNDECIDED = 5
"""The exit code if nothing was decided, or if the session is partial."""
INCONCLUSIVE = 75


def exit_code(view: SessionView) -> int:
    """1 a FAIL or INVALID; 5 the session is partial; 75 only INCONCLUSIVE; 0 every verdict is PASS or SKIP,
    with at least one PASS that decides; otherwise 5."""
    words = [one.outcome for one in view.shown_verdicts]
    if Word.FAIL in words or Word.INVALID in words:
        return 1
    if view.state != COMPLETE:
        return UNDECIDED
    if Word.INCONCLUSIVE in words and view.inconclusive_fails:
        return INCONCLUSIVE
    return 0 if any(one.outcome is Word.PASS for one in view.decided) else UNDECIDED
