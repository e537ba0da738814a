"""Work that the CPUs share: uneven items, phases, a tree of merges, halos, one lock.

Each limit is 3% to 14% below the smaller figure of Linux and tern, and lower where the seeds of Linux
differ: barrier at 2 and 32 CPUs, stencil at 32.
"""

import pytest

from benchgate import CellResult, VerdictResult

pytestmark = pytest.mark.patterns

DYNAMIC = pytest.mark.workload("dynamic")
BARRIER = pytest.mark.workload("barrier")
MAPREDUCE = pytest.mark.workload("mapreduce")
STENCIL = pytest.mark.workload("stencil")
CONTEND = pytest.mark.workload("contend")
NEAR = pytest.mark.workload("contend", delay=300)
CROWD = pytest.mark.workload("contend", delay=0)


@DYNAMIC
def test_every_item_is_done_once(cell: CellResult) -> None:
    cell.require_verified()


@DYNAMIC
@pytest.mark.speedup(cpus=2, at_least=1.6, insn=1.95)
@pytest.mark.speedup(cpus=4, at_least=3.0, insn=3.8)
@pytest.mark.limit(cpus=4, metric="balance", at_least=0.9, insn=0.98)
def test_a_shared_queue_balances_uneven_items(verdict: VerdictResult) -> None:
    verdict.require_pass()


@DYNAMIC
@pytest.mark.speedup(cpus=8, at_least=5.0, insn=7.5)
@pytest.mark.speedup(cpus=16, at_least=9.0, insn=14.0)
@pytest.mark.speedup(cpus=32, at_least=16.0, insn=27.0)
def test_a_shared_queue_serves_32_cpus(verdict: VerdictResult) -> None:
    verdict.require_pass()


@BARRIER
def test_every_phase_is_right(cell: CellResult) -> None:
    cell.require_verified()


@BARRIER
@pytest.mark.speedup(cpus=2, at_least=1.5, insn=1.6)
@pytest.mark.speedup(cpus=4, at_least=2.6, insn=3.2)
def test_phases_scale(verdict: VerdictResult) -> None:
    verdict.require_pass()


@BARRIER
@pytest.mark.speedup(cpus=8, at_least=4.0, insn=5.8)
@pytest.mark.speedup(cpus=16, at_least=6.0, insn=10.5)
@pytest.mark.speedup(cpus=32, at_least=10.0, insn=15.5)
def test_phases_scale_to_32_cpus(verdict: VerdictResult) -> None:
    verdict.require_pass()


@MAPREDUCE
def test_every_table_is_merged(cell: CellResult) -> None:
    cell.require_verified()


@MAPREDUCE
@pytest.mark.speedup(cpus=2, at_least=1.6, insn=1.95)
@pytest.mark.speedup(cpus=4, at_least=3.0, insn=3.8)
def test_a_tree_of_merges_scales(verdict: VerdictResult) -> None:
    verdict.require_pass()


@MAPREDUCE
@pytest.mark.speedup(cpus=8, at_least=5.0, insn=7.5)
@pytest.mark.speedup(cpus=16, at_least=9.0, insn=15.0)
@pytest.mark.speedup(cpus=32, at_least=16.0, insn=26.0)
def test_a_tree_of_merges_scales_to_32_cpus(verdict: VerdictResult) -> None:
    verdict.require_pass()


@STENCIL
def test_every_cell_is_right(cell: CellResult) -> None:
    cell.require_verified()


@STENCIL
@pytest.mark.speedup(cpus=2, at_least=1.6, insn=1.9)
@pytest.mark.speedup(cpus=4, at_least=2.8, insn=3.6)
def test_halos_scale(verdict: VerdictResult) -> None:
    verdict.require_pass()


@STENCIL
@pytest.mark.speedup(cpus=8, at_least=4.5, insn=7.0)
@pytest.mark.speedup(cpus=16, at_least=8.0, insn=14.0)
@pytest.mark.speedup(cpus=32, at_least=14.0, insn=18.0)
def test_halos_scale_to_32_cpus(verdict: VerdictResult) -> None:
    verdict.require_pass()


@pytest.mark.system("kernel")
@STENCIL
@pytest.mark.speedup(cpus=32, at_least=14.0, insn=27.0)
def test_halos_of_tern_scale_to_32_cpus(verdict: VerdictResult) -> None:
    verdict.require_pass()


@CONTEND
def test_no_turn_under_the_lock_is_lost(cell: CellResult) -> None:
    cell.require_verified()


@CONTEND
@pytest.mark.speedup(cpus=2, at_least=1.5, insn=1.9)
@pytest.mark.speedup(cpus=4, at_least=2.6, insn=3.5)
@pytest.mark.limit(cpus=4, metric="fairness", at_least=0.5, insn=0.95)
def test_a_short_critical_section_scales(verdict: VerdictResult) -> None:
    verdict.require_pass()


@CONTEND
@pytest.mark.speedup(cpus=8, at_least=4.0, insn=6.4)
@pytest.mark.speedup(cpus=16, at_least=5.0, insn=7.9)
@pytest.mark.speedup(cpus=32, at_least=6.0, insn=10.4)
@pytest.mark.limit(cpus=8, metric="fairness", at_least=0.5, insn=0.93)
@pytest.mark.limit(cpus=32, metric="fairness", at_least=0.4, insn=0.75)
def test_one_lock_feeds_as_many_cpus_as_its_section_allows(verdict: VerdictResult) -> None:
    verdict.require_pass()


@pytest.mark.system("kernel")
@CONTEND
@pytest.mark.speedup(cpus=8, at_least=4.0, insn=7.1)
@pytest.mark.speedup(cpus=16, at_least=6.0, insn=12.0)
@pytest.mark.speedup(cpus=32, at_least=7.0, insn=13.2)
def test_one_lock_of_tern_feeds_as_many_cpus_as_its_section_allows(verdict: VerdictResult) -> None:
    verdict.require_pass()


@NEAR
@pytest.mark.speedup(cpus=2, at_least=1.02, insn=1.05)
@pytest.mark.speedup(cpus=4, at_least=1.05, insn=1.25)
def test_a_lock_with_a_short_delay_gains_little(verdict: VerdictResult) -> None:
    verdict.require_pass()


@pytest.mark.system("kernel")
@NEAR
@pytest.mark.speedup(cpus=2, at_least=1.1, insn=1.7)
@pytest.mark.speedup(cpus=4, at_least=1.2, insn=2.2)
def test_a_lock_of_tern_with_a_short_delay_gains_more(verdict: VerdictResult) -> None:
    verdict.require_pass()


@CROWD
@pytest.mark.speedup(cpus=2, at_most=1.1)
@pytest.mark.speedup(cpus=4, at_most=1.1)
def test_a_lock_without_a_delay_does_not_scale(verdict: VerdictResult) -> None:
    verdict.require_pass()
