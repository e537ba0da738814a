"""Work that the CPUs share: uneven items, phases, a tree of merges, halos, one lock.

Each row must scale to a value below what its division of the work allows, so that a gate decides about the
system and not about the workload. The limits of the division, from the oracles' own numbers, and the figures
on the instruction clock on 2026-11-23 (work over smp1, seed 1, QEMU 10.0.2, tern `balanced`):

TABLE
"""

import pytest

from benchgate import CellResult

pytestmark = pytest.mark.patterns

DYNAMIC = pytest.mark.workload("dynamic")
BARRIER = pytest.mark.workload("barrier")
MAPREDUCE = pytest.mark.workload("mapreduce")
STENCIL = pytest.mark.workload("stencil")
CONTEND = pytest.mark.workload("contend")
CROWDED = pytest.mark.workload("contend", delay=0)


@DYNAMIC
def test_no_item_is_lost_or_done_twice(cell: CellResult) -> None:
    cell.require_verified()


@BARRIER
def test_every_phase_is_right(cell: CellResult) -> None:
    cell.require_verified()


@MAPREDUCE
def test_every_table_is_merged(cell: CellResult) -> None:
    cell.require_verified()


@STENCIL
def test_every_cell_of_the_grid_is_right(cell: CellResult) -> None:
    cell.require_verified()


@CONTEND
def test_no_turn_under_the_lock_is_lost(cell: CellResult) -> None:
    cell.require_verified()
