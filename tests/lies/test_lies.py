"""Each lie is a result if nobody asks the machine, and none if somebody does. A boot for each."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.workload.witness import COUNT, Promise, parse
from benchgate.build.fetch import inputs
from benchgate.judge import verify
from benchgate.judge.judged_run import judge_run
from tests.lies import (
    another_way,
    by_worker,
    cheap,
    elsewhere,
    for_others,
    invented,
    on_tern,
    recorded,
    shorter,
    stand_ins,
    too_early,
    trials,
)
from tests.lies.trials import BY_ORACLE, LISTED, MADE
from tests.lieskit import Trial, changed
from tests.ternkit import Bootkit, light

ALL = (
    *trials.ALL,
    *stand_ins.ALL,
    *elsewhere.ALL,
    *cheap.ALL,
    *recorded.ALL,
    *invented.ALL,
    *shorter.ALL,
    *by_worker.ALL,
    *another_way.ALL,
    *for_others.ALL,
    *on_tern.ALL,
    *too_early.ALL,
)
FEW = [
    one for one in ALL if one.name in ("micro-fault-zero-page", "service-to-itself", "checksum-done-before")
]
LENIENT = Promise("", {}, (parse("outside <= 1000000 * instructions", lambda _: COUNT),))
"""In place of what holds for a workload that says nothing of what it does before and after its work."""


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Bootkit:
    return Bootkit(tmp_path_factory.mktemp("lies"), inputs.qemu(), True)


def test_there_are_enough_lies_and_each_edit_fits_its_source(tmp_path: Path) -> None:
    assert len({one.name for one in ALL}) == len(ALL)
    assert len(MADE) >= 40 <= len(trials.ALL) - len(LISTED)
    assert len(ALL) - len(trials.ALL) >= 75
    for trial in ALL:
        changed(tmp_path, trial)


@pytest.mark.lies
@pytest.mark.parametrize("trial", ALL, ids=lambda one: one.name)
def test_the_machine_contradicts_a_lie(kit: Bootkit, tmp_path: Path, trial: Trial) -> None:
    is_refused(kit, tmp_path, trial)


@pytest.mark.parametrize("trial", FEW, ids=lambda one: one.name)
def test_three_lies_in_every_run_of_the_tests(kit: Bootkit, tmp_path: Path, trial: Trial) -> None:
    is_refused(kit, tmp_path, trial)


def is_refused(kit: Bootkit, folder: Path, trial: Trial) -> None:
    workload = changed(folder, trial)
    judged = kit.run(trial.booted, workload, trial.cpus, trial.params, threads=True)
    if trial.name.removeprefix("tern-") in BY_ORACLE:
        assert judged.reason.startswith("wrong answer"), judged.reason
        return
    system, silent = light(trial.booted), replace(workload, promises=(LENIENT,), machine={})
    before = judge_run(judged.run, lambda run: verify.verify_on(run, silent, system))
    assert before.verified, before.reason
    assert judged.reason.startswith("the machine contradicts the guest"), judged.reason
