"""Services of the system as CPUs are added: calls between processes, wake-ups, creation.

Measured on the instruction clock on 2026-11-23 (seed 1, QEMU 10.0.2, tern `balanced`): the work window at
smp1 in millions of instructions, and the factor over it:

    row                     linux                  tern
                       smp1     2     4       smp1     2     4
    service, own      150.2  1.99  3.94       95.6  2.00  3.99
    service, spread   150.2  1.51  2.67       95.6  2.04  4.08
    wake, pong        145.1  1.88  3.59       92.4  2.00  3.97
    wake, fan         169.9  1.76  1.79      163.5  1.97  3.78
    spawn, threads    111.7  1.93  3.74       45.1  1.98  3.90
    spawn, processes  191.6  1.95  3.69       37.2  2.00  3.97

    CPUs                     8    32             8    32
    service, own          7.78  28.2          7.97  31.5

Linux does not scale in two rows, for one reason, which --measure shows: it puts woken threads on CPUs that
are busy. In `fan` at 4 CPUs the CPUs were busy for 52% of the window, while threads that could run waited
46 ms for one; in `service, spread` busy for 76%, and they waited 60 ms. So fan has no limit at 4 for Linux,
and spread has lower ones. In `pong` at 4 it depends on the seed how many pairs share a CPU, and they do so to
the end: five seeds of Linux reach from 2.54 to 3.64, so that its limit is 2.3. tern puts a woken thread on an
idle CPU, and has limits of its own in both. The insn limits leave about 7% to the
smaller figure, those of `ratio` a quarter. Percentiles are compared at 1 CPU: at 2 they are as short as
the clock's step between CPUs, so that it does not decide them.

Five seeds at 2 CPUs, the same day: pong 2.00 on tern and 1.88 [1.87, 2.00] on Linux, threads 1.98 and 1.92
[1.84, 2.10], processes 2.00 and 1.97, fan 1.97 and 1.65 [1.59, 1.86], spread 2.04 and 1.49 [1.31, 1.53].
Where Linux puts the woken threads of fan and spread depends on the seed, so their limits at 2 are lower than
those of the others. pong at 2 has one of 1.7: by its steps at the hand-overs the clock can have changed it by
4.1%. Five seeds at 4: spread 2.62 [2.60, 2.68] on Linux, threads 3.82, processes 3.90; at 32: own 26.2
[22.7, 27.4] on Linux.
"""

import pytest

from benchgate import CellResult, VerdictResult

pytestmark = pytest.mark.patterns

OWN = pytest.mark.workload("service", route="own")
SPREAD = pytest.mark.workload("service", route="spread")
PONG = pytest.mark.workload("wake", pattern="pong")
FAN = pytest.mark.workload("wake", pattern="fan", rounds=1000, turns=40_000)
THREADS = pytest.mark.workload("spawn", kind="thread")
PROCESSES = pytest.mark.workload("spawn", kind="process", errands=1000)


@OWN
def test_every_reply_is_right(cell: CellResult) -> None:
    cell.require_verified()


@OWN
@pytest.mark.speedup(cpus=2, at_least=1.5, insn=1.9, metric="rps")
@pytest.mark.speedup(cpus=4, at_least=2.8, insn=3.6, metric="rps")
def test_calls_in_pairs_scale(verdict: VerdictResult) -> None:
    verdict.require_pass()


@OWN
@pytest.mark.speedup(cpus=8, at_least=5.0, insn=7.3, metric="rps")
@pytest.mark.speedup(cpus=32, at_least=16.0, insn=20.0, metric="rps")
def test_calls_in_pairs_scale_to_32_cpus(verdict: VerdictResult) -> None:
    verdict.require_pass()


@SPREAD
def test_every_reply_of_any_server_is_right(cell: CellResult) -> None:
    cell.require_verified()


@SPREAD
@pytest.mark.speedup(cpus=2, at_least=1.2, insn=1.2, metric="rps")
@pytest.mark.speedup(cpus=4, at_least=2.0, insn=2.4, metric="rps")
def test_calls_to_any_server_scale(verdict: VerdictResult) -> None:
    verdict.require_pass()


@PONG
def test_every_post_wakes_its_worker(cell: CellResult) -> None:
    cell.require_verified()


@PONG
@pytest.mark.speedup(cpus=2, at_least=1.5, insn=1.7, metric="rounds_per_s")
@pytest.mark.speedup(cpus=4, at_least=2.0, insn=2.3, metric="rounds_per_s")
def test_pairs_scale(verdict: VerdictResult) -> None:
    verdict.require_pass()


@pytest.mark.system("kernel")
@PONG
@pytest.mark.speedup(cpus=4, at_least=2.6, insn=3.7, metric="rounds_per_s")
def test_each_pair_has_a_cpu_of_tern(verdict: VerdictResult) -> None:
    verdict.require_pass()


@FAN
def test_every_post_wakes_all(cell: CellResult) -> None:
    cell.require_verified()


@FAN
@pytest.mark.speedup(cpus=2, at_least=1.2, insn=1.45, metric="rounds_per_s")
def test_posts_to_all_scale(verdict: VerdictResult) -> None:
    verdict.require_pass()


@pytest.mark.system("kernel")
@FAN
@pytest.mark.speedup(cpus=4, at_least=2.4, insn=3.4, metric="rounds_per_s")
@pytest.mark.ratio(to="linux", cpus=4, metric="rounds_per_s", at_least=1.0, insn=1.5)
def test_posts_to_all_find_idle_cpus_of_tern(verdict: VerdictResult) -> None:
    verdict.require_pass()


@THREADS
def test_every_thread_does_its_errand(cell: CellResult) -> None:
    cell.require_verified()


@THREADS
@pytest.mark.speedup(cpus=2, at_least=1.4, insn=1.7)
@pytest.mark.speedup(cpus=4, at_least=2.4, insn=3.0)
def test_creating_threads_scales(verdict: VerdictResult) -> None:
    verdict.require_pass()


@PROCESSES
def test_every_process_does_its_errand(cell: CellResult) -> None:
    cell.require_verified()


@PROCESSES
@pytest.mark.speedup(cpus=2, at_least=1.4, insn=1.7)
@pytest.mark.speedup(cpus=4, at_least=2.4, insn=3.0)
def test_creating_processes_scales(verdict: VerdictResult) -> None:
    verdict.require_pass()


@pytest.mark.system("kernel")
@OWN
@pytest.mark.ratio(to="linux", cpus=2, metric="rps", at_least=1.0, insn=1.4)
@pytest.mark.ratio(to="linux", cpus=1, metric="latency_p99", at_least=1.0, insn=1.3)
def test_a_call_costs_tern_less(verdict: VerdictResult) -> None:
    verdict.require_pass()


@pytest.mark.system("kernel")
@PONG
@pytest.mark.ratio(to="linux", cpus=2, metric="rounds_per_s", at_least=1.0, insn=1.4)
@pytest.mark.ratio(to="linux", cpus=1, metric="wakeup_p99", at_least=1.0, insn=2.0)
def test_a_wake_up_costs_tern_less(verdict: VerdictResult) -> None:
    verdict.require_pass()


@pytest.mark.system("kernel")
@THREADS
@pytest.mark.ratio(to="linux", cpus=2, at_least=1.0, insn=2.0)
def test_a_thread_costs_tern_less(verdict: VerdictResult) -> None:
    verdict.require_pass()


@pytest.mark.system("kernel")
@PROCESSES
@pytest.mark.ratio(to="linux", cpus=2, at_least=1.0, insn=3.0)
def test_a_process_costs_tern_less(verdict: VerdictResult) -> None:
    verdict.require_pass()
