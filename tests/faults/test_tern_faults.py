"""Each defect that tern can be given on demand, and who finds it: the verifier, a smoke or the attribution.

Every test names its detector, and holds the healthy kernel against the same question. The one fault that only
costs time in many short tasks, a global queue, is a gate's (tests/threads/test_tasks.py).
"""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from benchgate import attribution, catalog
from benchgate.attribution import WHOLE, Table
from benchgate.model import Ending, Outcome
from benchgate.systems import System
from tests import ternkit
from tests.ternkit import Bootkit

HANGS_S = 2.0
"""Long enough for a run that takes a tenth of it; a test of a hang waits that long."""


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Bootkit:
    return ternkit.tern(tmp_path_factory.mktemp("tern"))


def broken(fault: str) -> System:
    return catalog.load_system(f"kernel:fault={fault}")


def attributed(kit: Bootkit, system: System | str, workload: str, **params: object) -> Table:
    judged = kit.run(system, workload, 2, params, measure=True)
    assert judged.verified, judged.reason
    return attribution.table(judged.run.cell.id, ternkit.transcript(judged))


@pytest.fixture(scope="module")
def healthy(kit: Bootkit) -> Table:
    return attributed(kit, "kernel", "primes", hi=200_000)


def need(value: int | None) -> int:
    assert value is not None
    return value


# ---- the verifier


def test_the_verifier_finds_a_wrong_answer(kit: Bootkit) -> None:
    # On one CPU, so that it is sure to be the one whose results are changed.
    judged = kit.run(broken("wrong-checksum"), "checksum", 1, {"blocks": 4096})
    assert judged.outcome is Outcome.INVALID
    assert judged.reason.startswith("wrong answer: worker ")


def test_the_verifier_finds_a_panic(kit: Bootkit) -> None:
    judged = kit.run(broken("panic"), "primes", 2, {"hi": 100_000})
    assert (judged.outcome, judged.run.ending) == (Outcome.CRASHED, Ending.PANIC)
    assert "panic: cpu=0 why=fault" in judged.reason
    assert judged.run.exit_status == 37  # its own, beside 35 for a failure that a program reports


# ---- the kernel's own checks, which the smokes of a system may run


def test_the_park_smoke_finds_a_lost_wake_up(kit: Bootkit) -> None:
    """A worker whose wake-up is lost hangs its run, which the run deadline ends; but whether a worker waits
    when it is woken is chance. Here each wake-up is waited for."""
    words = "selftest=quick only=park"
    good = kit.words("kernel", 2, words)
    assert (good.ending, ternkit.checks(good)) == (Ending.DONE, {"park": True})
    bad = kit.words(ternkit.with_deadlines(broken("lost-wake"), HANGS_S), 2, f"fault=lost-wake {words}")
    assert (bad.ending, ternkit.checks(bad)) == (Ending.RUN_DEADLINE, {})
    assert "not finished within its deadline" in bad.detail


def test_a_smoke_that_hangs_is_ended_long_before_a_workload_would_be(kit: Bootkit) -> None:
    """Its limit is that of the boot; the 120 s of a run would be waited for here if it were not."""
    system = broken("lost-wake")
    hasty = replace(system, deadlines=replace(system.deadlines, boot_s=5.0))
    assert hasty.deadlines.run_s == 120
    begin = time.monotonic()
    done = kit.smoke(hasty, 2)
    assert (done.ending, "not finished within its deadline" in done.detail) == (Ending.RUN_DEADLINE, True)
    assert time.monotonic() - begin < hasty.deadlines.run_s / 2


def test_the_stress_check_finds_a_skipped_shootdown(kit: Bootkit) -> None:
    words = "selftest=stress only=stress-shootdown"
    good = kit.words("kernel", 2, words)
    assert (good.ending, ternkit.checks(good)) == (Ending.DONE, {"stress-shootdown": True})
    bad = kit.words("kernel", 2, f"fault=skip-shootdown {words}")
    assert (bad.ending, ternkit.checks(bad)) == (Ending.FAILED, {"stress-shootdown": False})


def test_the_stress_check_finds_an_unfair_weight(kit: Bootkit) -> None:
    words = "selftest=stress only=stress-fair"
    good = kit.words("kernel", 1, words)
    assert (good.ending, ternkit.checks(good)) == (Ending.DONE, {"stress-fair": True})
    bad = kit.words("kernel", 1, f"fault=unfair-weight {words}")
    assert (bad.ending, ternkit.checks(bad)) == (Ending.FAILED, {"stress-fair": False})


# ---- the attribution


def idle_share(table: Table, cpu: int) -> float:
    idle, busy = need(table.by_cpu["idle_time"][cpu]), need(table.by_cpu["busy_time"][cpu])
    return idle / (idle + busy)


def test_the_attribution_finds_a_dropped_ipi(kit: Bootkit, healthy: Table) -> None:
    """Nobody wakes the second CPU: it idles through a window in which two workers want to run."""
    assert need(healthy.value("resched_taken")) > 0
    assert max(idle_share(healthy, cpu) for cpu in (0, 1)) < 0.8
    table = attributed(kit, broken("drop-ipi"), "primes", hi=200_000)
    assert table.value("resched_taken") == 0
    assert max(idle_share(table, cpu) for cpu in (0, 1)) > 0.9


def test_the_attribution_finds_an_unbounded_steal(kit: Bootkit, healthy: Table) -> None:
    """One search may look at STEAL_VICTIMS = 4 queues, and there is at most one search a pick."""
    bound = 4
    assert need(healthy.value("steals_tried")) <= bound * need(healthy.value("picks"))
    table = attributed(kit, broken("unbounded-steal"), "primes", hi=200_000)
    assert need(table.value("steals_tried")) > bound * need(table.value("picks"))


def test_the_attribution_finds_a_spinning_idle(kit: Bootkit) -> None:
    """One worker has all the work, so a CPU idles. By halting it asks the scheduler once a wake-up; by
    spinning all the time, which takes the host's time from the others while the guest's clock goes on."""
    good = attributed(kit, "kernel", "primes", hi=200_000, split="one")
    bad = attributed(kit, broken("idle-spin"), "primes", hi=200_000, split="one")
    assert max(idle_share(good, cpu) for cpu in (0, 1)) > 0.1
    assert need(bad.value("picks")) > 20 * need(good.value("picks"))


def held(table: Table) -> float:
    """Mean time in a queue's lock, in cycles."""
    lock = table.locks["queue"][WHOLE]
    return need(lock.hold) / need(lock.takes)


def test_the_attribution_finds_a_lock_held_too_long(kit: Bootkit) -> None:
    """20 us at every enqueue; a queue's lock is else held for less than one."""
    good = held(attributed(kit, "kernel", "tasks", steps=4000))
    bad = held(attributed(kit, broken("lock-hold"), "tasks", steps=4000))
    assert bad > 5 * good
