"""A task as JSON, which is all that a worker is ever sent; it never unpickles what describes a run.

Takes a Task and gives bytes; takes untrusted bytes and gives a Task. Fails with FleetError that says what is
wrong: an unknown key, a wrong type, a text that is too long or not printable.
"""

from __future__ import annotations

import json
from dataclasses import replace

from benchgate.base.cells import Lane
from benchgate.base.errors import FleetError
from benchgate.base.files import read_json
from benchgate.base.jsonfields import as_json, read, without_head
from benchgate.fleet.task import Task, sha256_of
from benchgate.run.console import ConsoleLimits

SCHEMA = 3
LARGEST = 4 << 20


def digest(task: Task) -> str:
    """Two tasks with the same digest are the same run, whoever vouches for them."""
    return sha256_of(as_bytes(replace(task, vouched="")))


def as_bytes(task: Task) -> bytes:
    return json.dumps({"schema": SCHEMA, **as_json(task)}, sort_keys=True).encode()


def from_bytes(data: bytes) -> Task:
    if type(data) is not bytes or len(data) > LARGEST:
        raise FleetError(f"a task is JSON of at most {LARGEST} bytes")
    try:
        return _task(read_json(data))
    except (ValueError, RecursionError) as error:
        raise FleetError(f"this is not a task that this version of benchgate sends: {error}") from error


def _task(value: object) -> Task:
    advice = "use the same version of benchgate on both sides"
    found = read(Task, without_head(value, "the task", advice, schema=SCHEMA), "the task")
    _require_clock(found)
    return replace(found, limits=_limited(found.limits))


def _limited(limits: ConsoleLimits) -> ConsoleLimits:
    most, names = ConsoleLimits(), ("console_bytes", "stderr_bytes", "rest_bytes")
    return replace(limits, **{name: min(getattr(limits, name), 16 * getattr(most, name)) for name in names})


def _require_clock(task: Task) -> None:
    """Runs in wall time, and only these, name their CPUs and the session that holds the host."""
    if task.lane is Lane.NATIVE:
        raise ValueError("a worker starts guests only, so its lane cannot be native")
    if task.lane is Lane.INSN and (task.pins or task.hold):
        raise ValueError("a run on the instruction clock has no CPUs of its own, and holds no host")
    if task.lane is not Lane.INSN and not (task.pins and task.hold):
        raise ValueError("a run in wall time names its CPUs, and the session that holds the host")
