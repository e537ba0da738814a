"""What a bisect has found so far: its question and its steps, in `state.json` of its folder.

Takes the folder; gives a `BisectState`, and writes it whole after every step, so that a bisect that was
stopped in any way goes on where it was. Reading fails with UsageError if the file is of another bisect or was
changed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from benchgate.base.errors import EvidenceError, UsageError
from benchgate.base.jsonfields import Matches, Presence, as_json, without_head
from benchgate.base.jsonfields import read as read_typed
from benchgate.base.text import located, without_advice
from benchgate.evidence.files import is_safe_name, read_object, write_whole

NAME, LOG = "state.json", "bisect.log"
FORMAT, VERSION = "benchgate-bisect", 1
_Commit = Annotated[str, Matches("[0-9a-f]{40}([0-9a-f]{24})?", "a commit")]


class Term(StrEnum):
    """What a step says of its commit: git's own words."""

    GOOD = "good"
    BAD = "bad"
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class BisectQuestion:
    """What is asked. Two bisects with equal questions are one."""

    good: _Commit
    bad: _Commit
    """The ids of commits."""
    system: str
    """The word of --system, without the revision."""
    arguments: tuple[str, ...]
    """The arguments of pytest, without --system."""
    workload: Annotated[str, Presence.LATER] = ""
    """The YAML of the workload whose source is walked; empty: the system's source is."""


@dataclass(frozen=True, slots=True)
class BisectStep:
    commit: _Commit
    term: Term
    why: str
    session: str = ""
    """The session's folder, relative to the bisect's; empty if nothing was measured."""

    def __post_init__(self) -> None:
        if self.session and not is_safe_name(self.session):
            raise ValueError(f"{self.session!r:.80} is not a folder of this bisect")


@dataclass(frozen=True, slots=True)
class BisectState:
    question: Annotated[BisectQuestion, Presence.INLINE]
    steps: tuple[BisectStep, ...] = ()

    def step(self, commit: str) -> BisectStep | None:
        return next((step for step in self.steps if step.commit == commit), None)

    def with_step(self, step: BisectStep) -> BisectState:
        return BisectState(self.question, (*self.steps, step))


def read(folder: Path, question: BisectQuestion) -> BisectState:
    """The state in the folder; a new one if there is none."""
    if not (folder / NAME).exists():
        return BisectState(question)
    try:
        advice = "it is of another version of benchgate"
        value = without_head(read_object(folder, NAME), "a bisect", advice, format=FORMAT, version=VERSION)
        state = read_typed(BisectState, value, "a bisect")
    except (EvidenceError, TypeError, ValueError) as error:
        advice = "name another folder with --out"
        raise UsageError(f"{folder / NAME} cannot be read: {error}; {advice}") from error
    if state.question != question:
        raise UsageError(
            f"{folder} is of another bisect, from {state.question.good[:10]} to {state.question.bad[:10]} of "
            f"{state.question.system} with pytest {' '.join(state.question.arguments)}; next: --out FOLDER"
        )
    return state


def write(folder: Path, state: BisectState) -> None:
    """The log is for people, and has the same steps."""
    value = {"format": FORMAT, "version": VERSION, **as_json(state)}
    write_whole(folder / NAME, json.dumps(value, indent=1) + "\n")
    write_whole(folder / LOG, "".join(f"{line(step)}\n" for step in state.steps))


def line(step: BisectStep) -> str:
    """Without advice: its paths are below the step's session."""
    return f"{step.commit[:10]} {step.term}: {without_advice(step.why)}"


def reason(step: BisectStep, folder: Path) -> str:
    """Why, with paths that work from here. `folder`: the bisect's."""
    return located(step.why, folder / step.session) if step.session else step.why
