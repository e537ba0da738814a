"""An answer as a run of the session: checked against its task, and written as this machine would have.

`received` takes the untrusted bytes of a worker and what was asked; gives the answer with the record of its
run, which is read once, or fails with FleetError that says what is wrong with it. `kept` writes the files of
a run to the folder of its request; fails with OSError.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from benchgate.base import exploration, snapshots
from benchgate.base.errors import EvidenceError
from benchgate.base.files import read_json, write_json
from benchgate.base.runs import Ending, RawRun
from benchgate.base.text import one_line
from benchgate.features.fleet import answer
from benchgate.features.fleet.answer import WorkerAnswer
from benchgate.features.fleet.errors import FleetError
from benchgate.features.fleet.packing import TaskPackage
from benchgate.features.fleet.task import Task
from benchgate.run import record
from benchgate.run.attempt import ARGV, ENVIRONMENT, RunRequest, unfinished, write_command

WORKER = "worker.json"
"""This file in a run's folder says who made the run, and the command line that was executed there."""
_NOWHERE = Path("the folder of a worker")
_OF_THIS_MACHINE = frozenset({ARGV, ENVIRONMENT, record.RUN, record.UNANSWERED})
"""Written here, with the paths of this machine and the numbers of this session."""


@dataclass(frozen=True, slots=True)
class ReceivedRun:
    raw: RawRun
    """The folder of its record is on no machine."""
    argv: tuple[str, ...]
    """What was executed there."""
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class CheckedAnswer:
    answer: WorkerAnswer
    run: ReceivedRun | None
    """None: the answer says why there is none."""

    @property
    def is_doubtful(self) -> bool:
        """True if the run may have ended because of the worker's host, not because of the guest."""
        return self.run is not None and self.run.raw.ending in (Ending.EOF, Ending.NO_START)


def received(data: object, wanted: TaskPackage) -> CheckedAnswer:
    given = answer.read(data)
    if given.key != wanted.key:
        raise FleetError("it answers for another run")
    return CheckedAnswer(given, _run(given.files, wanted.task) if given.files else None)


def _run(files: Mapping[str, bytes], task: Task) -> ReceivedRun:
    if missing := [name for name in (record.RUN, ARGV, ENVIRONMENT) if name not in files]:
        raise FleetError(f"its folder has no {missing[0]}")
    try:
        raw = record.parsed(files[record.RUN], _NOWHERE, files.get(exploration.FILE, b""))
        argv, environment = read_json(files[ARGV]), read_json(files[ENVIRONMENT])
    except (EvidenceError, ValueError) as error:
        raise FleetError(str(error)) from error
    if type(argv) is not list or type(environment) is not dict:
        raise FleetError(f"its {ARGV} is no list, or its {ENVIRONMENT} is no object")
    if not all(type(one) is str for one in (*argv, *environment.values())):
        raise FleetError(f"its {ARGV} or {ENVIRONMENT} has something that is no text")
    _require_same(raw, task)
    _require_start(files, task)
    return ReceivedRun(raw, tuple(argv), environment)


def _require_same(raw: RawRun, task: Task) -> None:
    for name in ("cell", "nonce", "seed", "lane", "pins"):
        if getattr(raw, name) != getattr(task, name):
            differs = f"{name} is {one_line(str(getattr(raw, name)), 80)}, and must be {getattr(task, name)}"
            raise FleetError(f"its folder is of another run: {differs}")
    if (raw.exploration.text if raw.exploration else "") != task.exploration:
        raise FleetError("its folder is of another run: it was not explored as the task says")


def _require_start(files: Mapping[str, bytes], task: Task) -> None:
    """What a run says of its start is what its task did."""
    try:
        found = read_json(files.get(snapshots.FILE, b"null"))
    except ValueError as error:
        raise FleetError(f"its {snapshots.FILE} cannot be read: {error}") from error
    words = f"{task.words}\n".encode() if task.words else b""
    if found != (task.start and task.start.content):
        raise FleetError("its folder is of another run: it did not start where the task says")
    if files.get(snapshots.WORDS, b"") != words:
        raise FleetError("its folder is of another run: its guest got other words than the task says")


def kept(given: CheckedAnswer, request: RunRequest) -> RawRun:
    """Writes the run as if it had been made here, with the paths of this machine. worker.json has what was
    executed there."""
    run, folder = given.run, request.folder
    if run is None:
        raise FleetError("an answer without a run cannot be kept")
    for name, content in given.answer.files.items():
        if name not in _OF_THIS_MACHINE:
            (folder / name).write_bytes(content)
    who = {"worker": given.answer.worker, "host": given.answer.host}
    write_json(folder / WORKER, {**who, "argv": list(run.argv), "environment": dict(run.environment)})
    write_command(request)
    ended = {name: getattr(run.raw, name) for name in ("ending", "exit_status", "host_span_ns", "detail")}
    raw = replace(unfinished(request), **ended)
    record.save(raw)
    return raw
