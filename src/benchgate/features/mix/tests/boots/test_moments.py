"""A run with a disk that is forked at a moment of its time."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.base.runs import Ending
from benchgate.base.snapshots import StartKind
from benchgate.features.mix.session.booter import MixBooter
from benchgate.features.mix.tests.boots.test_forks import disk_file, mix_of
from benchgate.insn.log_reader import read_log
from benchgate.plan.options import Options
from benchgate.run.attempt import RunRequest, execute
from benchgate.run.moments import Branch, ClockTurn, at
from benchgate.run.record import clock_log
from tests.guests.test_forks import lines, require_equal
from tests.guests.test_moments import SEED, born, children, qemus

EMPTY_DISK_FILE = 256 << 10
"""What QEMU writes of a disk to which nothing was written takes less."""


@pytest.mark.parametrize("start", ["warm", "cold"])
def test_a_child_goes_on_with_its_own_disk_as_it_was(start: str, tmp_path: Path) -> None:
    """What the guest has written before the moment is there, and what others write from there on is not: a
    child between two equal ones writes in another order."""
    asked = Options(clock="insn", start=StartKind(start))
    with MixBooter(asked, print) as lab:

        def request(name: str) -> RunRequest:
            (tmp_path / name).mkdir()
            return lab.request(mix_of(disk=True, start=start), tmp_path / name, seed=SEED)

        assert execute(request("plain")).ending is Ending.DONE
        marks = read_log(clock_log(tmp_path / "plain")).marks
        with at(request("stem"), (marks[0].time + marks[-1].time) // 2) as moment:
            (stem,) = qemus()
            written = disk_file(stem.pid)
            size, blocks = written.stat().st_size, written.stat().st_blocks
            turns = (None, ClockTurn(77), None)
            branches = [Branch(tmp_path / f"child{n}", turn) for n, turn in enumerate(turns)]
            assert [raw.ending for raw in children(moment, *branches)] == [Ending.DONE] * 3
            assert (written.stat().st_size, written.stat().st_blocks) == (size, blocks)
            with born(moment, tmp_path / "standing") as child:
                own = disk_file(child.child.pid)
                assert own.read_bytes() == written.read_bytes()
                assert own.stat().st_blocks <= blocks
    assert blocks * 512 > EMPTY_DISK_FILE
    for n in (0, 2):
        require_equal(tmp_path / "plain", tmp_path / f"child{n}")
    assert lines(tmp_path / "child1") != lines(tmp_path / "child0")
