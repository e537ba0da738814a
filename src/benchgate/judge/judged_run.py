"""One attempt and its outcome: verified, or the reason why it is not a result.

Takes a RawRun and a verifier; gives a JudgedRun. A VerifyError becomes the run's reason; other errors pass
through.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchgate.base.errors import VerifyError
from benchgate.base.runs import Ending, Outcome, RawRun, VerifiedRun

OWN_ENDINGS = (Ending.DONE, Ending.FAILED)
"""The guest or program ended by itself. Every other ending counts as a crash."""


def outcome_of(raw: RawRun, run: VerifiedRun | None) -> Outcome:
    """A run without a result is invalid or crashed, even if it is a warm-up."""
    if run is None:
        return Outcome.INVALID if raw.ending in OWN_ENDINGS else Outcome.CRASHED
    if raw.warmup:
        return Outcome.WARMUP
    return Outcome.OK


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """An attempt and its outcome; `reason` says why it is not a result."""

    run: RawRun
    verified: VerifiedRun | None
    outcome: Outcome
    reason: str = ""


Verifier = Callable[[RawRun], VerifiedRun]


def judge_run(run: RawRun, verify: Verifier) -> JudgedRun:
    """A run is a result only if its verifier completed."""
    try:
        verified = verify(run)
    except VerifyError as error:
        # Paths relative to the session's folder, so that the reason is the same in a copy of the folder.
        reason = str(error).replace(f"{run.folder.parent.parent}/", "")
        return JudgedRun(run, None, outcome_of(run, None), reason)
    return JudgedRun(run, verified, outcome_of(run, verified))
