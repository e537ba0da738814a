"""Services of the system as CPUs are added: calls between processes, wake-ups, creation.

Where Linux puts woken and new threads depends on the seed, so its limits leave room for that; tern has limits
of its own in `fan` and `spread`. Above 4 CPUs they are below the smallest seed less the clock's steps.
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
