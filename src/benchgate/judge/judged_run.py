"""One attempt and its outcome: verified, or the reason why it is not a result.

Takes a RawRun and a verifier; gives a JudgedRun. A VerifyError becomes the run's reason; other errors pass
through.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from benchgate.base import grouped
from benchgate.base.cells import Lane
from benchgate.base.errors import OracleError, VerifyError
from benchgate.base.pyfile import described
from benchgate.base.runs import Ending, Outcome, RawRun, VerifiedRun
from benchgate.base.text import visible

_T = TypeVar("_T")
OWN_ENDINGS = (Ending.DONE, Ending.FAILED)
"""The guest or program ended by itself. Every other ending counts as a crash."""
UNFINISHED = (Ending.FAILED, Ending.PANIC, Ending.EOF, Ending.BOOT_DEADLINE, Ending.RUN_DEADLINE)
"""The guest gave no answer, so none is known to be wrong."""


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """An attempt and its outcome; `reason` says why it is not a result."""

    run: RawRun
    verified: VerifiedRun | None
    reason: str = ""
    unanswered: bool = False
    """The oracle failed, so nothing is known of the run's answers."""

    @property
    def is_unfinished(self) -> bool:
        """True if a guest was to run in wall time and came to no result."""
        wall = self.run.lane in (Lane.KVM, Lane.TCG)
        return self.verified is None and wall and self.run.ending in UNFINISHED

    @property
    def outcome(self) -> Outcome:
        """A run without a result is invalid or crashed, even if it is a warm-up."""
        if self.verified is None:
            return Outcome.INVALID if self.run.ending in OWN_ENDINGS else Outcome.CRASHED
        if self.run.warmup:
            return Outcome.WARMUP
        return Outcome.VOID if self.verified.void else Outcome.OK


def counted_by_cell(runs: Iterable[JudgedRun]) -> dict[str, list[VerifiedRun]]:
    """The runs that are samples, by the id of their cell."""
    counted = (run.verified for run in runs if run.verified and run.outcome is Outcome.OK)
    return grouped(counted, key=lambda run: run.run.cell.id)


def median_of(runs: Sequence[VerifiedRun]) -> VerifiedRun:
    """Orders the runs by work; of an even number it takes the lower middle one."""
    ordered = sorted(runs, key=lambda run: (run.work, run.run.attempt))
    return ordered[(len(ordered) - 1) // 2]


@dataclass(frozen=True, slots=True)
class Recording(Generic[_T]):
    """What a run kept in a file of its folder."""

    cell: str
    run: int
    folder: str
    """The path is relative to the session's folder."""
    content: _T


def recordings(runs: Iterable[JudgedRun], name: str, read: Callable[[Path], _T]) -> tuple[Recording[_T], ...]:
    """Of the verified runs in whose folder there is a file of this name."""
    having = [run.run for run in runs if run.verified and os.path.lexists(run.run.folder / name)]
    return tuple(
        Recording(run.cell.id, run.attempt, f"runs/{run.folder.name}", read(run.folder / name))
        for run in having
    )


Verifier = Callable[[RawRun], VerifiedRun]


def judge_run(run: RawRun, verify: Verifier) -> JudgedRun:
    """A run is a result only if its verifier completed."""
    try:
        verified = verify(run)
        return JudgedRun(run, verified, "" if run.warmup else verified.void)
    except VerifyError as error:
        # Paths relative to the session's folder, so that the reason is the same in a copy of the folder.
        folder = visible(f"{run.folder.parent.parent}/")
        reason = visible(str(error)).replace(folder, "")
        return JudgedRun(run, None, reason, unanswered=isinstance(error, OracleError))


def judge_to_end(run: RawRun, verify: Verifier, kept: list[BaseException]) -> JudgedRun:
    """Adds an interrupt, or an error that is not the run's own, to `kept`. A run is judged again if the first
    interrupt met it there: its measurement is complete, and would else be recorded as invalid."""
    try:
        return judge_run(run, verify)
    except BaseException as error:
        kept.append(error)
        if isinstance(error, KeyboardInterrupt) and len(kept) == 1:
            return judge_to_end(run, verify, kept)
        return JudgedRun(run, None, f"it could not be judged: {described(error)}")
