"""The processes of a fleet: its scheduler, and a worker.

The scheduler hands out runs, and knows nothing of them. Takes an address; runs until it is interrupted. Fails
with FleetError if the address cannot be used.

A worker makes runs at its station, one for each slot. Takes the scheduler's address and what its operator
said; runs until a signal ends it, and comes back by itself after the scheduler did. Its guests die with it:
the kernel kills them even if the worker is killed. Fails with FleetError if the folder is in use, and like
equipment.py.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from distributed import secede

from benchgate.base.errors import UsageError
from benchgate.base.files import lock_holder, try_lock
from benchgate.base.text import one_line
from benchgate.build.cache_storage import Notice
from benchgate.features.fleet import dask_private, dask_settings, words
from benchgate.features.fleet.equipment import InputStore, prepared
from benchgate.features.fleet.errors import FleetError
from benchgate.features.fleet.measuring import MeasuringPlace
from benchgate.features.fleet.task import Task, is_plain_path
from benchgate.features.fleet.work import Station, work_for
from benchgate.run import stale
from benchgate.run.templates import Templates

_IDLE_S = 60.0
"""A template that nobody has used for so long is ended."""


def run_scheduler(host: str, port: int, security: Any, say: Notice) -> None:
    dask_settings.use()
    dask_private.beat_every(dask_settings.HEARTBEAT_S)
    asyncio.run(_serve_scheduler(host, port, security, say))


async def _serve_scheduler(host: str, port: int, security: Any, say: Notice) -> None:
    stop = stopped()
    protocol = "tls" if security is not None else "tcp"
    try:
        scheduler = await dask_private.scheduler_class()(
            host=host, port=port, protocol=protocol, security=security, dashboard_address="127.0.0.1:0"
        )
    except OSError as error:
        raise FleetError(f"{host}:{port} cannot be used: {error.strerror or error}") from error
    say(f"scheduler at {scheduler.address}; Ctrl-C ends it")
    await stop.wait()
    await scheduler.close()


def stopped() -> asyncio.Event:
    """Is set by the signals that end a program."""
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return stop


_AGAIN_S = 1.0
_CLOSE_S = 30.0


@dataclass(frozen=True, slots=True)
class Orders:
    """What the operator said."""

    address: str
    folder: Path
    """The folder of this worker alone, with inputs that it keeps, and runs while they are made."""
    name: str
    slots: int
    guests: tuple[str, ...]
    require: Callable[[Task], None]
    """RefusedError for a task that is not allowed."""
    measuring: bool = False
    """Makes runs in wall time, one at a time, for the session that holds this host."""
    security: Any = None


def run_worker(orders: Orders, say: Notice) -> None:
    dask_settings.use()
    if not is_plain_path(str(orders.folder)):
        why = "its path has a character that QEMU's options give a meaning to"
        raise UsageError(f"--dir {orders.folder}: {why}")
    orders.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = orders.folder / "worker.lock"
    lock = try_lock(path)
    if lock is None:
        who = f"{lock_holder(path)} is a worker in {orders.folder}"
        raise FleetError(f"{who}: give each worker its own --dir")
    try:
        for line in stale.sweep_stale():
            say(line)
        with closing(Templates(say, idle_s=_IDLE_S)) as templates:
            work_for(_station(orders, say, templates))
            asyncio.run(_serve(orders, say))
    finally:
        os.close(lock)


def _station(orders: Orders, say: Notice, templates: Templates) -> Station:
    runs = orders.folder / "runs"
    with suppress(FileNotFoundError):
        shutil.rmtree(runs)  # we hold the lock, so its worker was killed
    runs.mkdir(mode=0o700)

    def require(task: Task) -> None:
        orders.require(task)
        words.require(task)

    equipment = prepared(orders.guests, say)
    return Station(
        name=orders.name,
        host=socket.gethostname(),
        runs=runs,
        inputs=InputStore(orders.folder / "inputs"),
        equipment=equipment,
        require=require,
        is_wanted=dask_private.is_wanted,
        measuring=MeasuringPlace(equipment) if orders.measuring else None,
        fork=templates.fork,
        stand_aside=secede,
    )


async def _serve(orders: Orders, say: Notice) -> None:
    """A worker of Dask ends with its scheduler; then another one takes its place here."""
    stop = stopped()
    does = "a measuring host" if orders.measuring else f"{orders.slots} slots"
    say(f"worker {orders.name}: {does}, in {orders.folder}; Ctrl-C ends it")
    while not stop.is_set():
        worker = dask_private.worker_class()(
            orders.address,
            name=f"{orders.name}-{os.getpid()}",
            nthreads=orders.slots,
            memory_limit=0,
            local_directory=str(orders.folder / "dask"),
            security=orders.security,
            dashboard_address="127.0.0.1:0",
        )
        starting = asyncio.ensure_future(worker.start())
        await _first(stop.wait(), starting)
        why = "the scheduler is gone"
        if starting.done() and starting.exception() is not None:
            why = one_line(f"{type(starting.exception()).__name__}: {starting.exception()}")
        elif not stop.is_set():
            say(f"worker {orders.name}: at {worker.address}, for the scheduler at {orders.address}")
            await _first(stop.wait(), worker.finished())
        starting.cancel()
        with suppress(Exception):
            await worker.close(timeout=_CLOSE_S, executor_wait=True)
        if not stop.is_set():
            say(f"worker {orders.name}: {why}; waiting for the scheduler at {orders.address}")
            await asyncio.sleep(_AGAIN_S)


async def _first(*waits: Any) -> None:
    """Waits until one is done; none is cancelled but the wait for the signal."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    tasks[0].cancel()
