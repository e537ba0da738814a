"""A command line travels without a path of this machine, and is whole again on the worker."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgate.base.cells import Lane
from benchgate.base.exploration import Exploration, Strategy
from benchgate.base.system.script import Script, ScriptStep
from benchgate.features.fleet.errors import FleetError
from benchgate.features.fleet.task import (
    LARGEST,
    FolderFile,
    GuestFile,
    Item,
    StandIn,
    WorkerPath,
    filled,
    is_plain_path,
    manifest,
    task_bytes,
    task_digest,
    task_of_bytes,
    templated,
)
from benchgate.features.fleet.tests.tasks import ARGV, PLACES, SHA, task
from benchgate.run.console import ConsoleLimits
from benchgate.run.watch import Watch


def test_no_path_is_left() -> None:
    texts = [part for word in templated(ARGV, PLACES) for part in word if isinstance(part, str)]
    assert [text for text in texts if text.startswith("/") or "/cache" in text or "/runs" in text] == []
    assert (GuestFile(SHA["kernel"]),) in templated(ARGV, PLACES)


def test_the_same_paths_give_the_same_command_line_again() -> None:
    paths = {place: path for path, place in PLACES.items()}
    assert filled(templated(ARGV, PLACES), lambda place: paths[place]) == ARGV


def test_a_worker_has_its_own_paths() -> None:
    words = templated(
        ("-plugin", "/a/clock.so,out=/runs/1/clock.log,seed=1"), {"/a/clock.so": WorkerPath("plugin")}
    )
    assert words[1] == (WorkerPath("plugin"), ",out=/runs/1/clock.log,seed=1")
    both: Mapping[str, StandIn] = {
        "/a/clock.so": WorkerPath("plugin"),
        "/runs/1/clock.log": FolderFile("clock.log"),
    }
    words = templated(("-plugin", "/a/clock.so,out=/runs/1/clock.log,seed=1"), both)
    there: Mapping[StandIn, str] = {
        WorkerPath("plugin"): "/w/c.so",
        FolderFile("clock.log"): "/w/r/clock.log",
    }
    assert filled(words, lambda place: there[place])[1] == "/w/c.so,out=/w/r/clock.log,seed=1"


def test_only_whole_paths_are_replaced() -> None:
    places = {"/data": GuestFile("a" * 64), "/data/two": GuestFile("b" * 64)}
    words = ("/database", "/mnt/data", "/data", "x=/data/two", "/data,y", "/data/three")
    result = [word != (text,) for text, word in zip(words, templated(words, places), strict=True)]
    assert result == [False, False, True, True, True, False]
    assert templated(("x=/data/two",), places) == (("x=", GuestFile("b" * 64)),)


def by_expression(word: str, places: Mapping[str, StandIn]) -> tuple[object, ...]:
    """Another way to the same parts."""
    longest = "|".join(map(re.escape, sorted(places, key=len, reverse=True)))
    pieces = re.split(rf"(?<![^=,])({longest})(?![^,])", word)
    result = [places[piece] if number % 2 else piece for number, piece in enumerate(pieces)]
    return tuple(one for one in result if one != "")


@given(st.text("/ab=,", max_size=30), st.sets(st.text("/ab", min_size=1, max_size=4), min_size=1, max_size=4))
def test_words_are_split_where_whole_paths_stand(word: str, paths: set[str]) -> None:
    places: dict[str, StandIn] = {path: GuestFile(path) for path in paths}
    assert templated((word,), places) == (by_expression(word, places),)


def test_a_path_with_a_comma_is_found_as_qemu_writes_it() -> None:
    assert templated(("file=/a,,b,x=1",), {"/a,b": GuestFile("a" * 64)}) == (
        ("file=", GuestFile("a" * 64), ",x=1"),
    )


def test_the_guests_own_words_stay() -> None:
    assert templated(("-append", "root=/data"), {"/data": GuestFile("a" * 64)})[1] == ("root=/data",)


def test_what_travels_is_what_no_worker_has() -> None:
    assert [file.role for file in task().files] == ["kernel", "initrd"]
    assert task().digest_of("qemu") == SHA["qemu"]
    assert task().digest_of("disk") == ""


def test_a_manifest_is_one_text_of_its_items() -> None:
    items = [Item("kernel", "b" * 64), Item("clock", "a" * 64), Item("kernel", "b" * 64)]
    assert manifest(items) == f"clock {'a' * 64}\nkernel {'b' * 64}\n"


@pytest.mark.parametrize(("path", "plain"), [("/var/lib/w-1/x.so", True), ("/a b", False), ("/a,b", False)])
def test_paths_of_a_worker_are_plain(path: str, plain: bool) -> None:
    assert is_plain_path(path) is plain


@pytest.mark.parametrize("path", ["", "a/b", "/a:b", "/a\n", "/a$HOME", "/ä"])
def test_others_are_not(path: str) -> None:
    assert not is_plain_path(path)


SCRIPT = Script(
    "$ ",
    (ScriptStep("echo {n}", "$ ", r"^(\d+)$", ("n=(\\d+)",), False, 2.5), ScriptStep(None, "# ")),
    "up",
    "\r",
)
Change = Callable[[dict[str, Any]], Any]


def changed(change: Change) -> bytes:
    value = json.loads(task_bytes(task()))
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
    assert task_of_bytes(task_bytes(one)) == one


def test_who_vouches_does_not_change_the_run() -> None:
    assert task_digest(task()) == task_digest(task(vouched="somebody"))
    assert task_digest(task()) != task_digest(task(seed=2))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda v: v.update(schema=1), "the task: schema is not 5"),
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
        task_of_bytes(changed(change))
    assert why in str(error.value)
    assert str(error.value).startswith("this is not a task that this version of benchgate sends: ")


@pytest.mark.parametrize("data", [b"", b"[]", b"\x80\x04.", b'{"schema": 1, "schema": 1}', b"[" * 100_000])
def test_no_task_at_all(data: bytes) -> None:
    with pytest.raises(FleetError, match="not a task"):
        task_of_bytes(data)


def test_a_task_is_not_large() -> None:
    with pytest.raises(FleetError, match="at most"):
        task_of_bytes(b" " * (LARGEST + 1))


def test_limits_of_a_console_have_a_limit() -> None:
    many = task()
    many = replace(many, limits=replace(many.limits, console_bytes=1 << 50))
    assert task_of_bytes(task_bytes(many)).limits.console_bytes == 256 << 20


def test_own_programs_have_names_not_paths() -> None:
    assert (WorkerPath("qemu"),) in task_of_bytes(task_bytes(task())).argv
