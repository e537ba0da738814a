"""One run as a story on one time axis: spans, moments, arrows and counters on named tracks.

Takes a RawRun and reads the files of its folder; gives a frozen `Story` in ns. Any run has one, also one that
failed: what cannot be read is a sentence in its notes. On the instruction clock the axis is the guest's time,
from its first instruction; on wall time it is the host's, from the start of the guest. Does not fail.
"""

from __future__ import annotations

from benchgate.base.cells import Lane
from benchgate.base.runs import RawRun
from benchgate.judge.accounts.story import clock, wall
from benchgate.judge.accounts.story.words import Story, merged
from benchgate.judge.run_files import RunFiles


def story(run: RawRun) -> Story:
    files = RunFiles(run)
    parts = clock.parts(files) if run.lane is Lane.INSN else wall.parts(files)
    return merged(f"{run.cell.id}, run {run.attempt:04}, lane {run.lane}", parts)
