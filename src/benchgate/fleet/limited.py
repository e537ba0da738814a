"""Dask's scheduler, worker and client with everything taken away that a fleet of benchgate does not use.

Takes a role; gives classes in the place of Dask's. Dask is made to run whatever code a peer sends: functions,
plugins, uploaded modules. Here a process answers only the calls that attempts need, unpickles only what
fleet/unpickling.py names, and hangs up on a peer whose certificate is of the wrong role before it reads a
byte from it. What does not pass is refused with an error, which the peer gets; it never runs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from contextvars import ContextVar
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from benchgate.base.errors import RefusedError
from benchgate.fleet import unpickling
from benchgate.fleet.certificates import CLIENT, SCHEDULER, WORKER

if TYPE_CHECKING:
    from distributed import Scheduler, Worker

Calls = Mapping[str, Collection[str]]
"""What each role may ask for; an empty role: anybody, over TCP on one machine."""
PEERS: Mapping[str, frozenset[str]] = {
    SCHEDULER: frozenset({WORKER, CLIENT}),
    WORKER: frozenset({SCHEDULER}),
    CLIENT: frozenset({SCHEDULER}),
}
"""With whom a role speaks. Workers do not speak with each other: no run needs what another has."""
_SCHEDULERS = frozenset({"identity", "ping", "get_data", "free_keys", "terminate", "versions"})
WORKER_CALLS: Calls = {"": _SCHEDULERS, SCHEDULER: _SCHEDULERS}
WORKER_STREAM = frozenset(
    {"close", "cancel-compute", "compute-task", "free-keys", "remove-replicas", "steal-request"}
    | {"refresh-who-has", "worker-status-change", "remove-worker"}
)
_CLIENTS = frozenset(
    {"identity", "register-client", "gather", "ncores", "who_has", "has_what", "versions"}
    | {"subscribe_worker_status"}
)
_WORKERS = frozenset({"identity", "register-worker", "unregister", "heartbeat_worker", "who_has"})
SCHEDULER_CALLS: Calls = {"": _CLIENTS | _WORKERS, CLIENT: _CLIENTS, WORKER: _WORKERS}
_CLIENT_STREAM = frozenset(
    {"update-graph", "client-desires-keys", "client-releases-keys", "heartbeat-client", "close-client"}
    | {"cancel-keys", "report-key", "subscribe-topic", "unsubscribe-topic"}
)
_WORKER_STREAM = frozenset(
    {"task-finished", "task-erred", "release-worker-data", "add-keys", "long-running", "reschedule"}
    | {"keep-alive", "log-event", "worker-status-change", "request-refresh-who-has", "missing-data"}
    | {"steal-response"}
)
SCHEDULER_STREAM: Calls = {
    "": _CLIENT_STREAM | _WORKER_STREAM,
    CLIENT: _CLIENT_STREAM,
    WORKER: _WORKER_STREAM,
}
_peer: ContextVar[str] = ContextVar("peer", default="")
"""The role of the peer whose call is being answered."""


class Only(dict[str, Any]):
    """Handlers by name, without those that the peer's role may not ask for, also if they are added later."""

    def __init__(self, calls: Calls, handlers: Mapping[str, Any]) -> None:
        super().__init__(handlers)
        self._calls = calls

    def __getitem__(self, name: str) -> Any:
        if name not in self._calls.get(_peer.get(), ()):
            raise KeyError(name)  # as if it did not exist
        return super().__getitem__(name)


def limit(role: str) -> None:
    """Limits this process to what the role needs. It cannot be undone."""
    unpickling.limit()
    _hang_up_on_others(PEERS[role])
    from distributed.protocol import serialize  # noqa: PLC0415 - an optional dependency

    serialize.import_allowed_module = _allowed_module


@cache
def worker_class() -> type[Worker]:
    from distributed import Worker  # noqa: PLC0415 - an optional dependency

    class LimitedWorker(Worker):  # type: ignore[misc]
        handlers: Any
        stream_handlers: Any
        _updated_sys_path: bool

        def __init__(self, *arguments: Any, **options: Any) -> None:
            limit(WORKER)
            super().__init__(*arguments, **{**options, "extensions": {}, "dashboard": False})
            if self._updated_sys_path:  # Dask would import modules that somebody uploads
                sys.path.remove(self.local_directory)
                self._updated_sys_path = False
            self.handlers = Only(WORKER_CALLS, self.handlers)
            stream = {name: self.stream_handlers[name] for name in WORKER_STREAM}
            compute = stream["compute-task"]
            self.stream_handlers = stream | {"compute-task": lambda **message: compute(**ours(message))}

        async def _handle_comm(self, comm: Any) -> None:
            _peer.set(getattr(comm, "role", ""))
            await super()._handle_comm(comm)

    return LimitedWorker


@cache
def scheduler_class() -> type[Scheduler]:
    from distributed import Scheduler  # noqa: PLC0415 - an optional dependency

    class LimitedScheduler(Scheduler):  # type: ignore[misc]
        handlers: Any
        stream_handlers: Any

        def __init__(self, *arguments: Any, **options: Any) -> None:
            limit(SCHEDULER)
            never = {"extensions": {}, "dashboard": False, "jupyter": False}
            super().__init__(*arguments, **{**options, **never})
            self.handlers = Only(SCHEDULER_CALLS, self.handlers)
            self.stream_handlers = Only(SCHEDULER_STREAM, self.stream_handlers)

        async def _handle_comm(self, comm: Any) -> None:
            _peer.set(getattr(comm, "role", ""))
            await super()._handle_comm(comm)

    return LimitedScheduler


def entries() -> tuple[Callable[..., bytes], ...]:
    """The functions that a task may call."""
    return tuple(getattr(import_module(module), name) for module, name in unpickling.ENTRIES)


def ours(message: Mapping[str, Any]) -> dict[str, Any]:
    """The message that brings a task. One that is not a call of an entry with bytes becomes a refusal, which
    the sender gets as the task's error."""
    from dask._task_spec import Task  # noqa: PLC0415 - an optional dependency

    spec: Any = message.get("run_spec")
    is_call = type(spec) is Task and spec.func in entries() and not spec.kwargs and not message.get("actor")
    if is_call and all(type(one) is bytes for one in spec.args):
        return dict(message)
    return {**message, "run_spec": Task(message.get("key"), _refuse), "actor": False, "who_has": {}}


def _refuse() -> bytes:
    raise RefusedError("a worker of benchgate carries out attempts only; it runs no functions")


def _hang_up_on_others(roles: Collection[str]) -> None:
    """Also before Dask's handshake, which is a message that is read."""
    from distributed.comm import tcp  # noqa: PLC0415 - an optional dependency
    from distributed.comm.core import FatalCommClosedError  # noqa: PLC0415

    class CheckedTLS(tcp.TLS):  # type: ignore[misc]
        role = ""

        def _read_extra(self) -> None:
            super()._read_extra()
            self.role = unit = role_of(self.extra_info.get("peercert") or {})
            if unit not in roles:
                self.abort()
                raise FatalCommClosedError(
                    f"the certificate of {self.peer_address} is of role `{unit or 'none'}`, and this process "
                    f"speaks with {' and '.join(sorted(roles))} only"
                )

    tcp.TLSConnector.comm_class = CheckedTLS
    tcp.TLSListener.comm_class = CheckedTLS


def role_of(certificate: Mapping[str, Any]) -> str:
    """The unit in a certificate as Python's ssl gives it; empty: none."""
    names: Iterable[tuple[tuple[str, str], ...]] = certificate.get("subject", ())
    units = [value for pairs in names for name, value in pairs if name == "organizationalUnitName"]
    return units[0] if len(units) == 1 else ""


def _allowed_module(name: str) -> Any:
    """Dask's messages name members of enumerations, with their module; only one is needed."""
    if name != "distributed.core":
        raise RefusedError(f"a message names something of {name}; only the states of workers are read")
    core = import_module(name)

    class States:
        Status = core.Status

    return States
