"""What is left of Dask: calls by role, tasks that are attempts, and peers with the right certificate."""

from __future__ import annotations

from typing import Any

import pytest

from benchgate.base.errors import RefusedError
from benchgate.fleet import limited
from benchgate.fleet.certificates import CLIENT, SCHEDULER, WORKER

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
