"""A request becomes the same task on every machine and in every session, and on a worker the same boot."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.cells import Lane
from benchgate.base.exploration import Exploration, Strategy
from benchgate.base.files import file_digest
from benchgate.base.runs import Deadlines
from benchgate.base.system.qemu import Qemu
from benchgate.features.fleet.equipment import Equipment
from benchgate.features.fleet.errors import FleetError
from benchgate.features.fleet.packing import Packs, packed, unpacked
from benchgate.features.fleet.task import Task, task_of_bytes
from benchgate.run.attempt import RunRequest
from tests.standin import request_of

CLOCK = "c" * 64
MOST = 10


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "kernel").write_bytes(b"kernel")
    return tmp_path


def test_a_run_has_one_key_whoever_asks(files: Path, tmp_path: Path) -> None:
    here = packed(request_of(3, Path("/a/runs/0001-x"), files, attempt=1), file_digest, CLOCK)
    there = packed(request_of(3, Path("/b/runs/0007-x"), files, attempt=7, warmup=True), file_digest, CLOCK)
    assert here.key == there.key
    assert here.sent == there.sent
    assert packed(request_of(4, Path("/a/runs/0001-x"), files), file_digest, CLOCK).key != here.key
    (files / "kernel").write_bytes(b"another kernel")
    assert packed(request_of(3, Path("/a/runs/0001-x"), files), file_digest, CLOCK).key != here.key


def test_no_path_of_this_machine_is_sent(files: Path) -> None:
    sent = packed(request_of(3, Path("/somewhere/runs/0001-x"), files), file_digest, CLOCK).sent
    assert str(files).encode() not in sent
    assert b"/somewhere" not in sent


def test_a_worker_puts_its_own_paths_in_their_place(files: Path) -> None:
    request = request_of(3, Path("/a/runs/0001-x"), files)
    package = packed(request, file_digest, CLOCK)
    qemu = Qemu(Path("/w/qemu"), {"LD_LIBRARY_PATH": "/w/lib"}, (Path("/w/share"),), (10, 0, 2), "a" * 64)
    inputs = {sha256: Path("/w/inputs") / sha256 for sha256 in package.files}
    (kernel,) = inputs.values()
    task = task_of_bytes(package.sent)
    again = unpacked(task, Path("/w/runs/1"), Equipment(qemu, Path("/w/clock.so")), inputs)
    theirs = {
        str(files / "bin" / "qemu"): "/w/qemu",
        str(files / "share"): "/w/share",
        str(files / "kernel"): str(kernel),
        f"{files}/clock.so,out=/a/runs/0001-x/clock.log,seed=3": "/w/clock.so,out=/w/runs/1/clock.log,seed=3",
    }
    assert again.spec.argv == tuple(theirs.get(word, word) for word in request.spec.argv)
    assert again.spec.environment == {"LD_LIBRARY_PATH": "/w/lib", "LD_PRELOAD": "/w/clock.so"}
    assert (again.cell, again.nonce, again.seed) == (request.cell, request.nonce, request.seed)
    assert again.spec.deadlines == request.spec.deadlines


def test_only_the_instruction_clock_travels(files: Path) -> None:
    request = request_of(3, Path("/a"), files)
    wall = replace(request, spec=replace(request.spec, lane=Lane.TCG))
    with pytest.raises(FleetError, match=r"kernel-smp2: with --clock insn a fleet makes no run on lane tcg"):
        packed(wall, file_digest, CLOCK)
    with pytest.raises(FleetError, match=r"with --clock wall a fleet makes no run on lane insn"):
        packed(request, file_digest, CLOCK, hold="token")


def test_a_run_in_wall_time_is_for_one_held_host(files: Path) -> None:
    request = request_of(3, Path("/a/runs/0001-x"), files)
    uses = replace(request.spec.uses, plugin=None) if request.spec.uses else None
    words = [word for word in request.spec.argv if "clock.so" not in word and word != "-plugin"]
    spec = replace(request.spec, lane=Lane.TCG, pins=(4, 2), argv=tuple(words), uses=uses)
    package = packed(replace(request, spec=spec), file_digest, CLOCK, hold="token")
    task = task_of_bytes(package.sent)
    assert (task.lane, task.pins, task.hold) == (Lane.TCG, (4, 2), "token")
    qemu = Qemu(Path("/w/qemu"), {}, (Path("/w/share"),), (10, 0, 2), "a" * 64)
    inputs = {sha256: Path("/w/inputs") / sha256 for sha256 in package.files}
    there = unpacked(task, Path("/w/runs/1"), Equipment(qemu, Path("/w/clock.so")), inputs).spec
    assert (there.lane, there.pins, there.environment) == (Lane.TCG, (4, 2), {})


def test_a_command_line_that_no_worker_starts_is_named(files: Path) -> None:
    request = request_of(3, Path("/a"), files)
    more = replace(request.spec, argv=(*request.spec.argv, "-netdev", "user,id=n,hostfwd=tcp::5555-:22"))
    with pytest.raises(FleetError, match=r"cannot be made on a fleet: .*netdev"):
        packed(replace(request, spec=more), file_digest, CLOCK)


def test_the_owners_signature_changes_no_key(files: Path) -> None:
    request = request_of(3, Path("/a"), files)
    signed = packed(request, file_digest, CLOCK, lambda task: f"signed {len(task.items)}")
    assert signed.task.vouched == "signed 3"
    assert signed.key == packed(request, file_digest, CLOCK).key


def test_an_exploration_is_part_of_the_task(files: Path) -> None:
    request = request_of(3, Path("/a"), files)
    explored = [
        packed(replace(request, spec=replace(request.spec, exploration=exploration)), file_digest, CLOCK)
        for exploration in (None, Exploration(Strategy.SYNC, 7), Exploration(Strategy.SYNC, 8))
    ]
    assert len({package.key for package in explored}) == 3
    there = Equipment(
        Qemu(Path("/w/qemu"), {}, (Path("/w/share"),), (10, 0, 2), "a" * 64), Path("/w/clock.so")
    )
    for package in explored:
        task = task_of_bytes(package.sent)
        inputs = {sha256: Path("/w/inputs") / sha256 for sha256 in package.files}
        spec = unpacked(task, Path("/w/runs/1"), there, inputs).spec
        assert (spec.exploration.text if spec.exploration else "") == task.exploration
    assert explored[1].task.exploration == Exploration(Strategy.SYNC, 7).text


class Rig:
    def __init__(self, folder: Path) -> None:
        (folder / "kernel").write_bytes(b"kernel")
        self.folder, self.seeds = folder, list[int]()
        self.packs = Packs(self._vouch)

    def _vouch(self, task: Task) -> str:
        """Called for each run that is packed."""
        self.seeds.append(task.seed)
        return ""

    def request(self, seed: int, name: str = "ahead") -> RunRequest:
        return request_of(seed, self.folder / name, self.folder)


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


def test_a_run_is_packed_once_for_each_request_and_folder(rig: Rig) -> None:
    ahead = rig.request(1)
    first = rig.packs.of(ahead)
    for _ in range(3):
        rig.packs.begin_round(MOST)
        assert rig.packs.of(ahead) is first
    assert rig.packs.of(rig.request(1, "0001-primes")) is first
    assert rig.seeds == [1]


def test_what_was_taken_or_is_too_much_is_forgotten(rig: Rig) -> None:
    for seed in range(1, MOST + 2):
        rig.packs.of(rig.request(seed))
    rig.packs.taken(rig.request(1, "0001-primes"))
    rig.packs.begin_round(MOST)
    rig.packs.of(rig.request(2))
    assert len(rig.seeds) == MOST + 1
    rig.packs.of(rig.request(1))
    assert rig.seeds[-1] == 1
    rig.packs.begin_round(MOST)  # one too many
    rig.packs.of(rig.request(2))
    assert rig.seeds[-1] == 2


def test_a_request_that_came_to_the_place_of_a_lost_one_is_its_own(rig: Rig) -> None:
    """An id is used again as soon as its object is gone."""
    for seed in range(1, 200):
        assert rig.packs.of(rig.request(seed)).task.seed == seed
        rig.packs.begin_round(MOST)


def test_every_difference_makes_another_run(rig: Rig) -> None:
    request = rig.request(1)
    argv = (*request.spec.argv, "-m")
    changed = (
        rig.request(2),
        replace(request, guest_digest="f" * 64),
        replace(request, cell=replace(request.cell, cpus=3)),
        replace(request, spec=replace(request.spec, argv=argv)),
        replace(request, spec=replace(request.spec, deadlines=Deadlines(60.0, 61.0))),
        replace(request, spec=replace(request.spec, exploration=Exploration(Strategy.SYNC))),
    )
    assert len({rig.packs.same(each) for each in (request, *changed)}) == 1 + len(changed)
    assert rig.packs.same(replace(request, warmup=True, attempt=7)) == rig.packs.same(request)
