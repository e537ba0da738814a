"""The call stacks that a session recorded, from the folders of its runs.

Takes judged runs; gives one `Flame` for each verified run that has a file of folded stacks, in the order of
execution. Fails with VerifyError if such a file is not one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from benchgate.insn.stacks import Stacks, read_folded
from benchgate.judge.judged_run import JudgedRun, recordings

FOLDED = "stacks.folded"


@dataclass(frozen=True, slots=True)
class Flame:
    cell: str
    run: int
    folder: str
    """Below the session's."""
    stacks: Stacks


def flames(runs: Iterable[JudgedRun]) -> tuple[Flame, ...]:
    return tuple(
        Flame(run.cell.id, run.attempt, f"runs/{run.folder.name}", read_folded(path))
        for run, path in recordings(runs, FOLDED)
    )
