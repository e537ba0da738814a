"""What a bisect has found so far: its question and its steps, in `state.json` of its folder.

Takes the folder; gives a `State`, and writes it whole after every step, so that a bisect that was stopped in
any way goes on where it was. Reading fails with UsageError if the file is of another bisect or was changed.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path

from benchgate.base.errors import EvidenceError, UsageError
from benchgate.base.jsonfields import Fields
from benchgate.evidence.files import is_safe_name, read_object, write_whole

NAME, LOG = "state.json", "bisect.log"
FORMAT, VERSION = "benchgate-bisect", 1
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


class Term(StrEnum):
    """What a step says of its commit: git's own words."""

    GOOD = "good"
    BAD = "bad"
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked. Two bisects with equal questions are one."""

    good: str
    bad: str
    """Commits."""
    system: str
    """The word of --system, without the revision."""
    arguments: tuple[str, ...]
    """Of pytest, without --system."""


@dataclass(frozen=True, slots=True)
class Step:
    commit: str
    term: Term
    why: str
    session: str = ""
    """The session's folder, relative to the bisect's; empty if nothing was measured."""


@dataclass(frozen=True, slots=True)
class State:
    question: Question
    steps: tuple[Step, ...] = ()

    def step(self, commit: str) -> Step | None:
        return next((one for one in self.steps if one.commit == commit), None)

    def with_step(self, step: Step) -> State:
        return State(self.question, (*self.steps, step))


def read(folder: Path, question: Question) -> State:
    """The state in the folder; a new one if there is none."""
    if not (folder / NAME).exists():
        return State(question)
    try:
        found = _state(read_object(folder, NAME))
    except (EvidenceError, TypeError, ValueError) as error:
        raise UsageError(
            f"{folder / NAME} cannot be read: {error}; name another folder with --out"
        ) from error
    if found.question != question:
        raise UsageError(
            f"{folder} is of another bisect, from {found.question.good[:10]} to {found.question.bad[:10]} of "
            f"{found.question.system} with pytest {' '.join(found.question.arguments)}; next: --out FOLDER"
        )
    return found


def write(folder: Path, state: State) -> None:
    """The log is for people, and has the same steps."""
    value = {"format": FORMAT, "version": VERSION, **asdict(state.question)}
    value["steps"] = [asdict(one) for one in state.steps]
    write_whole(folder / NAME, json.dumps(value, indent=1) + "\n")
    write_whole(folder / LOG, "".join(f"{line(one)}\n" for one in state.steps))


def line(step: Step) -> str:
    return f"{step.commit[:10]} {step.term}: {step.why}"


def _state(value: object) -> State:
    fields = Fields(value, "a bisect")
    if (fields.text("format"), fields.number("version")) != (FORMAT, VERSION):
        raise ValueError("it is of another version of benchgate")
    question = Question(
        _commit(fields), _commit(fields, "bad"), fields.text("system"), fields.texts("arguments")
    )
    steps = tuple(map(_step, fields.take("steps", list)))
    fields.done()
    return State(question, steps)


def _step(value: object) -> Step:
    fields = Fields(value, "a step")
    step = Step(
        commit=_commit(fields, "commit"),
        term=fields.choice("term", Term),
        why=fields.text("why"),
        session=fields.text("session"),
    )
    fields.done()
    if step.session and not is_safe_name(step.session):
        raise ValueError(f"{step.session!r:.80} is not a folder of this bisect")
    return step


def _commit(fields: Fields, name: str = "good") -> str:
    value = fields.text(name)
    if not _COMMIT.fullmatch(value):
        raise ValueError(f"{name} {value!r:.80} is not a commit")
    return value
