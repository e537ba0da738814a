"""The private things of Dask are all there, and tasks that are not attempts become refusals."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from types import CodeType

import pytest

import benchgate
from benchgate.features.fleet import dask_private, limited
from benchgate.features.fleet.certificates import CLIENT
from benchgate.features.fleet.errors import FleetError, RefusedError

FLEET = Path(benchgate.__file__).parent / "features" / "fleet"
spec = pytest.importorskip("dask._task_spec")


def test_the_installed_version_has_every_part() -> None:
    """If not, find out what took its place before the cap in pyproject.toml is raised."""
    assert dask_private.missing() == []


@pytest.mark.parametrize("part", [*dask_private.PARTS, "distributed.core:Server.handlers"])
def test_a_part_that_is_gone_is_named(monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    module, _, names = part.partition(":")
    if part in dask_private.SET_BY_INIT:
        monkeypatch.setattr(f"{module}.Server.__init__", lambda _: None)
    else:
        *of, name = names.split(".")
        monkeypatch.delattr(
            attrgetter(".".join(of))(import_module(module)) if of else import_module(module), name
        )
    assert part in dask_private.missing()
    with pytest.raises(FleetError, match=f"has no .*{re.escape(part)}"):
        dask_private.limit(CLIENT)


LIMITED = """
from importlib import import_module
from benchgate.features.fleet import dask_private
dask_private.limit("client")
serialize = import_module("distributed.protocol.serialize")
state = {"__Enum__": True, "__module__": "distributed.core", "__name__": "Status", "name": "running"}
print(serialize.msgpack_decode_default(state).name)
try:
    serialize.msgpack_decode_default({**state, "__module__": "distributed.utils"})
except Exception as error:
    print(error)
"""


def test_a_message_names_states_of_workers_and_nothing_else_of_dask() -> None:
    """In a process of its own, because a limit cannot be undone."""
    done = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "running",
        "a message names something of distributed.utils; only the states of workers are read",
    ]


def words_of(code: CodeType) -> set[str]:
    """The words among the constants of a function: its handlers are a literal there."""
    result: set[str] = set()
    for co_const in code.co_consts:
        result |= {co_const} if isinstance(co_const, str) else set()
        result |= (
            {word for word in co_const if isinstance(word, str)} if isinstance(co_const, tuple) else set()
        )
    return result


def calls(kind: limited.Calls) -> set[str]:
    return set().union(*kind.values())


def test_dask_has_every_call_that_is_left() -> None:
    """A call with another name would be refused, and the fleet would hang."""
    from distributed import core, scheduler, worker

    every = [core.Server, scheduler.Scheduler, worker.Worker, worker.BaseWorker]
    known = set().union(*(words_of(one.__init__.__code__) for one in every))
    left = calls(limited.WORKER_CALLS) | calls(limited.SCHEDULER_CALLS) | limited.WORKER_STREAM
    assert (left | calls(limited.SCHEDULER_STREAM)) - known == set()


def test_no_other_module_touches_what_is_private() -> None:
    names = {
        part.rpartition(".")[2].rpartition(":")[2]
        for part in (*dask_private.PARTS, *dask_private.SET_BY_INIT)
    }
    private = {name for name in names if name.startswith("_")} | {
        "thread_state",
        "heartbeat_interval",
        "comm_class",
    }
    others = [path for path in FLEET.glob("*.py") if path.name != "dask_private.py"]
    used = {path.name: re.findall(rf"\.({'|'.join(sorted(private))})\b", path.read_text()) for path in others}
    assert {name: words for name, words in used.items() if words} == {}
    assert re.findall(rf"\.({'|'.join(sorted(private))})\b", inspect.getsource(dask_private))


def test_a_call_of_ours_is_carried_out() -> None:
    from benchgate.features.fleet import work

    message = {"key": "k", "run_spec": spec.Task("k", work.carry_out, b"task"), "actor": False}
    assert dask_private.ours(message) == message
    message = {
        "key": "k",
        "run_spec": spec.Task("k", work.put_input, b"sha", b"content"),
        "actor": False,
    }
    assert dask_private.ours(message) == message


@pytest.mark.parametrize("kind", ["system", "argument", "keyword", "actor", "nested", "nothing"])
def test_any_other_task_is_a_refusal(kind: str) -> None:
    from benchgate.features.fleet import work

    made = {
        "system": spec.Task("k", os.system, "true"),
        "argument": spec.Task("k", work.carry_out, "text"),
        "keyword": spec.Task("k", work.carry_out, task=b""),
        "actor": spec.Task("k", work.carry_out, b""),
        "nested": spec.Task("k", work.carry_out, spec.Task("j", os.system, "true")),
        "nothing": None,
    }[kind]
    result = dask_private.ours({"key": "k", "run_spec": made, "actor": kind == "actor"})
    assert not result["actor"]
    with pytest.raises(RefusedError, match="carries out attempts only"):
        result["run_spec"]()
