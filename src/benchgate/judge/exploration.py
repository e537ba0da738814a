"""Refuses an explored run wherever nobody asked for one.

Takes the files of a run on the instruction clock, and the exploration that it should be of; gives nothing.
Fails with VerifyError if the run was explored in another way, or at all. Its record, its command line, its
folder and the clock's log each say so, and must agree.
"""

from __future__ import annotations

import os

from benchgate.base import exploring
from benchgate.base.errors import VerifyError
from benchgate.base.exploring import Exploration
from benchgate.judge.machine_agreement import files_of_plugins
from benchgate.judge.run_files import ARGV, RunFiles


def check_exploration(files: RunFiles, asked: Exploration | None) -> None:
    """`asked` None: the run may be a sample, so its vCPUs were not stalled."""
    run, seen = files.run, files.clock.explored
    found = {
        "run.json": run.exploration == asked,
        ARGV: files_of_plugins(files.argv, "explore") == ([exploring.FILE] if asked else []),
        exploring.FILE: os.path.lexists(run.folder / exploring.FILE) == (asked is not None),
        "clock.log": (None if seen is None else (seen.strategy, seen.seed))
        == (None if asked is None else (asked.strategy, asked.seed)),
    }
    wrong = [name for name, good in found.items() if not good]
    if wrong and asked is None:
        raise VerifyError(
            f"{run.folder.name} was explored ({wrong[0]} says so): stalls moved its figures, so such a run "
            "is never a sample of a gate"
        )
    if wrong:
        raise VerifyError(f"{wrong[0]} of {run.folder.name} is not of the exploration with {asked}")
