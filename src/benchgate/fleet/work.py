"""What a worker does: the two functions that Dask calls, by name, with bytes.

`carry_out` takes a task as bytes; gives an answer as bytes (answer.py): the files of the run, or what is
missing, refused or out of order here. `put_input` stores a file of a guest. Both work for the `Station` of
this process, which fleet/worker.py sets. A session that does not want a run any more ends its guest within a
second. Nothing is raised to Dask.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchgate.base.errors import BenchgateError, RefusedError
from benchgate.fleet import answer, packing, task_json
from benchgate.fleet.equipment import Equipment, equipment_for
from benchgate.fleet.inputs import InputStore
from benchgate.fleet.task import Task
from benchgate.run.attempt import execute

LEAST_FREE = 256 << 20
"""A run may write this much at most (Limits); with less, the disk may be full in the middle of it."""


class CancelledError(BaseException):
    """Nobody waits for this run any more. Like KeyboardInterrupt, it ends the guest."""


@dataclass(frozen=True, slots=True)
class Station:
    """One worker's place on its host."""

    name: str
    host: str
    runs: Path
    """Where runs are made; each folder is deleted when its answer is sent."""
    inputs: InputStore
    equipment: Mapping[str, Equipment]
    """By QEMU's digest."""
    require: Callable[[Task], None]
    """RefusedError if the operator does not allow the task."""
    is_wanted: Callable[[], bool]
    """Whether somebody still waits for what the calling thread does."""


_stations: list[Station] = []


def work_for(station: Station) -> None:
    """From here on, this process works at this station."""
    _stations[:] = [station]


def carry_out(task: bytes) -> bytes:
    station = _stations[0]
    who = ("", station.name, station.host)
    try:
        asked = task_json.from_bytes(task)
        who = (task_json.digest(asked), station.name, station.host)
        station.require(asked)
        equipment = equipment_for(asked, station.equipment)
    except BenchgateError as error:
        return answer.without_run(*who, refused=str(error))
    try:
        return _made(station, who, asked, equipment)
    except RefusedError as error:
        return answer.without_run(*who, refused=str(error))
    except CancelledError:
        return answer.without_run(*who, trouble="nobody waited for the run any more")
    except (BenchgateError, OSError) as error:
        return answer.without_run(*who, trouble=str(error))


def put_input(about: bytes, content: bytes) -> bytes:
    """`about`: the SHA-256. The answer is empty, or says why it is not kept."""
    try:
        _stations[0].inputs.put(about.decode("ascii", "replace"), content)
    except (BenchgateError, OSError) as error:
        return json.dumps(str(error)).encode()
    return b""


def _made(station: Station, who: tuple[str, str, str], asked: Task, equipment: Equipment) -> bytes:
    places = {one.sha256: station.inputs.find(one.sha256) for one in asked.files}
    if missing := [sha256 for sha256, path in places.items() if path is None]:
        return answer.without_run(*who, missing=missing)
    free = shutil.disk_usage(station.runs).free
    if free < LEAST_FREE:
        return answer.without_run(
            *who,
            trouble=f"{station.runs} has {free >> 20} MiB free, and a run needs {LEAST_FREE >> 20} MiB",
        )
    with tempfile.TemporaryDirectory(prefix="run-", dir=station.runs) as name:
        files = {sha256: path for sha256, path in places.items() if path is not None}
        execute(packing.unpacked(asked, Path(name), equipment, files), lambda _: _continue(station))
        return answer.made(*who, Path(name))


def _continue(station: Station) -> None:
    if not station.is_wanted():
        raise CancelledError
