"""What a fleet cannot make is named before anything is measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.cells import Cell, Lane, Placement
from benchgate.base.errors import UsageError
from benchgate.plan import catalog
from benchgate.plan.options import Options
from benchgate.plan.planned import PlannedCell, Seats
from benchgate.plan.workloadfile import fill
from benchgate.run.runner import LocalRunner
from benchgate.session.fleets import NO_FLEET, Fleet, host_of, maker_of, require_makeable
from benchgate.session.measuring_host import ThisHost


def test_a_command_that_names_no_fleet_keeps_what_pytest_was_told() -> None:
    told = replace(Options(), fleet="tcp://127.0.0.1:1")
    assert NO_FLEET.within(told) == told
    named = Fleet("tls://host:1", Path("keys"), Path("key")).within(told)
    assert (named.fleet, named.fleet_certificates) == ("tls://host:1", Path("keys"))
    assert named.fleet_key == Path("key")


def planned_cell() -> PlannedCell:
    workload = catalog.load_workload("primes")
    values, _ = fill(workload, {})
    cell = Cell("kernel", workload.name, workload.mode, values, 2)
    return PlannedCell(cell, catalog.load_system("kernel"), workload, Seats(Lane.INSN, Placement.VIRTUAL, ()))


def test_without_a_fleet_this_machine_makes_the_runs() -> None:
    assert isinstance(maker_of(Options(), lambda _: None), LocalRunner)
    assert isinstance(host_of(Options(clock="wall"), lambda _: None), ThisHost)


def test_a_key_that_is_no_file_is_named_before_the_scheduler_is_asked(tmp_path: Path) -> None:
    told = Fleet("tcp://127.0.0.1:1", None, tmp_path / "nokey").within(Options())
    with pytest.raises(UsageError, match=r"--fleet-key .*nokey is not a file; name a private key"):
        maker_of(told, lambda _: None)


def test_a_lane_of_the_other_clock_is_refused_by_name() -> None:
    planned = planned_cell()
    insn, timed = Options(clock="insn"), Options(clock="wall")
    wall, native = (
        replace(planned, seats=replace(planned.seats, lane=one)) for one in (Lane.TCG, Lane.NATIVE)
    )
    require_makeable(insn, [planned])
    require_makeable(timed, [wall])
    for options, other in ((insn, wall), (timed, planned), (timed, native)):
        why = rf"--clock {options.clock}: {planned.cell.row} is on lane {other.seats.lane}, of which a worker"
        with pytest.raises(UsageError, match=why):
            require_makeable(options, [other])
