"""A run is packed once for all requests of it, and never for those of another run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.exploring import Exploration, Strategy
from benchgate.base.runs import Deadlines
from benchgate.fleet.packs import Packs
from benchgate.fleet.task import Task
from benchgate.run.attempt import RunRequest
from tools.fleet_scale import request_of

MOST = 10


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
    one = rig.request(1)
    argv = (*one.spec.argv, "-m")
    changed = (
        rig.request(2),
        replace(one, guest_digest="f" * 64),
        replace(one, cell=replace(one.cell, cpus=3)),
        replace(one, spec=replace(one.spec, argv=argv)),
        replace(one, spec=replace(one.spec, deadlines=Deadlines(60.0, 61.0))),
        replace(one, spec=replace(one.spec, exploration=Exploration(Strategy.SYNC))),
    )
    assert len({rig.packs.same(each) for each in (one, *changed)}) == 1 + len(changed)
    assert rig.packs.same(replace(one, warmup=True, attempt=7)) == rig.packs.same(one)
