"""The call stacks that a session recorded, from the folders of its runs.

Takes judged runs; gives one `Flame` for each verified run that has a file of folded stacks, in the order of
execution. Fails with VerifyError if such a file is not one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from benchgate.insn.stacks import Stacks, read_folded
from benchgate.judge.judged_run import JudgedRun

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
        Flame(
            one.run.cell.id,
            one.run.attempt,
            f"runs/{one.run.folder.name}",
            read_folded(one.run.folder / FOLDED),
        )
        for one in runs
        if one.verified and os.path.lexists(one.run.folder / FOLDED)
    )
