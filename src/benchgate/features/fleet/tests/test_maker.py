"""What a fleet cannot make is named before anything is measured."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchgate.base.cells import Cell, Lane, Placement
from benchgate.base.errors import UsageError
from benchgate.plan import catalog
from benchgate.plan.options import Options
from benchgate.plan.planned import PlannedCell, Seats
from benchgate.plan.workloadfile import fill
from benchgate.run.runner import LocalRunner
from benchgate.session import makers
from benchgate.session.measuring_host import ThisHost

FLEET = "tcp://127.0.0.1:8786"


def planned_cell() -> PlannedCell:
    workload = catalog.load_workload("primes")
    values, _ = fill(workload, {})
    cell = Cell("kernel", workload.name, workload.mode, values, 2)
    return PlannedCell(cell, catalog.load_system("kernel"), workload, Seats(Lane.INSN, Placement.VIRTUAL, ()))


def test_a_session_without_a_fleet_is_made_here() -> None:
    assert isinstance(makers.maker_of(Options(), lambda _: None), LocalRunner)
    assert isinstance(makers.host_of(Options(clock="wall"), lambda _: None), ThisHost)
    told = Options(of_features={"fleet": FLEET})
    assert told.maker is not None
    assert isinstance(makers.host_of(told, lambda _: None), ThisHost)
    makers.require_makeable(Options(), [planned_cell()])


def test_a_lane_of_the_other_clock_is_refused_by_name() -> None:
    planned = planned_cell()
    insn, timed = (Options(clock=clock, of_features={"fleet": FLEET}) for clock in ("insn", "wall"))
    wall, native = (
        replace(planned, seats=replace(planned.seats, lane=one)) for one in (Lane.TCG, Lane.NATIVE)
    )
    makers.require_makeable(insn, [planned])
    makers.require_makeable(timed, [wall])
    for options, other in ((insn, wall), (timed, planned), (timed, native)):
        why = rf"--clock {options.clock}: {planned.cell.row} is on lane {other.seats.lane}, of which a worker"
        with pytest.raises(UsageError, match=why):
            makers.require_makeable(options, [other])
