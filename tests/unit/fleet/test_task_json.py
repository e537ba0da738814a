"""A task is read again as it was sent, and anything else in its place is refused with what is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from benchgate.base.cells import Lane
from benchgate.base.errors import FleetError
from benchgate.base.exploration import Exploration, Strategy
from benchgate.base.system.script import Script, ScriptStep
from benchgate.fleet.task import WorkerPath
from benchgate.fleet.task_json import LARGEST, as_bytes, digest, from_bytes
from benchgate.run.console import ConsoleLimits
from benchgate.run.watch import Watch
from tests.unit.fleet.tasks import task

SCRIPT = Script(
    "$ ",
    (ScriptStep("echo {n}", "$ ", r"^(\d+)$", ("n=(\\d+)",), False, 2.5), ScriptStep(None, "# ")),
    "up",
    "\r",
)
Change = Callable[[dict[str, Any]], Any]


def changed(change: Change) -> bytes:
    value = json.loads(as_bytes(task()))
    change(value)
    return json.dumps(value).encode()


@pytest.mark.parametrize(
    "one",
    [
        task(),
        task(script=SCRIPT, talks=True),
        task(limits=ConsoleLimits(halted_s=1.0)),
        task(lane=Lane.KVM, pins=(3, 1), hold="0123abcd"),
        task(watch=Watch(result=b"\xff\n", ends=(b"a", b"b\x80"), success=frozenset({3, 0}), may_reset=True)),
        task(
            shape="node 0\nnode 1\n",
            exploration=Exploration(Strategy.SYNC, 7).text,
            vouched="-----BEGIN\nabc\n",
        ),
    ],
)
def test_a_task_is_read_as_it_was_sent(one: Any) -> None:
    assert from_bytes(as_bytes(one)) == one


def test_who_vouches_does_not_change_the_run() -> None:
    assert digest(task()) == digest(task(vouched="somebody"))
    assert digest(task()) != digest(task(seed=2))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda v: v.update(schema=1), "the task: schema is not 3"),
        (lambda v: v.update(lane="native"), "its lane cannot be native"),
        (lambda v: v.update(pins=[0]), "has no CPUs of its own"),
        (lambda v: v.update(hold="x"), "holds no host"),
        (lambda v: v.update(lane="tcg", hold="x"), "a run in wall time names its CPUs"),
        (lambda v: v.update(lane="kvm", pins=[0]), "the session that holds the host"),
        (lambda v: v.update(exploration="strategy sync\n"), "line 1: expected `benchgate-exploration`"),
        (lambda v: v.update(more=1), "unknown key 'more'"),
        (lambda v: v.pop("nonce"), "the task has no nonce"),
        (lambda v: v.update(nonce="a b"), "nonce 'a b' is not a plain word"),
        (lambda v: v.update(seed=-1), "seed -1"),
        (lambda v: v.update(boot_s=1e9), "boot_s"),
        (lambda v: v.update(talks=1), "talks 1 has a wrong type"),
        (lambda v: v["items"].append(["python", "a" * 64]), "items[4][0] 'python' is not one of"),
        (lambda v: v["items"].append(["kernel", "A" * 64]), "is not a SHA-256"),
        (lambda v: v["items"].append(["kernel"]), "does not have 2 values"),
        (lambda v: v["argv"].append("-S"), "argv[49] '-S' has a wrong type"),
        (lambda v: v["argv"].append([["-S"]]), "a part of a word is not an object"),
        (lambda v: v["argv"].append([{"own": "../qemu"}]), "a worker can have no {'own': '../qemu'}"),
        (lambda v: v["argv"].append([{"run": "../../x"}]), "a worker can have no {'run': '../../x'}"),
        (lambda v: v["argv"].append([{"run": "run.json"}]), "a worker can have no {'run': 'run.json'}"),
        (lambda v: v["argv"].append([{"input": "/etc/passwd"}]), "a worker can have no {'input': "),
        (lambda v: v["argv"].append([{"path": "/etc/passwd"}]), "a worker can have no {'path': "),
        (lambda v: v["argv"].append([{"run": "clock.log", "x": "1"}]), "a worker can have no"),
        (lambda v: v["argv"].append(["a\nb"]), "control character"),
        (lambda v: v["argv"].append(["a" * 70_000]), "too long"),
        (lambda v: v["argv"].extend([["-S"]] * 1000), "argv has 1049 values; 0 to 1000 are possible"),
        (lambda v: v["cell"].update(cpus=0), "cpus"),
        (lambda v: v["watch"].update(ends=["("]), "is not a regular expression"),
        (lambda v: v["watch"].update(ready="x*"), "matches the empty string"),
    ],
)
def test_what_is_wrong_is_said(change: Change, why: str) -> None:
    with pytest.raises(FleetError) as error:
        from_bytes(changed(change))
    assert why in str(error.value)
    assert str(error.value).startswith("this is not a task that this version of benchgate sends: ")


@pytest.mark.parametrize("data", [b"", b"[]", b"\x80\x04.", b'{"schema": 1, "schema": 1}', b"[" * 100_000])
def test_no_task_at_all(data: bytes) -> None:
    with pytest.raises(FleetError, match="not a task"):
        from_bytes(data)


def test_a_task_is_not_large() -> None:
    with pytest.raises(FleetError, match="at most"):
        from_bytes(b" " * (LARGEST + 1))


def test_limits_of_a_console_have_a_limit() -> None:
    many = task()
    many = replace(many, limits=replace(many.limits, console_bytes=1 << 50))
    assert from_bytes(as_bytes(many)).limits.console_bytes == 256 << 20


def test_own_programs_have_names_not_paths() -> None:
    assert (WorkerPath("qemu"),) in from_bytes(as_bytes(task())).argv
