"""What a worker does: the four functions that Dask calls, by name, with bytes.

`carry_out` takes a task as bytes; gives an answer as bytes (answer.py): the files of the run, or what is
missing, refused or out of order here. `put_input` stores a file of a guest. `tell` answers a question about a
measuring host, and `hold` keeps it for one session (measuring.py). They work for the `Station` of this
process, which fleet/processes.py sets. A session that does not want a run any more ends its guest within a
second. Nothing is raised to Dask.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from benchgate.base.cells import Lane
from benchgate.base.errors import BenchgateError
from benchgate.build import cache_storage
from benchgate.features.fleet import answer, host_json, packing, starts
from benchgate.features.fleet.answer import WorkerAnswer
from benchgate.features.fleet.equipment import Equipment, InputStore, equipment_for
from benchgate.features.fleet.errors import RefusedError
from benchgate.features.fleet.host_json import Reply
from benchgate.features.fleet.measuring import CancelledError, MeasuringPlace
from benchgate.features.fleet.task import Task, task_digest, task_of_bytes
from benchgate.run.attempt import execute
from benchgate.run.forked import Fork

LEAST_FREE = 256 << 20
"""A run may write this much at most (Limits); with less, the disk may be full in the middle of it."""


@dataclass(frozen=True, slots=True)
class Station:
    """One worker's place on its host."""

    name: str
    host: str
    runs: Path
    """Runs are made in this folder; each one's folder is deleted when its answer is sent."""
    inputs: InputStore
    equipment: Mapping[str, Equipment]
    """The equipment by QEMU's digest."""
    require: Callable[[Task], None]
    """RefusedError if the operator does not allow the task."""
    is_wanted: Callable[[], bool]
    """True if somebody still waits for what the calling thread does."""
    measuring: MeasuringPlace | None = None
    """None: the station makes only runs on the instruction clock; otherwise it makes only those in wall
    time."""
    fork: Fork | None = None
    """What makes a run a fork of a template; None: each starts by itself."""
    stand_aside: Callable[[], None] = lambda: None
    """Gives the calling thread's place to another task."""


_stations: list[Station] = []


def work_for(station: Station) -> None:
    """This process works at this station from here on."""
    _stations[:] = [station]


def carry_out(task: bytes) -> bytes:
    station = _stations[0]
    who = ("", station.name, station.host)
    try:
        asked = task_of_bytes(task)
        who = (task_digest(asked), station.name, station.host)
        station.require(asked)
        equipment = equipment_for(asked, station.equipment)
        if station.measuring is not None and asked.lane is Lane.INSN:
            trouble = "it is a measuring host, which makes runs in wall time only"
            return WorkerAnswer(*who, trouble=trouble).line
    except BenchgateError as error:
        return WorkerAnswer(*who, refused=str(error)).line
    try:
        with _host_of(station, asked):
            return _made(station, who, asked, equipment)
    except RefusedError as error:
        return WorkerAnswer(*who, refused=str(error)).line
    except CancelledError:
        return WorkerAnswer(*who, trouble="nobody waited for the run any more").line
    except (BenchgateError, OSError) as error:
        return WorkerAnswer(*who, trouble=str(error)).line


def put_input(about: bytes, content: bytes) -> bytes:
    """`about` is the SHA-256. The answer is empty, or says why it is not kept."""
    try:
        _stations[0].inputs.put(about.decode("ascii", "replace"), content)
    except (BenchgateError, OSError) as error:
        return json.dumps(str(error)).encode()
    return b""


def tell(question: bytes) -> bytes:
    """Takes a `HostQuestion`; the answer is a `Reply`."""
    station = _stations[0]
    try:
        value = _measuring(station).told(host_json.asked(question))
        return host_json.as_bytes(Reply(station.name, station.host, value))
    except (BenchgateError, OSError, ValueError) as error:
        return host_json.as_bytes(Reply(station.name, station.host, error=str(error)))


def hold(words: bytes) -> bytes:
    """Takes a token, and for how many seconds to wait. It answers when the host is not held any more: empty,
    or why it never was."""
    station = _stations[0]
    token, _, wait_s = words.decode("ascii", "replace").partition(" ")
    try:
        place = _measuring(station)
        station.stand_aside()
        place.hold(token, float(wait_s), station.is_wanted)
    except (BenchgateError, OSError, ValueError) as error:
        return str(error).encode()
    except CancelledError:
        return b"nobody waited for it any more"
    return b""


def _measuring(station: Station) -> MeasuringPlace:
    if station.measuring is None:
        raise RefusedError("it is no measuring host (--measuring)")
    return station.measuring


def _host_of(station: Station, asked: Task) -> AbstractContextManager[None]:
    if asked.lane is Lane.INSN:
        return nullcontext()
    return _measuring(station).under(asked.hold)


def _made(station: Station, who: tuple[str, str, str], asked: Task, equipment: Equipment) -> bytes:
    places = {file.sha256: station.inputs.find(file.sha256) for file in asked.files}
    if missing := [sha256 for sha256, path in places.items() if path is None]:
        return WorkerAnswer(*who, missing=tuple(missing)).line
    free = shutil.disk_usage(station.runs).free
    if free < LEAST_FREE:
        trouble = f"{station.runs} has {free >> 20} MiB free, and a run needs {LEAST_FREE >> 20} MiB"
        return WorkerAnswer(*who, trouble=trouble).line
    with tempfile.TemporaryDirectory(prefix="run-", dir=station.runs) as name:
        files = {sha256: path for sha256, path in places.items() if path is not None}
        start = starts.start_of(asked, equipment, files, cache_storage.tell)
        request = packing.unpacked(asked, Path(name), equipment, files, start)
        execute(request, lambda _: _continue(station), station.fork if asked.forks else None)
        return answer.made(*who, Path(name))


def _continue(station: Station) -> None:
    if not station.is_wanted():
        raise CancelledError
