"""The exit codes of a session and of the commands, and what they mean (`benchgate docs exit-codes`).

Takes a session's view; gives a number, the same for pytest and `benchgate rejudge`. Pure; does not fail.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from benchgate.base.errors import NeedsFilesError
from benchgate.base.gates import Word
from benchgate.evidence.session_folder import COMPLETE
from benchgate.render.view import SessionView

UNDECIDED = 5
"""The exit code if nothing was decided, or if the session is partial."""
INCONCLUSIVE = 75

OF_SESSION: Mapping[int, str] = MappingProxyType(
    {
        0: "every gate is PASS or SKIP, and one that decides is PASS; or, without a threshold, "
        "every run verified",
        1: "a FAIL or INVALID, or an ordinary test failed",
        2: "interrupted; the session is partial and says so",
        4: "usage or set-up: an option, a missing tool, another session measured beyond `--lock-wait`",
        UNDECIDED: "nothing was decided, because every threshold was SKIP; or the session is partial, "
        "because a test did not ask for its row",
        INCONCLUSIVE: "only INCONCLUSIVE gates, unless `--inconclusive=warn` makes skips of them",
    }
)
"""The meaning of each exit code of pytest, for a session that measures."""
OF_COMMANDS: Mapping[int, str] = MappingProxyType(
    {
        0: "done",
        1: "a verdict is not PASS, or a replay differs",
        4: "usage or set-up, in one sentence",
        UNDECIDED: "nothing was decided",
        NeedsFilesError.status: "files of the session's user must be named; the message has the command",
        130: "interrupted",
    }
)
"""The meaning of each exit code of the commands, except `verify` (evidence/check.py) and `rejudge`, which has
those of the session."""


def exit_code(view: SessionView) -> int:
    """1 a FAIL or INVALID; 5 the session is partial; 75 only INCONCLUSIVE; 0 every verdict is PASS or SKIP,
    with at least one PASS that decides; otherwise 5."""
    words = [verdict.outcome for verdict in view.shown_verdicts]
    if Word.FAIL in words or Word.INVALID in words:
        return 1
    if view.state != COMPLETE:
        return UNDECIDED
    if Word.INCONCLUSIVE in words and view.inconclusive_fails:
        return INCONCLUSIVE
    return 0 if any(verdict.outcome is Word.PASS for verdict in view.decided) else UNDECIDED
