"""A session whose runs two workers made leaves the files of one machine, byte for byte."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests import fleetkit
from tests.fleetkit import assert_whole
from tests.twosessions import WHO, differences


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
    assert {one["name"]: one["runs"] for one in facts["workers"]} == {name: who.count(name) for name in who}
    assert facts["dropped"] == []
