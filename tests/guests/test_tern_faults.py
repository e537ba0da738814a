"""Each of tern's `fault=` settings, and what detects it: the verifier, a self-test or the attribution.

Each test boots one fault. Where the check is the test's own, it applies the same check to the healthy kernel.
Faults that a speedup gate detects are in test_tern_gates.py.
"""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from benchgate.base.runs import Ending, Outcome
from benchgate.base.system.systems import System
from benchgate.insn.log_reader import read_log
from benchgate.judge.accounts import attribution
from benchgate.judge.accounts.attribution import WHOLE, Table
from benchgate.judge.judged_run import JudgedRun
from benchgate.plan import catalog
from tests import ternkit
from tests.ternkit import Bootkit, Params

HANGS_S = 5.0
"""Guest time. The park check takes 5 ms; the test of a lost wake-up waits this long."""


ONE_WORKER: Params = {"hi": 50_000, "split": "one"}
TOTAL = (3, 4)
"""The marks of the total window, as guest/bench.h numbers them."""
STEPS: Params = {"steps": 1024}


def broken(fault: str) -> System:
    """tern with `fault=NAME` or `fault=NAME:N`. The setting in the YAML file accepts names only."""
    name = fault.partition(":")[0]
    system = catalog.load_system(f"kernel:fault={name}")
    return with_words(system, system.boot.append.replace(f"fault={name}", f"fault={fault}"))


def with_words(system: System, append: str) -> System:
    return replace(system, boot=replace(system.boot, append=append))


def attributed(kit: Bootkit, system: System | str, workload: str, params: Params) -> Table:
    return tabled(kit.run(system, workload, 2, params, measure=True))


def tabled(judged: JudgedRun) -> Table:
    assert judged.verified, judged.reason
    return attribution.table(judged.run.cell.id, ternkit.transcript(judged))


@pytest.fixture(scope="module")
def timed(kit: Bootkit) -> Bootkit:
    """On the instruction clock: the guest's times and counts do not depend on the host's load."""
    return replace(kit, folder=kit.folder / "timed", insn=True)


@pytest.fixture(scope="module")
def primes(timed: Bootkit) -> Table:
    """No fault. One worker has all of the work, so the other CPU idles."""
    return attributed(timed, "kernel", "primes", ONE_WORKER)


@pytest.fixture(scope="module")
def tasks(timed: Bootkit) -> Table:
    """No fault. Both CPUs have runnable tasks."""
    return attributed(timed, "kernel", "tasks", STEPS)


def need(value: int | None) -> int:
    assert value is not None
    return value


# ---- the verifier


def test_the_verifier_finds_a_wrong_answer(kit: Bootkit) -> None:
    # On one CPU, so that the worker ends on the CPU that has the fault.
    judged = kit.run(broken("wrong-checksum"), "checksum", 1, {"blocks": 4096})
    assert judged.outcome is Outcome.INVALID
    assert judged.reason.startswith("wrong answer: worker ")


def test_the_verifier_finds_a_panic(kit: Bootkit) -> None:
    """A panic on the second CPU, with the debug profile."""
    system = catalog.load_system("kernel:profile=debug:fault=panic")
    system = with_words(system, system.boot.append.replace("fault=panic", "fault=panic:1"))
    judged = kit.run(system, "primes", 2, {"hi": 100_000})
    assert (judged.outcome, judged.run.ending) == (Outcome.CRASHED, Ending.PANIC)
    assert "panic: cpu=1 why=fault" in judged.reason
    assert re.search(r"^panic: cpu=1 why=fault$", ternkit.console(judged.run), re.MULTILINE)
    assert judged.run.exit_status == 37  # 35 is the status of a failure that a program reports


# ---- the kernel's self-tests


def test_the_park_check_finds_a_lost_wake_up_within_the_boot_deadline(timed: Bootkit) -> None:
    """In a workload a lost wake-up hangs the run only if the worker already waits, and the run ends at 120 s.
    In this check a thread waits for every wake-up, and a smoke has the deadline of a boot."""
    assert ternkit.checks(ternkit.own_checks(timed))["park"]
    system = broken("lost-wake")
    assert system.smoke is not None
    hasty = replace(
        system,
        deadlines=replace(system.deadlines, boot_s=HANGS_S),
        smoke=replace(system.smoke, append=f"{system.smoke.append} only=park"),
    )
    assert hasty.deadlines.run_s == 120
    bad = timed.smoke(hasty, 2)
    assert (bad.ending, ternkit.checks(bad)) == (Ending.RUN_DEADLINE, {})
    assert "not finished within its deadline (5 s of guest time)" in bad.detail


def test_the_stress_check_finds_a_skipped_shootdown(timed: Bootkit) -> None:
    good = timed.words("kernel", 2, "selftest=stress only=stress-shootdown")
    assert (good.ending, ternkit.checks(good)) == (Ending.DONE, {"stress-shootdown": True})
    bad = timed.words("kernel", 2, "fault=skip-shootdown selftest=stress only=stress-shootdown")
    assert (bad.ending, ternkit.checks(bad)) == (Ending.FAILED, {"stress-shootdown": False})


def test_the_stress_check_finds_an_unfair_weight(timed: Bootkit) -> None:
    """Boots one CPU, because stress-fair checks nothing at other CPU counts. There bomb-starved can take
    every page: no other CPU's page cache holds some back."""
    good = ternkit.every_check(timed, 1)
    seen = ternkit.checks(good)
    assert all(seen.values()), ternkit.console(good)
    assert good.ending is Ending.DONE
    assert {"stress-fair", "bomb-starved"} <= set(seen)
    assert list(seen)[-2:] == ["stress-fair", "stress-wake"]
    bad = timed.words("kernel", 1, "fault=unfair-weight selftest=stress fair_tries=1")
    result = ternkit.checks(bad)
    assert bad.ending is Ending.FAILED
    assert [name for name in result if not result[name]] == ["stress-fair"]
    assert list(result)[-1] == "stress-fair"  # nothing is run after a check that failed


# ---- the attribution


def idle_share(table: Table, cpu: int) -> float:
    idle, busy = need(table.by_cpu["idle_time"][cpu]), need(table.by_cpu["busy_time"][cpu])
    return idle / (idle + busy)


def test_the_attribution_finds_a_dropped_ipi(timed: Bootkit, tasks: Table) -> None:
    """No interrupt wakes the second CPU: it idles through a window in which many tasks are runnable."""
    assert need(tasks.value("resched_taken")) > 0
    assert need(tasks.value("resched_dropped")) == 0
    assert max(idle_share(tasks, cpu) for cpu in (0, 1)) < 0.1
    bad = attributed(timed, broken("drop-ipi"), "tasks", STEPS)
    assert bad.value("resched_sent") == bad.value("resched_taken") == 0
    assert need(bad.value("resched_dropped")) > 0
    assert max(idle_share(bad, cpu) for cpu in (0, 1)) > 0.9


IPIS_IN_FLIGHT = 2
"""How many reschedule IPIs may be sent on one side of a border of the window and taken on the other."""


@pytest.mark.parametrize("n", [1, 2, 5])
def test_every_nth_reschedule_ipi_is_dropped(timed: Bootkit, n: int) -> None:
    """Each CPU counts its own IPIs and drops every Nth. The window may start and end anywhere between two
    drops."""
    table = tabled(timed.run(broken(f"drop-ipi:{n}"), "primes", 16, {"hi": 50_000}, measure=True))
    sent, dropped = table.by_cpu["resched_sent"], table.by_cpu["resched_dropped"]
    asked = [need(sent[cpu]) + need(dropped[cpu]) for cpu in range(16)]
    assert max(asked) > 2 * n
    for cpu in range(16):
        assert abs(asked[cpu] - n * need(dropped[cpu])) < n, f"cpu {cpu}: {sent} sent, {dropped} dropped"
    in_flight = need(table.value("resched_sent")) - need(table.value("resched_taken"))
    assert abs(in_flight) <= (0 if n == 1 else IPIS_IN_FLIGHT)


def test_the_attribution_finds_an_unbounded_steal(timed: Bootkit, primes: Table) -> None:
    """A search may examine STEAL_VICTIMS = 4 queues, and there is at most one search per pick."""
    bound = 4
    assert need(primes.value("steals_tried")) <= bound * need(primes.value("picks"))
    bad = attributed(timed, broken("unbounded-steal"), "primes", ONE_WORKER)
    assert need(bad.value("steals_tried")) > bound * need(bad.value("picks"))


def test_the_attribution_finds_a_spinning_idle(timed: Bootkit, primes: Table) -> None:
    """A CPU that halts when it is idle asks the scheduler once per wake-up; a CPU that spins asks all the
    time."""
    bad = attributed(timed, broken("idle-spin"), "primes", ONE_WORKER)
    assert max(idle_share(primes, cpu) for cpu in (0, 1)) > 0.9
    assert need(bad.value("picks")) > 20 * need(primes.value("picks"))


@pytest.mark.parametrize("seed", [1, 4])
def test_beside_a_cpu_that_spins_on_the_clock_the_guest_reads_the_time_of_its_window(
    timed: Bootkit, seed: int
) -> None:
    """A CPU that is ahead has asked for the time, which never goes back, so the one with the window sees
    that. In a window it may be ahead by a quantum. When that was 25 quanta around it, these seeds were 11
    and 12 us off in 3.5 ms, and on other hosts up to 112 in 7 ms."""
    kit = replace(timed, folder=timed.folder / f"seed{seed}", seed=seed)
    judged = kit.run(broken("idle-spin"), "primes", 4, {"hi": 30_000, "split": "one"})
    assert judged.verified, judged.reason
    assert judged.run.clock_log
    log, told = read_log(judged.run.clock_log), ternkit.transcript(judged)
    begin, end = (next(mark.time for mark in log.marks if mark.kind == kind) for kind in TOTAL)
    assert abs(told.total_end - told.total_start - (end - begin)) <= 2 * log.quantum


def held(table: Table) -> float:
    """Mean time in a queue's lock, in cycles."""
    lock = table.locks["queue"][WHOLE]
    return need(lock.hold) / need(lock.takes)


def test_the_attribution_finds_a_lock_held_too_long(timed: Bootkit, tasks: Table) -> None:
    """The fault adds 20 us at every enqueue; without it a queue's lock is held for less than 1 us."""
    bad = attributed(timed, broken("lock-hold"), "tasks", STEPS)
    assert held(bad) > 5 * held(tasks)


# ---- races, which `benchgate explore` finds (its tools/faults.py)


@pytest.mark.parametrize("fault", ternkit.RACES)
def test_an_ordinary_run_passes_with_a_race(timed: Bootkit, fault: str) -> None:
    """The words are known, and the wrong copies work where nothing comes in between."""
    run = timed.smoke(catalog.load_system(f"kernel:fault={fault}"), 2)
    assert run.ending is Ending.DONE, run.detail
    assert all(ternkit.checks(run).values())
    assert {"park", "exit", "spawn-thread"} <= set(ternkit.checks(run))
