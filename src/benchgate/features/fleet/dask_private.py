"""Everything of Dask that its authors may change without notice, and that a fleet relies on.

No other module touches a private thing of dask or distributed. PARTS and SET_BY_INIT name each of them. Takes
a role; limits this process to what limited.py allows the role, and gives classes in the
place of Dask's. A peer whose certificate is of the wrong role is hung up on before a byte is read from it.
Fails with FleetError if the installed version has no such part: a limit that is put on a name which Dask does
not use any more would limit nothing.
"""

from __future__ import annotations

import pickle
import pkgutil
import sys
from collections.abc import Collection, Mapping
from functools import cache
from importlib import import_module
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from benchgate.features.fleet import limited
from benchgate.features.fleet.certificates import SCHEDULER, WORKER
from benchgate.features.fleet.errors import FleetError, RefusedError
from benchgate.features.fleet.limited import HandlerFilter, peer_role

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from distributed import Client, Future, Scheduler, Worker

PARTS = (
    "dask._task_spec:Task",
    "distributed.protocol.pickle:loads",
    *("distributed.client:loads", "distributed.client:pickle.loads", "distributed.client:Future._result"),
    *("distributed.scheduler:loads", "distributed.scheduler:pickle.loads"),
    *("distributed.scheduler:heartbeat_interval", "distributed.core:Server._handle_comm"),
    "distributed.worker:thread_state",
    "distributed.protocol.serialize:import_allowed_module",
    *("distributed.comm.tcp:TCP._read_extra", "distributed.comm.core:FatalCommClosedError"),
    *("distributed.comm.tcp:TLSConnector.comm_class", "distributed.comm.tcp:TLSListener.comm_class"),
)
"""Names that a module has."""
SET_BY_INIT = (
    *("distributed.core:Server.handlers", "distributed.core:Server.stream_handlers"),
    *("distributed.core:Server._updated_sys_path", "distributed.client:Client._timeout"),
    "distributed.worker_state_machine:BaseWorker.state",
    "distributed.worker_state_machine:WorkerState.tasks",
)
"""Attributes that an object gets when it is made."""
_EXECUTING = frozenset({"executing", "long-running"})


def missing() -> list[str]:
    """Names those that the installed version does not have."""
    return [part for part in PARTS if not _has(part)] + [text for text in SET_BY_INIT if not _sets(text)]


def _has(part: str) -> bool:
    try:
        pkgutil.resolve_name(part)
    except (ImportError, AttributeError):
        return False
    return True


def _sets(part: str) -> bool:
    kind, _, name = part.rpartition(".")
    return _has(kind) and name in pkgutil.resolve_name(kind).__init__.__code__.co_names


def limit(role: str) -> None:
    """Limits this process to what the role needs. It cannot be undone."""
    if gone := missing():
        from distributed import __version__  # noqa: PLC0415 - an optional dependency

        raise FleetError(
            f"distributed {__version__} has no {', '.join(gone)}, which limits what a peer may do: install "
            "the version that `pip install 'pytest-benchgate[fleet]'` chooses"
        )
    from distributed import client, scheduler  # noqa: PLC0415
    from distributed.protocol import pickle as dasks  # noqa: PLC0415

    dasks.loads = limited.loads
    for module in (client, scheduler):
        module.loads = limited.loads  # they have it under a name of their own
        module.pickle = SimpleNamespace(loads=limited.loads, dumps=pickle.dumps)
    # `from distributed.protocol import serialize` would give the function of that name, not the module
    serialize: Any = import_module("distributed.protocol.serialize")
    serialize.import_allowed_module = limited.allowed_module
    _hang_up_on_others(limited.PEERS[role])


def _hang_up_on_others(roles: Collection[str]) -> None:
    """This holds also before Dask's handshake, which is a message that is read."""
    from distributed.comm import tcp  # noqa: PLC0415 - an optional dependency
    from distributed.comm.core import FatalCommClosedError  # noqa: PLC0415

    class CheckedTLS(tcp.TLS):  # type: ignore[misc]
        role = ""

        def _read_extra(self) -> None:
            super()._read_extra()
            self.role = unit = limited.role_of(self.extra_info.get("peercert") or {})
            if unit not in roles:
                self.abort()
                raise FatalCommClosedError(
                    f"the certificate of {self.peer_address} is of role `{unit or 'none'}`, and this process "
                    f"speaks with {' and '.join(sorted(roles))} only"
                )

    tcp.TLSConnector.comm_class = CheckedTLS
    tcp.TLSListener.comm_class = CheckedTLS


class _KnowsPeer:
    """A server that knows the role of the peer whose call it answers."""

    async def _handle_comm(self, comm: Any) -> None:
        peer_role.set(getattr(comm, "role", ""))
        await super()._handle_comm(comm)  # type: ignore[misc] # of Dask's Server, the next base


@cache
def worker_class() -> type[Worker]:
    from distributed import Worker  # noqa: PLC0415 - an optional dependency

    class LimitedWorker(_KnowsPeer, Worker):  # type: ignore[misc]
        handlers: Any
        stream_handlers: Any
        _updated_sys_path: bool

        def __init__(self, *arguments: Any, **options: Any) -> None:
            limit(WORKER)
            super().__init__(*arguments, **{**options, "extensions": {}, "dashboard": False})
            if self._updated_sys_path:  # Dask would import modules that somebody uploads
                sys.path.remove(self.local_directory)
                self._updated_sys_path = False
            self.handlers = HandlerFilter(limited.WORKER_CALLS, self.handlers)
            stream = {name: self.stream_handlers[name] for name in limited.WORKER_STREAM}
            compute = stream["compute-task"]
            self.stream_handlers = stream | {"compute-task": lambda **message: compute(**ours(message))}

    return LimitedWorker


@cache
def scheduler_class() -> type[Scheduler]:
    from distributed import Scheduler  # noqa: PLC0415 - an optional dependency

    class LimitedScheduler(_KnowsPeer, Scheduler):  # type: ignore[misc]
        handlers: Any
        stream_handlers: Any

        def __init__(self, *arguments: Any, **options: Any) -> None:
            limit(SCHEDULER)
            never = {"extensions": {}, "dashboard": False, "jupyter": False}
            super().__init__(*arguments, **{**options, **never})
            self.handlers = HandlerFilter(limited.SCHEDULER_CALLS, self.handlers)
            self.stream_handlers = HandlerFilter(limited.SCHEDULER_STREAM, self.stream_handlers)

    return LimitedScheduler


def ours(message: Mapping[str, Any]) -> dict[str, Any]:
    """The message that brings a task. One that is not a call of an entry with bytes becomes a refusal, which
    the sender gets as the task's error."""
    from dask._task_spec import Task  # noqa: PLC0415 - an optional dependency

    spec: Any = message.get("run_spec")
    is_call = type(spec) is Task and spec.func in limited.entries() and not spec.kwargs
    if is_call and not message.get("actor") and all(type(arg) is bytes for arg in spec.args):
        return dict(message)
    return {**message, "run_spec": Task(message.get("key"), _refuse), "actor": False, "who_has": {}}


def _refuse() -> bytes:
    raise RefusedError("a worker of benchgate carries out attempts only; it runs no functions")


def beat_every(seconds: float) -> None:
    """How often the workers of this scheduler say that they live."""
    from distributed import scheduler  # noqa: PLC0415

    scheduler.heartbeat_interval = lambda _: seconds


def is_wanted() -> bool:
    """Called by the thread that makes a run: Dask forgets a task that nobody waits for, also when a session
    or the scheduler is gone."""
    from distributed import Status, get_worker  # noqa: PLC0415
    from distributed.worker import thread_state  # noqa: PLC0415

    worker = get_worker()
    task = worker.state.tasks.get(thread_state.key)
    return worker.status is Status.running and task is not None and task.state in _EXECUTING


def loop_of(client: Client) -> AbstractEventLoop:
    loop: AbstractEventLoop = client.loop.asyncio_loop
    return loop


def wait_for_scheduler(client: Client, seconds: float) -> None:
    """How long the client waits for a scheduler that went away."""
    client._timeout = seconds


async def answer_of(client: Client, future: Future) -> tuple[str, bytes]:
    """The address of the worker that has it, and the answer."""
    answer = await future._result()
    holders = await client.scheduler.who_has(keys=[future.key])
    return next(iter(holders.get(future.key, ())), ""), answer


async def slots_of(client: Client) -> dict[str, int]:
    """The slots by the address of each worker."""
    return dict(await client.scheduler.ncores())
