"""Each fault that tern has on demand, and what detects it: the verifier, a smoke or the attribution.

Every test names the detector and applies the same check to the healthy kernel. A global queue only costs
time, in many short tasks; a gate detects that (tests/threads/test_tasks.py).
"""

from __future__ import annotations

import re
import time
from dataclasses import replace

import pytest

from benchgate.base.runs import Ending, Outcome
from benchgate.base.systems import System
from benchgate.insn.log import Level
from benchgate.judge import attribution
from benchgate.judge.attribution import WHOLE, Table
from benchgate.judge.judged_run import JudgedRun
from benchgate.plan import catalog
from tests import ternkit
from tests.ternkit import Bootkit

HANGS_S = 5.0
"""Ten times as long as the run needs; the test of a hang waits that long."""


def broken(fault: str) -> System:
    """The system with `fault=NAME` or `fault=NAME:N`; the YAML setting accepts names only."""
    name = fault.partition(":")[0]
    system = catalog.load_system(f"kernel:fault={name}")
    return replace(system, append=system.append.replace(f"fault={name}", f"fault={fault}"))


def attributed(kit: Bootkit, system: System | str, workload: str, **params: object) -> Table:
    return tabled(kit.run(system, workload, 2, params, measure=True))


def tabled(judged: JudgedRun) -> Table:
    assert judged.verified, judged.reason
    return attribution.table(judged.run.cell.id, ternkit.transcript(judged))


@pytest.fixture(scope="module")
def healthy(kit: Bootkit) -> Table:
    return tabled(ternkit.primes_on_q35(kit))


def need(value: int | None) -> int:
    assert value is not None
    return value


# ---- the verifier


def test_the_verifier_finds_a_wrong_answer(kit: Bootkit) -> None:
    # On one CPU: it is certainly the CPU whose worker reports the wrong value.
    judged = kit.run(broken("wrong-checksum"), "checksum", 1, {"blocks": 4096})
    assert judged.outcome is Outcome.INVALID
    assert judged.reason.startswith("wrong answer: worker ")


def test_the_verifier_finds_a_panic(kit: Bootkit) -> None:
    """On the second processor, with the debug profile."""
    system = catalog.load_system("kernel:profile=debug:fault=panic")
    system = replace(system, append=system.append.replace("fault=panic", "fault=panic:1"))
    judged = kit.run(system, "primes", 2, {"hi": 100_000})
    assert (judged.outcome, judged.run.ending) == (Outcome.CRASHED, Ending.PANIC)
    assert "panic: cpu=1 why=fault" in judged.reason
    assert re.search(r"^panic: cpu=1 why=fault$", ternkit.console(judged.run), re.MULTILINE)
    assert judged.run.exit_status == 37  # its own, beside 35 for a failure that a program reports


# ---- the kernel's own checks, which the smokes of a system may run


def test_the_park_smoke_finds_a_lost_wake_up_long_before_a_workload_would_be_ended(kit: Bootkit) -> None:
    """A lost wake-up hangs a run until its deadline, but only if the worker is already waiting, which is
    chance. In this check every wake-up is waited for. A smoke has the deadline of a boot; otherwise this test
    would wait for the 120 s of a run."""
    assert ternkit.checks(ternkit.own_checks(kit))["park"]
    system = broken("lost-wake")
    assert system.smoke is not None
    hasty = replace(
        system,
        deadlines=replace(system.deadlines, boot_s=HANGS_S),
        smoke=replace(system.smoke, append=f"{system.smoke.append} only=park"),
    )
    assert hasty.deadlines.run_s == 120
    begin = time.monotonic()
    bad = kit.smoke(hasty, 2)
    assert time.monotonic() - begin < hasty.deadlines.run_s / 2
    assert (bad.ending, ternkit.checks(bad)) == (Ending.RUN_DEADLINE, {})
    assert "not finished within its deadline" in bad.detail


def test_the_stress_check_finds_a_skipped_shootdown(kit: Bootkit) -> None:
    assert ternkit.checks(ternkit.every_check(kit))["stress-shootdown"]
    bad = kit.words("kernel", 2, "fault=skip-shootdown selftest=stress only=stress-shootdown")
    assert (bad.ending, ternkit.checks(bad)) == (Ending.FAILED, {"stress-shootdown": False})


def test_the_stress_check_finds_an_unfair_weight(kit: Bootkit) -> None:
    """On one CPU, because fairness is a promise of one queue. Only there can a program take all memory, so
    that starts fail for lack of it."""
    good = ternkit.every_check(kit, 1)
    seen = ternkit.checks(good)
    assert all(seen.values()), ternkit.console(good)
    assert good.ending is Ending.DONE
    assert {"stress-fair", "bomb-starved"} <= set(seen)
    bad = kit.words("kernel", 1, "fault=unfair-weight selftest=stress only=stress-fair")
    assert (bad.ending, ternkit.checks(bad)) == (Ending.FAILED, {"stress-fair": False})


# ---- the attribution


def idle_share(table: Table, cpu: int) -> float:
    idle, busy = need(table.by_cpu["idle_time"][cpu]), need(table.by_cpu["busy_time"][cpu])
    return idle / (idle + busy)


def test_the_attribution_finds_a_dropped_ipi(kit: Bootkit, healthy: Table) -> None:
    """No interrupt wakes the second CPU: it idles through a window in which many tasks are runnable."""
    assert need(healthy.value("resched_taken")) > 0
    assert need(healthy.value("resched_dropped")) == 0
    good = tabled(ternkit.tasks_on_pc(kit))
    assert max(idle_share(good, cpu) for cpu in (0, 1)) < 0.8
    table = attributed(kit, broken("drop-ipi"), "tasks", steps=4000)
    assert table.value("resched_sent") == table.value("resched_taken") == 0
    assert need(table.value("resched_dropped")) > 0
    assert max(idle_share(table, cpu) for cpu in (0, 1)) > 0.9


IPIS_IN_FLIGHT = 2
"""How many reschedule IPIs may be sent on one side of a border of the window and taken on the other."""


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_every_nth_reschedule_ipi_is_dropped(kit: Bootkit, n: int) -> None:
    """Each CPU counts its own IPIs and drops every Nth. The window may start and end anywhere between two
    drops. On the instruction clock, so that the runs repeat: as many IPIs are taken as were sent."""
    timed = replace(kit, folder=kit.folder / f"drop-ipi-{n}", level=Level.FULL)
    judged = timed.run(broken(f"drop-ipi:{n}"), "primes", 16, {"hi": 50_000}, measure=True)
    table = tabled(judged)
    sent, dropped = table.by_cpu["resched_sent"], table.by_cpu["resched_dropped"]
    asked = [need(sent[cpu]) + need(dropped[cpu]) for cpu in range(16)]
    assert max(asked) > 2 * n
    for cpu in range(16):
        assert abs(asked[cpu] - n * need(dropped[cpu])) < n, f"cpu {cpu}: {sent} sent, {dropped} dropped"
    in_flight = need(table.value("resched_sent")) - need(table.value("resched_taken"))
    assert abs(in_flight) <= (0 if n == 1 else IPIS_IN_FLIGHT)


def test_the_attribution_finds_an_unbounded_steal(kit: Bootkit, healthy: Table) -> None:
    """A search may examine STEAL_VICTIMS = 4 queues, and there is at most one search per pick."""
    bound = 4
    assert need(healthy.value("steals_tried")) <= bound * need(healthy.value("picks"))
    table = attributed(kit, broken("unbounded-steal"), "primes", hi=200_000, split="one")
    assert need(table.value("steals_tried")) > bound * need(table.value("picks"))


def test_the_attribution_finds_a_spinning_idle(kit: Bootkit, healthy: Table) -> None:
    """One worker has all the work, so one CPU idles. If it halts, it asks the scheduler once per wake-up. If
    it spins, it asks all the time, and takes host time from the others while the guest's clock goes on."""
    bad = attributed(kit, broken("idle-spin"), "primes", hi=200_000, split="one")
    assert max(idle_share(healthy, cpu) for cpu in (0, 1)) > 0.1
    assert need(bad.value("picks")) > 20 * need(healthy.value("picks"))


def held(table: Table) -> float:
    """Mean time in a queue's lock, in cycles."""
    lock = table.locks["queue"][WHOLE]
    return need(lock.hold) / need(lock.takes)


def test_the_attribution_finds_a_lock_held_too_long(kit: Bootkit) -> None:
    """20 us at every enqueue; without the fault a queue's lock is held for less than 1 us."""
    good = held(tabled(ternkit.tasks_on_pc(kit)))
    bad = held(attributed(kit, broken("lock-hold"), "tasks", steps=4000))
    assert bad > 5 * good
