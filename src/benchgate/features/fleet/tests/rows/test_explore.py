"""An exploration on a fleet has the runs and the finds of one machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchgate.features.fleet import doubles
from benchgate.features.fleet.tests import fleetkit
from tests.machines import PATIENCE_S

pytestmark = [pytest.mark.fleet, pytest.mark.alone]
SEEDS = 4
"""The fault is found in a third of the runs (docs/how-to/explore.md)."""
EXPLORE = (
    *("-m", "benchgate.cli", "explore", "--system", "kernel:fault=unlocked-count", "--smoke", "--smp", "2"),
    *("--strategy", "sync", "--seeds", str(SEEDS), "--no-small"),
)
_OF_A_SESSION = ("worker.json", "find.json")


def lines_of(folder: Path) -> list[dict[str, object]]:
    """What is known of each run; how long the host took is left out."""
    lines = [json.loads(line) for line in (folder / "runs.jsonl").read_text().splitlines()]
    return [{key: value for key, value in line.items() if key != "seconds"} for line in lines]


def files_of(find: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in find.iterdir() if path.name not in _OF_A_SESSION}


def test_workers_find_what_this_machine_finds(tmp_path: Path) -> None:
    fleetkit.require()
    with fleetkit.fleet(tmp_path) as fleet:
        fleet.scheduler()
        fleet.workers(one="good", two="good")
        there, here = tmp_path / "there", tmp_path / "here"
        program = fleet.start("explore", *EXPLORE, "--fleet", fleet.address, "--out", there)
        assert program.process.wait(PATIENCE_S) == 1, program.said
        program = fleet.start("explore", *EXPLORE, "--out", here)
        assert program.process.wait(PATIENCE_S) == 1, program.said
    assert len(lines_of(there)) == 1 + SEEDS
    assert lines_of(there) == lines_of(here)
    finds = [path.name for path in (here / "finds").iterdir()]
    assert finds
    for name in finds:
        assert (
            doubles.first_difference(files_of(there / "finds" / name), files_of(here / "finds" / name)) == ""
        )
        assert json.loads((there / "finds" / name / "worker.json").read_text())["worker"] in ("one", "two")
