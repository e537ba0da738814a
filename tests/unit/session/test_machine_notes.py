"""What the reports say of simulated machines."""

from __future__ import annotations

from dataclasses import replace

from benchgate.plan.planned import SweepPlan
from benchgate.session.machine_notes import guest_notes, machine_notes
from tests.unit import plans
from tests.unit.machines import duo


def on_duo(**words: str) -> SweepPlan:
    """A sweep whose cells are on the machine, of a system with these words for QEMU."""
    plan = plans.sweep(2)
    cells = tuple(
        replace(one, system=replace(one.system, qemu=replace(one.system.qemu, **words)).on(duo()))  # type: ignore[arg-type]
        for one in plan.cells
    )
    return replace(plan, cells=cells)


def test_each_machine_is_named_once_with_its_source() -> None:
    assert machine_notes([on_duo(), on_duo()]) == (f"machine duo ({duo().digest[:12]}): invented",)


def test_a_guest_that_is_not_told_is_named() -> None:
    (_, told) = machine_notes([on_duo(smp="{n},sockets={n}")])
    assert told.startswith("linux-duo has a topology of its own in its YAML, so the guest is not told")


def test_the_ideal_machine_needs_no_words() -> None:
    assert machine_notes([plans.sweep(2)]) == ()


def test_a_row_whose_kernels_differ_is_named() -> None:
    plan = plans.sweep(2)
    cells = tuple(
        replace(one, system=replace(one.system, boot=replace(one.system.boot, kernel="k{n}.elf")))
        for one in plan.cells
    )
    (said,) = guest_notes([replace(plan, cells=cells)])
    assert said.startswith("primes-linux: its kernels differ: each of smp1, smp2 boots files of its own")
    assert guest_notes([plan]) == ()
