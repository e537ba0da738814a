"""Seats: where the vCPUs of a cell sit."""

from __future__ import annotations

from benchgate.base.cells import Lane
from benchgate.plan.options import Options
from benchgate.plan.seats import reseated
from tests.unit.plans import GROUND, planned


def test_a_cell_is_reseated_at_another_cpu_count() -> None:
    seated = reseated(planned(1), 2, GROUND, Options(smp=(1,)))
    assert (seated.cell.id, seated.seats.pins, seated.seats.skip) == ("primes-linux-smp2", (4, 5), "")
    assert seated.seats.lane is Lane.TCG
