"""What is left of Dask's scheduler, worker and client: which calls a peer may ask for, by its role, and which
objects its pickles may make.

Takes a role, a name or a certificate; gives what is allowed, for dask_private.py, which puts it in force.
Dask is made to run whatever code a peer sends: functions, plugins, uploaded modules. Here a process answers
only the calls that attempts need. What does not pass is refused with an error, which the peer gets; it never
runs.

Dask sends everything that is not plain data as pickles, and reads them before it looks at what was asked.
`loads` takes pickles; gives what they say if they name only Dask's own form of a task and the functions of
ENTRIES: bytes from a stranger make no other object here. Fails with UnpicklingError otherwise.
"""

from __future__ import annotations

import io
import pickle
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from contextvars import ContextVar
from importlib import import_module
from typing import Any

from benchgate.features.fleet.certificates import CLIENT, SCHEDULER, WORKER
from benchgate.features.fleet.errors import RefusedError

ENTRIES = tuple(
    ("benchgate.features.fleet.work", name) for name in ("carry_out", "put_input", "tell", "hold")
)
"""What a task may call. Each takes bytes, gives bytes, and trusts none of them."""
_TASKS = (
    ("dask._expr", "Expr._reconstruct"),
    ("dask._expr", "LLGExpr"),
    ("dask._task_spec", "Task"),
    ("distributed.client", "SourceCode"),
    ("builtins", "bytes"),  # what each answer is
)
_REPORTS = (
    ("tblib.pickling_support", "unpickle_exception_with_attrs"),
    ("tblib.pickling_support", "unpickle_exception"),
    ("tblib.pickling_support", "unpickle_traceback"),
    *(("tblib", name) for name in ("Traceback", "Frame", "Code")),
)
"""How Dask sends an error with its traceback. They set attributes of what was made from names allowed here,
and run one fixed statement, which raises."""
NAMES = frozenset({*ENTRIES, *_TASKS, *_REPORTS})
_OURS = ("benchgate.base.errors", "benchgate.features.fleet.errors")
_ERRORS = ("builtins", "asyncio.exceptions", "distributed", "dask", *_OURS)
"""Dask may send classes of errors from these modules in the place of a result."""
Calls = Mapping[str, Collection[str]]
"""What each role may ask for; an empty role: anybody, over TCP on one machine."""
PEERS: Mapping[str, frozenset[str]] = {
    SCHEDULER: frozenset({WORKER, CLIENT}),
    WORKER: frozenset({SCHEDULER}),
    CLIENT: frozenset({SCHEDULER}),
}
"""The roles with which a role speaks. Workers do not speak with each other: no run needs what another has."""
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
    | {"keep-alive", "log-event", "worker-status-change", "request-refresh-who-has"}
)
_ANY_STREAM = _CLIENT_STREAM | _WORKER_STREAM
SCHEDULER_STREAM: Calls = {"": _ANY_STREAM, CLIENT: _CLIENT_STREAM, WORKER: _WORKER_STREAM}
peer_role: ContextVar[str] = ContextVar("peer", default="")
"""The role of the peer whose call is being answered."""


class _LimitedUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in NAMES or _is_error(module, name):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(
            f"a message names {module}.{name}; a fleet of benchgate reads messages about attempts only"
        )


def loads(data: bytes, *, buffers: Iterable[Any] = ()) -> Any:
    """Takes the place of distributed.protocol.pickle.loads."""
    return _LimitedUnpickler(io.BytesIO(data), buffers=buffers).load()


def _is_error(module: str, name: str) -> bool:
    """The error's module is loaded already, so making the error has no other effect."""
    if not any(module == error or module.startswith(f"{error}.") for error in _ERRORS):
        return False
    result = getattr(sys.modules.get(module), name, None)
    return isinstance(result, type) and issubclass(result, BaseException)


class HandlerFilter(dict[str, Any]):
    """Handlers by name, without those that the peer's role may not ask for, also if they are added later."""

    def __init__(self, calls: Calls, handlers: Mapping[str, Any]) -> None:
        super().__init__(handlers)
        self._calls = calls

    def __getitem__(self, name: str) -> Any:
        if name not in self._calls.get(peer_role.get(), ()):
            raise KeyError(name)  # the peer sees no such handler
        return super().__getitem__(name)


def entries() -> tuple[Callable[..., bytes], ...]:
    """The functions that a task may call."""
    return tuple(getattr(import_module(module), name) for module, name in ENTRIES)


def role_of(certificate: Mapping[str, Any]) -> str:
    """The unit in a certificate as Python's ssl gives it; empty: none."""
    names: Iterable[tuple[tuple[str, str], ...]] = certificate.get("subject", ())
    units = [value for pairs in names for name, value in pairs if name == "organizationalUnitName"]
    return units[0] if len(units) == 1 else ""


def allowed_module(name: str) -> Any:
    """Dask's messages name members of enumerations, with their module; only one is needed."""
    if name != "distributed.core":
        raise RefusedError(f"a message names something of {name}; only the states of workers are read")
    core = import_module(name)

    class States:
        Status = core.Status

    return States
