"""A worker saves the guest that the session saved, from the command line of one that starts there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.exploration import Exploration, Strategy
from benchgate.base.runs import BootSpec
from benchgate.base.snapshots import GuestSnapshot, SnapshotRecord
from benchgate.features.fleet import starts
from benchgate.features.fleet.equipment import Equipment
from benchgate.features.fleet.errors import RefusedError
from benchgate.features.fleet.packing import unpacked
from benchgate.features.fleet.task import Task, filled
from benchgate.features.fleet.tests.tasks import (
    CLOCK_HERE,
    IMAGE_HERE,
    QEMU_HERE,
    RUN,
    SHA_HERE,
    image_here,
    vm_here,
    warm_cell,
    warm_request,
    warm_task,
)
from benchgate.plan.planned import PlannedCell
from benchgate.run.argv import BootOptions, guest_spec
from benchgate.run.snapshot_cache import BootToKeep
from benchgate.session import warm_starts

MARK, WORK = "f" * 16, Path("/work")
FILES = {sha256: path for path, sha256 in SHA_HERE.items()}
EQUIPMENT = Equipment(QEMU_HERE, CLOCK_HERE)
CELLS = [
    ("linux:start=warm", "ideal"),
    ("linux:start=warm", "desktop8"),
    ("linux:start=warm", "server2x16"),
    ("linux:arch=aarch64:start=warm", "ideal"),
    ("kernel:start=warm", "ideal"),
]


def boot_of(task: Task) -> BootToKeep:
    assert task.start is not None
    return starts._boot(task, task.start, EQUIPMENT, FILES)


def saved_here(cell: PlannedCell) -> BootSpec:
    """As a session boots the guest of which it takes the snapshot of boot 3."""
    boot = BootOptions(MARK, log=WORK / "clock.log", seed=3, saves=WORK)
    return guest_spec(cell, image_here(cell), vm_here(cell), boot)


@pytest.mark.parametrize("explored", [None, Exploration(Strategy.SYNC, 7)])
@pytest.mark.parametrize(("word", "machine"), CELLS)
def test_the_worker_boots_what_the_session_boots(
    word: str, machine: str, explored: Exploration | None
) -> None:
    cell = warm_cell(word, machine)
    there, here = boot_of(warm_task(cell, explored)).spec(MARK, WORK), saved_here(cell)
    assert there.argv == here.argv
    assert (there.shape, there.talks, there.start, there.words) == (here.shape, True, None, "")
    assert there.exploration is None


@pytest.mark.parametrize(("word", "machine"), CELLS)
def test_the_worker_runs_what_the_session_asked_for(word: str, machine: str) -> None:
    asked = warm_request(warm_cell(word, machine)).spec
    made = unpacked(warm_task(warm_cell(word, machine)), RUN, EQUIPMENT, FILES, asked.start).spec
    assert made.argv == asked.argv
    assert (made.start, made.words) == (asked.start, asked.words)


def test_the_key_of_the_worker_is_of_its_own_boot() -> None:
    """What the task says of the inputs counts for nothing."""
    task = warm_task()
    result = dict(boot_of(task).inputs)
    assert task.start is not None
    lying = replace(task, start=replace(task.start, inputs={"words": "another guest"}))
    assert boot_of(lying).inputs == result
    here = warm_starts._boot(warm_cell(), IMAGE_HERE, vm_here(warm_cell()), 3).inputs
    assert {name for name in here if here[name] != result.get(name)} == {"file kernel_config"}
    assert result.keys() <= here.keys()


def test_the_program_of_a_kernel_that_waits_is_not_in_the_key() -> None:
    cell = warm_cell("kernel:start=warm")
    result = dict(boot_of(warm_task(cell)).inputs)
    assert result == dict(warm_starts._boot(cell, image_here(cell), vm_here(cell), 3).inputs)
    assert [name for name in result if name.startswith("file ")] == ["file kernel"]


def test_a_task_without_a_snapshot_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(starts, "kept")
    assert starts.start_of(replace(warm_task(), start=None), EQUIPMENT, FILES, lambda _: None) is None


OURS = warm_task().start or SnapshotRecord(1, 1, 1, {}, {})


@pytest.mark.parametrize(
    ("found", "differs"),
    [
        (replace(OURS, inputs={"own": "inputs"}), ""),
        (replace(OURS, digests={**OURS.digests, "ram": "b" * 64}), "digests"),
        (replace(OURS, digests={"ram": "a" * 64}), "digests"),
        (replace(OURS, time_ns=OURS.time_ns + 1), "time_ns"),
        (replace(OURS, console=OURS.console + 1), "console"),
    ],
)
def test_a_worker_whose_boot_is_another_refuses(
    monkeypatch: pytest.MonkeyPatch, found: SnapshotRecord, differs: str
) -> None:
    monkeypatch.setattr(starts, "kept", lambda *_: GuestSnapshot(WORK, found))
    if not differs:
        made = starts.start_of(warm_task(), EQUIPMENT, FILES, lambda _: None)
        assert made == GuestSnapshot(WORK, OURS)  # with the session's record
        return
    with pytest.raises(RefusedError, match=rf"is not the session's: {differs} differs"):
        starts.start_of(warm_task(), EQUIPMENT, FILES, lambda _: None)


def test_words_without_a_start_stay() -> None:
    words = starts.saving_words(replace(warm_task(), argv=(("-m",), ("512M",))), MARK, 3)
    assert filled(words, str) == ("-m", "512M")
