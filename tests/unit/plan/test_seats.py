"""Seats: where the vCPUs of a cell sit."""

from __future__ import annotations

from dataclasses import replace

from benchgate.base.cells import Lane
from benchgate.base.system.qemu import Port
from benchgate.plan.options import Options
from benchgate.plan.seats import reseated, seat
from tests.unit.plans import GROUND, planned


def test_a_cell_is_reseated_at_another_cpu_count() -> None:
    seated = reseated(planned(1), 2, GROUND, Options(smp=(1,)))
    assert (seated.cell.id, seated.seats.pins, seated.seats.skip) == ("primes-linux-smp2", (4, 5), "")
    assert seated.seats.lane is Lane.TCG


def test_on_the_instruction_clock_a_cell_is_kept_to_the_named_cpus_without_pins() -> None:
    ground = replace(GROUND, lanes={"qemu": (Lane.INSN, "")})
    named = reseated(planned(1), 4, ground, Options(cpus=(4, 5)))
    assert (named.seats.pins, named.seats.host_cpus, named.seats.skip) == ((), (4, 5), "")
    assert reseated(planned(1), 4, ground, Options()).seats.host_cpus == ()
    assert reseated(planned(1), 2, GROUND, Options(cpus=(4, 5))).seats.host_cpus == ()


def test_a_virtio_console_is_for_wall_time_only() -> None:
    planned_cell = planned(1)
    system = replace(planned_cell.system, qemu=replace(planned_cell.system.qemu, console="virtio"))
    exact = replace(GROUND, lanes={"qemu": (Lane.INSN, "")})
    assert (
        "`qemu.console: virtio`"
        in seat(system, planned_cell.workload, planned_cell.cell, exact, Options()).skip
    )
    assert seat(system, planned_cell.workload, planned_cell.cell, GROUND, Options()).skip == ""


def test_a_network_is_for_wall_time_only() -> None:
    planned_cell = planned(1)
    system = replace(planned_cell.system, ports={"web": Port(80)})
    exact = replace(GROUND, lanes={"qemu": (Lane.INSN, "")})
    assert "`ports`" in seat(system, planned_cell.workload, planned_cell.cell, exact, Options()).skip
    assert seat(system, planned_cell.workload, planned_cell.cell, GROUND, Options()).skip == ""
    assert seat(planned_cell.system, planned_cell.workload, planned_cell.cell, exact, Options()).skip == ""


def test_what_the_clock_alone_shows_is_for_the_instruction_clock() -> None:
    planned_cell = planned(1)
    system = replace(planned_cell.system, console=replace(planned_cell.system.console, by_clock=True))
    exact = replace(GROUND, lanes={"qemu": (Lane.INSN, "")})
    said = "use --clock insn, or give the pattern of a line that the kernel prints"
    assert seat(system, planned_cell.workload, planned_cell.cell, GROUND, Options()).skip.endswith(said)
    assert seat(system, planned_cell.workload, planned_cell.cell, exact, Options()).skip == ""
