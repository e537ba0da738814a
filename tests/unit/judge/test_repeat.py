"""Two runs of one seed must be equal; the message names the first difference."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.cells import Lane
from benchgate.base.runs import RawRun
from benchgate.judge.repeat import difference
from tests.unit import factories

LOG = """insn-clock 1
level full
mode serial
seed 7
quantum 5000
fine 100
rush 25
vcpus 1
api 4 2 4
mark 01 0 {mark}
vcpu 0 time {time} executed {time} paused 0 skipped 0 halted 0
end {time}
closed
"""


def run(
    folder: Path, name: str, status: int | None, *, mark: int = 10, time: int = 99, said: str = "up"
) -> RawRun:
    place = folder / name
    place.mkdir()
    (place / "clock.log").write_text(LOG.format(mark=mark, time=time))
    (place / "serial.log").write_text(said)
    raw = factories.raw_run(factories.cell(1), lane=Lane.INSN, folder=place)
    return replace(raw, exit_status=status, clock_log=place / "clock.log")


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({}, ""),
        ({"mark": 11}, "mark 1 at 10 on vCPU 0, mark 1 at 11 on vCPU 0"),
        ({"time": 98}, "instruction counts"),
        ({"said": "up again"}, "consoles"),
    ],
)
def test_two_complete_runs_of_one_seed_must_be_equal(
    tmp_path: Path, other: dict[str, int], said: str
) -> None:
    found = difference(run(tmp_path, "a", 33), run(tmp_path, "b", 33, **other))  # type: ignore[arg-type]
    assert bool(found) == bool(said)
    assert said in found


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"time": 98}, ""),
        ({"said": "up again"}, ""),
        ({"said": "down"}, "consoles"),
        ({"mark": 11}, "mark 1 at 10"),
    ],
)
def test_of_a_killed_guest_only_the_common_part_must_be_equal(
    tmp_path: Path, other: dict[str, int], said: str
) -> None:
    found = difference(run(tmp_path, "a", None), run(tmp_path, "b", None, **other))  # type: ignore[arg-type]
    assert bool(found) == bool(said)
    assert said in found
