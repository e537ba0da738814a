"""What a worker answers: what it lacks, what it refuses, what is wrong with its host. Nothing boots here."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

from benchgate.base.cells import Lane
from benchgate.base.system.qemu import Qemu
from benchgate.features.fleet import answer, host_json, work
from benchgate.features.fleet.equipment import Equipment, InputStore
from benchgate.features.fleet.errors import RefusedError
from benchgate.features.fleet.host_json import HostQuestion, QuestionKind
from benchgate.features.fleet.measuring import MeasuringPlace
from benchgate.features.fleet.task import CLOCK, QEMU, Item, Task, WorkerPath, task_bytes, task_digest
from benchgate.features.fleet.tests.tasks import SHA, task
from benchgate.host import topology
from benchgate.insn.plugin import source_digest

KERNEL, INITRD = (hashlib.sha256(name).hexdigest() for name in (b"kernel", b"initrd"))
TASK = task(
    items=(
        Item(QEMU, SHA["qemu"]),
        Item(CLOCK, source_digest()),
        Item("kernel", KERNEL),
        Item("initrd", INITRD),
    )
)


@pytest.fixture
def store(tmp_path: Path) -> InputStore:
    return InputStore(tmp_path / "inputs")


@pytest.fixture
def at(tmp_path: Path, store: InputStore, monkeypatch: pytest.MonkeyPatch) -> Callable[..., work.Station]:
    monkeypatch.setattr(work, "_stations", [])

    def station(require: Callable[[Task], None] = lambda _: None, *, has_qemu: bool = True) -> work.Station:
        (tmp_path / "runs").mkdir(exist_ok=True)
        qemu = Qemu(tmp_path / "no-qemu", {}, (), (10, 0, 2), SHA["qemu"])
        own = {qemu.digest: Equipment(qemu, tmp_path / "clock.so")} if has_qemu else {}
        made = work.Station("left", "host", tmp_path / "runs", store, own, require, lambda: True)
        work.work_for(made)
        return made

    return station


def carried_out(asked: Task = TASK) -> answer.WorkerAnswer:
    return answer.read(work.carry_out(task_bytes(asked)))


def test_it_asks_for_the_files_that_it_lacks(at: Callable[..., work.Station], store: InputStore) -> None:
    at()
    assert carried_out().missing == (KERNEL, INITRD)
    assert work.put_input(KERNEL.encode(), b"kernel") == b""
    worker_answer = carried_out()
    assert worker_answer.missing == (INITRD,)
    assert (worker_answer.key, worker_answer.worker, worker_answer.host) == (
        task_digest(TASK),
        "left",
        "host",
    )


def test_an_input_with_another_content_is_not_kept(at: Callable[..., work.Station]) -> None:
    at()
    assert "announced as" in json.loads(work.put_input(KERNEL.encode(), b"another"))
    assert carried_out().missing == (KERNEL, INITRD)


def test_what_the_operator_does_not_allow_is_refused(at: Callable[..., work.Station]) -> None:
    def require(_: Task) -> None:
        raise RefusedError("kernel: not in the list")

    at(require)
    assert carried_out().refused == "kernel: not in the list"


def test_another_qemu_or_clock_is_refused_by_name(at: Callable[..., work.Station]) -> None:
    at(has_qemu=False)
    assert "this worker has none" in carried_out().refused
    at()
    other = task(items=(TASK.items[0], Item(CLOCK, "0" * 64), *TASK.items[2:]))
    assert "instruction clock has sources 000000000000" in carried_out(other).refused


def test_bytes_that_are_no_task_are_refused(at: Callable[..., work.Station]) -> None:
    at()
    assert "not a task" in answer.read(work.carry_out(b"{}")).refused


def test_a_full_disk_is_trouble_of_this_host(
    at: Callable[..., work.Station], monkeypatch: pytest.MonkeyPatch
) -> None:
    at()
    supplied()
    monkeypatch.setattr(work, "LEAST_FREE", 1 << 62)
    assert "MiB free, and a run needs" in carried_out().trouble


WALL = replace(TASK, lane=Lane.TCG, pins=(0, 1), hold="token")


def test_who_measures_wall_time_makes_no_other_runs(at: Callable[..., work.Station]) -> None:
    assert "no measuring host" in carried_out_at(at(), WALL).refused
    held = replace(at(), measuring=MeasuringPlace({}))
    assert "makes runs in wall time only" in carried_out_at(held, TASK).trouble
    assert "another session holds this measuring host" in carried_out_at(held, WALL).refused


def carried_out_at(station: work.Station, asked: Task) -> answer.WorkerAnswer:
    work.work_for(station)
    return carried_out(asked)


def test_questions_and_holds_are_for_a_measuring_host(at: Callable[..., work.Station]) -> None:
    station = at()
    about = host_json.as_bytes(HostQuestion(QuestionKind.ABOUT))
    assert "no measuring host" in host_json.replied(work.tell(about)).error
    assert b"no measuring host" in work.hold(b"token 0")
    work.work_for(replace(station, measuring=MeasuringPlace({}, f"benchgate-test-{uuid4()}")))
    told = host_json.replied(work.tell(about))
    assert (told.worker, told.error, told.value["busy"]) == ("left", "", "")
    assert host_json.topology_of(told.value["topology"]) == topology.read()
    assert "ask" in host_json.replied(work.tell(b"{}")).error
    assert b"could not convert" in work.hold(b"token soon")


def supplied() -> None:
    for name in (b"kernel", b"initrd"):
        assert work.put_input(hashlib.sha256(name).hexdigest().encode(), name) == b""


def test_a_part_that_the_worker_does_not_have_is_refused(at: Callable[..., work.Station]) -> None:
    """The session's QEMU has two folders of data, and this one has none."""
    at()
    supplied()
    assert "data0" in carried_out().refused


def test_a_qemu_that_cannot_be_started_is_trouble_of_this_host(
    at: Callable[..., work.Station], tmp_path: Path
) -> None:
    """It was removed while the worker ran."""
    at()
    supplied()
    argv = ((WorkerPath("qemu"),), ("-name",), (f"guest=benchgate-{TASK.nonce},debug-threads=on",))
    worker_answer = carried_out(replace(TASK, argv=argv))
    assert "no-qemu" in worker_answer.trouble
    assert list((tmp_path / "runs").iterdir()) == []
