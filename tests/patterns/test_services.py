"""Services of the system as CPUs are added: calls between processes, wake-ups, creation.

Measured on the instruction clock on 2026-11-23 (seed 1, QEMU 10.0.2, tern `balanced`): the work window at
smp1 in millions of instructions, and the factor over it:

    row                     linux                  tern
                       smp1     2     4       smp1     2     4
    service, own      150.2  1.99  3.94       95.3  2.00  3.99
    service, spread   150.2  1.51  2.67       95.3  2.03  4.08
    wake, pong        145.1  1.88  3.59       92.4  2.00  3.97
    wake, fan         169.9  1.76  1.79      163.5  1.97  3.78
    spawn, threads    111.7  1.93  3.74       45.1  1.98  3.90
    spawn, processes  191.6  1.95  3.69       37.2  2.00  3.97

Linux does not scale in two rows, for one reason, which --measure shows: it puts woken threads on CPUs that
are busy. In `fan` at 4 CPUs the CPUs were busy for 52% of the window, while threads that could run waited 46
ms for one; in `service, spread` busy for 76%, and they waited 60 ms. So fan has a limit of its own for Linux
from 4 CPUs on, and spread has lower ones. In `pong` at 4 it depends on the seed how many pairs share a CPU,
and they do so to the end: five seeds of Linux reach from 2.54 to 3.64, so that its limit is 2.3. tern puts a
woken thread on an idle CPU, and has limits of its own in both. The insn limits leave about 7% to the smaller
figure, those of `ratio` a quarter. Percentiles are compared at 1 CPU: at 2 they are as short as the clock's
step between CPUs, so that it does not decide them.

Five seeds at 2 CPUs, the same day: pong 2.00 on tern and 1.88 [1.87, 2.00] on Linux, threads 1.98 and 1.92
[1.84, 2.10], processes 2.00 and 1.97, fan 1.97 and 1.65 [1.59, 1.86], spread 2.04 and 1.49 [1.31, 1.53].
Where Linux puts the woken threads of fan and spread depends on the seed, so their limits at 2 are lower than
those of the others. With the guest of later that day fan reached 0.99, 1.06, 1.63, 1.72 and 1.82 in five
seeds: in two of them Linux kept all threads where the poster runs. So its limit only holds that a second CPU
does no harm, and tern has one of its own. pong at 2 has one of 1.7: by its steps at the hand-overs the clock
can have changed it by 4.1%. Five seeds at 4: spread 2.62 [2.60, 2.68], fan 1.78 on Linux, threads 3.82,
processes 3.90; at 32: own 26.2 [22.7, 27.4] on Linux.

Where Linux puts new threads depends on little things: on 2026-11-25 threads were 3.71 [3.24, 3.95] at 4 and
1.91 [1.75, 2.03] at 2, and 3.68 [2.99, 3.90] and 1.91 [1.81, 2.03] with one more store in each errand. So the
limits of both systems are 2.6 and 1.6, and tern, 4.00 and 2.00 in all seeds of both, has limits of its own.

Above 4 CPUs, the same day, tern with a lock for the threads of each process, the factor over smp1; medians of
five seeds, in parentheses of fewer:

    row                        linux                   tern
                          8     16     32         8     16     32
    service, own       7.78   14.9   26.2      7.97   15.9   31.5
    pong               5.84 (11.0)   21.2      8.00   16.0   31.8
    fan                2.89   3.93   4.97      6.60   9.61   10.2
    threads            6.32   10.9   17.8      7.99   15.9   31.0
    processes          6.46   12.4   21.0      7.93   15.7   30.1
    service, spread    5.03 (10.0) (18.8)      8.19   16.4   31.9

Where Linux puts a woken or new thread depends on the seed: pong reaches from 5.28 to 6.89 at 8 and from
20.4 to 23.4 at 32, threads at 8 from 6.21 to 6.70, processes from 6.39 to 6.92. tern's seeds are within
0.4%. A gate must be resolved from the clock's steps at the hand-overs, which can have changed tern's
threads by 5.5% at 16 CPUs and 11% at 32, its processes by 8% and 18%, its fan by 2% and 6%, at 8 all by
less than 5%. So limits are below the smallest seed less the steps: by 8% to 12% for Linux, by 2% to 7% for
tern. Those of pong at 16, of fan, and of threads and processes at 16 and 32 leave a quarter to Linux.
Figures in parentheses are of 1 to 3 seeds; Linux's spread is not gated above 8. Steps can have changed
tern's spread at 32 by 16.6%. At 32 CPUs a worker of pong or spawn has 60 to 125 operations, so that the
start of the last worker, 10 us after the first, is 1% of the window on tern. In fan one CPU wakes all the
others, one after another: a round is 160 us of work that all share, and 0.45 us for each wake-up. At 32
CPUs the wake-ups alone take 14 us and allow a factor of 11; on Linux a round at 8 CPUs takes 59 us, of
which the work is 20.
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
@pytest.mark.speedup(cpus=16, at_least=9.0, insn=13.5, metric="rps")
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


@SPREAD
@pytest.mark.speedup(cpus=8, at_least=2.5, insn=4.4, metric="rps")
def test_calls_to_any_server_scale_to_8_cpus(verdict: VerdictResult) -> None:
    verdict.require_pass()


@pytest.mark.system("kernel")
@SPREAD
@pytest.mark.speedup(cpus=8, at_least=4.0, insn=7.4, metric="rps")
@pytest.mark.speedup(cpus=16, at_least=6.0, insn=14.6, metric="rps")
@pytest.mark.speedup(cpus=32, at_least=10.0, insn=26.0, metric="rps")
def test_calls_to_any_server_of_tern_scale_to_32_cpus(verdict: VerdictResult) -> None:
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


@PONG
@pytest.mark.speedup(cpus=8, at_least=3.0, insn=4.5, metric="rounds_per_s")
@pytest.mark.speedup(cpus=16, at_least=5.0, insn=8.2, metric="rounds_per_s")
@pytest.mark.speedup(cpus=32, at_least=8.0, insn=17.0, metric="rounds_per_s")
def test_pairs_scale_to_32_cpus(verdict: VerdictResult) -> None:
    verdict.require_pass()


@pytest.mark.system("kernel")
@PONG
@pytest.mark.speedup(cpus=8, at_least=5.0, insn=7.7, metric="rounds_per_s")
@pytest.mark.speedup(cpus=16, at_least=8.0, insn=14.6, metric="rounds_per_s")
@pytest.mark.speedup(cpus=32, at_least=14.0, insn=29.5, metric="rounds_per_s")
def test_each_of_32_pairs_has_a_cpu_of_tern(verdict: VerdictResult) -> None:
    verdict.require_pass()


@FAN
def test_every_post_wakes_all(cell: CellResult) -> None:
    cell.require_verified()


@pytest.mark.system("linux")
@FAN
@pytest.mark.speedup(cpus=2, at_least=0.9, insn=0.9, metric="rounds_per_s")
def test_posts_to_all_lose_nothing(verdict: VerdictResult) -> None:
    verdict.require_pass()


@pytest.mark.system("kernel")
@FAN
@pytest.mark.speedup(cpus=2, at_least=1.2, insn=1.8, metric="rounds_per_s")
@pytest.mark.speedup(cpus=4, at_least=2.4, insn=3.4, metric="rounds_per_s")
@pytest.mark.ratio(to="linux", cpus=4, metric="rounds_per_s", at_least=1.0, insn=1.5)
def test_posts_to_all_find_idle_cpus_of_tern(verdict: VerdictResult) -> None:
    verdict.require_pass()


@pytest.mark.system("kernel")
@FAN
@pytest.mark.speedup(cpus=8, at_least=4.0, insn=6.2, metric="rounds_per_s")
@pytest.mark.speedup(cpus=16, at_least=5.0, insn=9.1, metric="rounds_per_s")
@pytest.mark.speedup(cpus=32, at_least=5.0, insn=9.2, metric="rounds_per_s")
def test_posts_to_all_reach_32_cpus_of_tern(verdict: VerdictResult) -> None:
    verdict.require_pass()


@pytest.mark.system("linux")
@FAN
@pytest.mark.speedup(cpus=4, at_least=1.1, insn=1.6, metric="rounds_per_s")
@pytest.mark.speedup(cpus=8, at_least=1.3, insn=2.6, metric="rounds_per_s")
@pytest.mark.speedup(cpus=16, at_least=1.5, insn=2.9, metric="rounds_per_s")
@pytest.mark.speedup(cpus=32, at_least=1.5, insn=3.7, metric="rounds_per_s")
def test_posts_to_all_gain_to_32_cpus(verdict: VerdictResult) -> None:
    verdict.require_pass()


@THREADS
def test_every_thread_does_its_errand(cell: CellResult) -> None:
    cell.require_verified()


@THREADS
@pytest.mark.speedup(cpus=2, at_least=1.4, insn=1.6)
@pytest.mark.speedup(cpus=4, at_least=2.4, insn=2.6)
def test_creating_threads_scales(verdict: VerdictResult) -> None:
    verdict.require_pass()


@THREADS
@pytest.mark.speedup(cpus=8, at_least=3.5, insn=5.4)
@pytest.mark.speedup(cpus=16, at_least=5.0, insn=8.6)
@pytest.mark.speedup(cpus=32, at_least=7.0, insn=13.0)
def test_creating_threads_scales_to_32_cpus(verdict: VerdictResult) -> None:
    verdict.require_pass()


@pytest.mark.system("kernel")
@THREADS
@pytest.mark.speedup(cpus=2, at_least=1.6, insn=1.95)
@pytest.mark.speedup(cpus=4, at_least=3.0, insn=3.8)
@pytest.mark.speedup(cpus=8, at_least=5.0, insn=7.4)
@pytest.mark.speedup(cpus=16, at_least=8.0, insn=14.6)
@pytest.mark.speedup(cpus=32, at_least=14.0, insn=26.5)
def test_creating_threads_of_tern_scales_to_32_cpus(verdict: VerdictResult) -> None:
    verdict.require_pass()


@PROCESSES
def test_every_process_does_its_errand(cell: CellResult) -> None:
    cell.require_verified()


@PROCESSES
@pytest.mark.speedup(cpus=2, at_least=1.4, insn=1.7)
@pytest.mark.speedup(cpus=4, at_least=2.4, insn=3.0)
def test_creating_processes_scales(verdict: VerdictResult) -> None:
    verdict.require_pass()


@PROCESSES
@pytest.mark.speedup(cpus=8, at_least=3.5, insn=5.5)
@pytest.mark.speedup(cpus=16, at_least=5.0, insn=9.2)
@pytest.mark.speedup(cpus=32, at_least=8.0, insn=15.9)
def test_creating_processes_scales_to_32_cpus(verdict: VerdictResult) -> None:
    verdict.require_pass()


@pytest.mark.system("kernel")
@PROCESSES
@pytest.mark.speedup(cpus=8, at_least=5.0, insn=7.4)
@pytest.mark.speedup(cpus=16, at_least=9.0, insn=14.2)
@pytest.mark.speedup(cpus=32, at_least=16.0, insn=23.5)
def test_creating_processes_of_tern_scales_to_32_cpus(verdict: VerdictResult) -> None:
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
