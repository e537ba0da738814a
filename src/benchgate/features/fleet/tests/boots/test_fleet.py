"""A session whose runs two workers made leaves the files of one machine, byte for byte."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import psutil
import pytest

from benchgate.features.fleet import doubles
from benchgate.features.fleet.tests import fleetkit
from benchgate.features.fleet.tests.fleetkit import assert_verified, assert_whole
from benchgate.features.fleet.tests.twosessions import WHO, differences
from benchgate.run import forked
from tests.machines import PATIENCE_S, wait_until


@pytest.mark.long
def test_a_fleets_session_is_that_of_one_machine(tmp_path: Path) -> None:
    fleetkit.require()
    with fleetkit.fleet(tmp_path) as fleet:
        alone = fleet.session()
        fleet.scheduler()
        fleet.workers(left="good", right="good")
        assert alone.ended() == 0, alone.program.said
        made = fleet.session("--fleet", fleet.address)
        assert_whole(made)
    assert differences(alone.folder, made.folder) == []
    who = [json.loads(path.read_text())["worker"] for path in sorted(made.folder.glob(f"runs/*/{WHO}"))]
    assert len(who) == len(fleetkit.WHOLE)
    assert {who[0], who[1]} == {"left", "right"}  # the first seed, and its repetition
    facts = json.loads((made.folder / "session.json").read_text())["fleet"]
    assert {fact["name"]: fact["runs"] for fact in facts["workers"]} == {
        name: who.count(name) for name in who
    }
    assert facts["dropped"] == []


@pytest.mark.parametrize("words", [(), ("--start", "fork")])
def test_a_warm_row_of_a_fleet_repeats_to_the_digit(tmp_path: Path, words: tuple[str, ...]) -> None:
    """Each worker makes the snapshots itself, and its runs are those of the session that measures here,
    also if they are forks there."""
    fleetkit.require()
    warm = "linux:start=warm"
    with fleetkit.fleet(tmp_path) as fleet:
        alone = fleet.session(system=warm, seeds=1)
        fleet.scheduler()
        fleet.workers(left="good", right="good")
        assert alone.ended() == 0, alone.program.said
        made = fleet.session("--fleet", fleet.address, *words, system=warm, seeds=1)
        assert made.ended() == 0, made.program.said
        assert_verified(made)
    ours, theirs = (
        {run: without_memory(files) for run, files in session.runs().items()} for session in (alone, made)
    )
    assert sorted(theirs) == sorted(ours) == [(1, False), (1, True)]
    assert all("start.json" in files for files in theirs.values())
    assert all((forked.FILE in files) == bool(words) for files in theirs.values())
    assert {run: doubles.first_difference(theirs[run], ours[run]) for run in ours} == dict.fromkeys(ours, "")
    who = [json.loads(path.read_text())["worker"] for path in sorted(made.folder.glob(f"runs/*/{WHO}"))]
    assert {who[0], who[1]} == {"left", "right"}


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_worker_that_forks_is_killed_and_the_other_makes_its_runs(
    tmp_path: Path, number: signal.Signals
) -> None:
    """Its template and its forks die with it, and no run is lost."""
    fleetkit.require()
    with fleetkit.fleet(tmp_path) as fleet:
        fleet.scheduler()
        workers = fleet.workers(left="good", right="good")
        made = fleet.session("--fleet", fleet.address, "--start", "fork", system="kernel:start=warm")
        left = psutil.Process(workers["left"].process.pid)
        assert wait_until(lambda: any("qemu" in one.name() for one in left.children(recursive=True)))
        started = left.children(recursive=True)
        workers["left"].signal(number)
        _, alive = psutil.wait_procs(started, timeout=PATIENCE_S)
        assert not alive
        assert_whole(made)


def without_memory(files: dict[str, bytes]) -> dict[str, bytes]:
    """No worker keeps the memory at the end of a run."""
    return {name: content for name, content in files.items() if name != "memory.txt"}
