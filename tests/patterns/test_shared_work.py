"""Work that the CPUs share: uneven items, phases, a tree of merges, halos, one lock.

Measured on the instruction clock on 2026-11-23 (medians of 5 seeds, QEMU 10.0.2, tern `balanced`): work over
smp1, beside what the division of the work allows by the oracles' own numbers.

    row               allows        linux          tern
                     2     4       2     4       2     4
    dynamic         2.00  3.99    2.00  3.98    2.00  4.00
    barrier         1.80  3.33    1.80  3.30    1.80  3.32
    mapreduce       2.00  4.00    2.00  4.00    2.00  4.00
    stencil         2.00  4.00    1.99  3.95    1.99  3.95
    contend         2.00  4.00    1.95  3.73    1.97  3.89
    contend, 300    2.00  4.00    1.13  1.38    1.79  2.34
    contend, no delay  -     -    0.36  0.38    0.57  0.66

    above 4           allows              linux                tern
                   8    16    32      8    16     32       8    16     32
    dynamic     7.96     -  30.4   7.91  15.4   28.9    7.97  15.7   30.3
    barrier     6.33     -  24.7   6.19  11.6   19.2    6.28  12.1   22.2
    mapreduce   8.00  16.0  32.0   7.99  15.9   31.6    8.00  16.0   31.9
    stencil     8.00  16.0  32.0   7.78  15.1   28.5    7.82  15.3   29.2
    contend     8.00     -  20.4   6.91  10.6  13.96    7.64  13.4  16.34

(tern's dynamic and barrier above 4, and its mapreduce at 32, are of seed 1 or 5 seeds that agree to 0.2%.
Seeds of Linux that are more than 2% off: one of dynamic at 16, 14.7, and at 32, 28.1; two of mapreduce at
32, 29.1; one of barrier at 32, 18.3; one of stencil at 32, 20.0.)

The insn limits are 3% to 14% below the smaller figure, so that a CPU that is idle in one phase of ten
fails. That of barrier at 2 is lower: in one of Linux's five seeds both workers began on one CPU (1.66). So
is that at 32: five seeds of Linux reach from 17.2 to 19.3, and the clock's steps may be 3.1% of that; and
that of stencil at 32, where one seed of Linux in five reaches 20.0 and the others 28.5, so tern has a limit
of its own there. On wall time a host adds noise and caches of its own; those limits only separate a row
that scales from one that does not. Without a delay all time is under the lock: a second CPU adds nothing
but wake-ups, and the row is a control. tern loses less there because a wake-up costs it a third. With a
delay of 300 turns the section of 0.4 us allows 4 CPUs, but who sleeps for it is woken by 1.7 us of work on
tern and 5.1 us on Linux: five seeds are 1.13 and 1.38 [1.36, 1.56] there, 1.79 and 2.34 on tern, whose
limits are 5% lower, and those of Linux 7% and 8% below the smallest seed. contend allows (hold + delay) /
hold CPUs, less the handing over of the lock: at 32 CPUs the lock is never free, and each handing over is a
wake-up, unless the next worker comes before the first sleeps. Five seeds are within 0.8% of each other, so
the limits at 8 leave 7%. At 32 the clock's steps at the hand-overs can have changed the figure by 28% on
Linux and 19% on tern, from which a gate must be resolved: the limits are 4% below 13.9 / 1.285 and 16.3 /
1.185. At 16, too, the limit of tern is 4% below its 13.4 less the steps of 7%; that of Linux leaves a
quarter of 10.57 [10.54, 10.62]. Of the workers of contend the one with fewest takes has 0.98 of the most on
Linux and 0.99 on tern at 8 CPUs, 0.90 [0.88, 0.92] and 0.86 [0.84, 0.88] at 32. At 32 CPUs a worker has 62
us of work in a phase of barrier. The end of a phase, which wakes 31 sleepers, adds 8 us on tern and 23 us
on Linux; that is the whole distance to what the division allows.
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
