"""What is left of Dask: calls by role, tasks that are attempts, and peers with the right certificate."""

from __future__ import annotations

import os
import pickle
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from benchgate.features.fleet import limited
from benchgate.features.fleet.certificates import CLIENT, SCHEDULER, WORKER
from benchgate.features.fleet.errors import RefusedError
from benchgate.features.fleet.limited import ENTRIES, NAMES, loads

CODE = frozenset(
    {
        "run",
        "run_coroutine",
        "run_function",
        "upload_file",
        "plugin-add",
        "plugin_add",
        "feed",
        "actor_execute",
    }
    | {"register_scheduler_plugin", "register_worker_plugin", "register_nanny_plugin", "broadcast", "proxy"}
    | {"restart", "restart_workers", "dump_cluster_state_to_url", "benchmark_disk", "benchmark_hardware"}
)
"""Calls of Dask 2026.8 that run code, write files or reach other addresses."""


def calls(kind: limited.Calls) -> set[str]:
    return set().union(*kind.values())


def test_no_call_that_runs_code_is_left() -> None:
    left = calls(limited.WORKER_CALLS) | calls(limited.SCHEDULER_CALLS) | limited.WORKER_STREAM
    assert left & CODE == set()


def test_a_worker_submits_nothing_and_a_client_reports_nothing() -> None:
    assert "update-graph" not in limited.SCHEDULER_STREAM[WORKER]
    assert "register-client" not in limited.SCHEDULER_CALLS[WORKER]
    assert "task-finished" not in limited.SCHEDULER_STREAM[CLIENT]
    assert WORKER not in limited.WORKER_CALLS


def test_a_role_asks_for_its_own_calls_only() -> None:
    handlers = limited.HandlerFilter({WORKER: {"a"}, CLIENT: {"b"}}, {"a": 1, "b": 2, "c": 3})
    handlers["d"] = 4  # an extension of Dask adds one

    def found(role: str) -> list[str]:
        token = limited.peer_role.set(role)
        try:
            return [name for name in "abcd" if _has(handlers, name)]
        finally:
            limited.peer_role.reset(token)

    assert {role: found(role) for role in (WORKER, CLIENT, SCHEDULER, "")} == {
        WORKER: ["a"],
        CLIENT: ["b"],
        SCHEDULER: [],
        "": [],
    }


def _has(handlers: limited.HandlerFilter, name: str) -> bool:
    try:
        return handlers[name] is not None
    except KeyError:
        return False


@pytest.mark.parametrize(
    ("subject", "role"),
    [
        (((("organizationName", "benchgate fleet"),), (("organizationalUnitName", "worker"),)), "worker"),
        (((("organizationalUnitName", "worker"), ("organizationalUnitName", "scheduler")),), ""),
        (((("commonName", "scheduler"),),), ""),
        ((), ""),
    ],
)
def test_the_role_is_the_only_unit_of_a_certificate(subject: Any, role: str) -> None:
    assert limited.role_of({"subject": subject}) == role
    assert limited.role_of({}) == ""


def test_an_enumeration_of_dask_is_read_and_nothing_else() -> None:
    core = pytest.importorskip("distributed.core")
    assert limited.allowed_module("distributed.core").Status is core.Status
    assert not hasattr(limited.allowed_module("distributed.core"), "asyncio")
    with pytest.raises(RefusedError, match="only the states of workers"):
        limited.allowed_module("distributed.utils")


class Calls:
    """Pickles as a call of a function."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self.call = function, arguments

    def __reduce__(self) -> tuple[Any, ...]:
        return self.call


@pytest.mark.parametrize(
    "hostile",
    [
        Calls(os.system, "true"),
        Calls(eval, "1"),
        Calls(exec, ""),
        Calls(getattr, "", "format"),
        Calls(subprocess.run, ["true"]),
        Calls(__import__, "antigravity"),
        Calls(pickle.loads, b""),
        Calls(Calls, print),
        open,
        type,
    ],
)
def test_a_function_of_a_stranger_is_not_called(hostile: Any) -> None:
    data = pickle.dumps(hostile)
    with pytest.raises(
        pickle.UnpicklingError, match="a fleet of benchgate reads messages about attempts only"
    ):
        loads(data)


def test_an_attribute_of_an_allowed_class_is_not_reached() -> None:
    data = b"\x80\x04\x8c\x0fdask._task_spec\x8c\x14Task.__init__.__self\x93."
    with pytest.raises(pickle.UnpicklingError):
        loads(data)


def test_a_module_is_not_imported_for_its_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(pickle.UnpicklingError, match=r"dask.no_such.Error"):
        loads(b"\x80\x04\x8c\x0cdask.no_such\x8c\x05Error\x93.")


@pytest.mark.parametrize(
    "plain", [b"abc", {"a": (1, 2.5, None)}, [True, "x"], RuntimeError("why"), KeyError(1)]
)
def test_plain_data_and_errors_are_read(plain: Any) -> None:
    assert repr(loads(pickle.dumps(plain))) == repr(plain)


def test_our_own_errors_are_read() -> None:
    result = loads(pickle.dumps(RefusedError("not allowed")))
    assert isinstance(result, RefusedError)


def test_out_of_band_buffers_are_read() -> None:
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(pickle.PickleBuffer(b"abc"), protocol=5, buffer_callback=buffers.append)
    assert bytes(loads(data, buffers=buffers)) == b"abc"


def test_a_task_of_dask_with_our_function_is_read() -> None:
    spec = pytest.importorskip("dask._task_spec")
    from benchgate.features.fleet import work

    result = loads(pickle.dumps(spec.Task("key", work.carry_out, b"task")))
    assert result.func is work.carry_out
    assert result.args == (b"task",)


def test_a_task_of_dask_with_another_function_is_not() -> None:
    spec = pytest.importorskip("dask._task_spec")
    with pytest.raises(pickle.UnpicklingError, match=r"posix.system|nt.system"):
        loads(pickle.dumps(spec.Task("key", os.system, "true")))


def test_each_entry_is_a_function_of_ours() -> None:
    assert {module for module, _ in ENTRIES} == {"benchgate.features.fleet.work"}
    of_others = {module.partition(".")[0] for module, _ in NAMES - {("builtins", "bytes")}}
    assert of_others == {"benchgate", "dask", "distributed", "tblib"}
