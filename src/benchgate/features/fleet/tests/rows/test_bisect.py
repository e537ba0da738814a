"""Each step of a bisect is a session on a fleet: it finds the commit that one machine finds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchgate.features.fleet.tests import fleetkit
from tests.historykit import History, words
from tests.machines import PATIENCE_S

pytestmark = [pytest.mark.fleet, pytest.mark.alone]


def steps_of(folder: Path) -> dict[str, str]:
    return {load["commit"]: load["term"] for load in json.loads((folder / "state.json").read_text())["steps"]}


def workers_of(folder: Path) -> set[str]:
    return {json.loads(path.read_text())["worker"] for path in folder.glob("**/runs/*/worker.json")}


def test_workers_find_the_commit_that_this_machine_finds(tmp_path: Path) -> None:
    """Its kernels are built here, and go to the workers by digest."""
    fleetkit.require()
    history = History.new(tmp_path)
    with fleetkit.fleet(tmp_path) as fleet:
        fleet.scheduler()
        fleet.workers(one="good", two="good")
        there = fleet.start("bisect", *words(history, "--fleet", fleet.address, out="there"))
        assert there.process.wait(PATIENCE_S) == 0, there.said
        here = fleet.start("bisect", *words(history, out="here"))
        assert here.process.wait(PATIENCE_S) == 0, here.said
    for program in (there, here):
        assert f"the first bad commit is {history.commits[4][:10]}: change 4" in program.said
    assert steps_of(tmp_path / "there") == steps_of(tmp_path / "here")
    assert (workers_of(tmp_path / "there"), workers_of(tmp_path / "here")) == ({"one", "two"}, set())
