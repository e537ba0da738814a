"""Faults of tern that give right answers and only cost time: a speedup gate says FAIL, with the ratio.

The runs take a few milliseconds on the instruction clock. Every answer is verified, so only the gate detects
the fault. What detects the other faults is in test_tern_faults.py.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.cells import Window
from benchgate.base.runs import VerifiedRun
from benchgate.judge import verify
from benchgate.plan import catalog, systemfile
from benchgate.run.record import load
from tests.line.sessions import REPO, Session, gated_tern
from tests.ternkit import Bootkit, judged_five_times, light


def test_a_speedup_gate_finds_dropped_ipis(dropped_ipis: Session) -> None:
    """No interrupt tells the second CPU that there is work, so the first does nearly all of it. With this
    fault every seed gives the same run (see the soak test below), so one run per arm is used five times."""
    workload, system = catalog.load_workload("tasks"), light(catalog.load_system("kernel:fault=drop-ipi"))
    runs = [load(folder) for folder in sorted((dropped_ipis.folder / "runs").iterdir())]
    arms = []
    for cpus in (1, 2):
        (counted,) = (run for run in runs if run.cell.cpus == cpus and not run.warmup)
        arms.append(verify.verify_on(counted, workload, system))
    verdict = judged_five_times(arms[0], arms[1], at_least=1.6)
    assert (verdict.outcome, verdict.ratio) == ("FAIL", verdict.high), verdict.reason
    assert verdict.ratio is not None
    assert 1 < verdict.ratio < 1.5


HALVED = """\
static void take_half_of_a_lone_cpu(void) {
    static uint64_t last;
    uint64_t t = now(), gone = t - last, most = SLICE_ALONE_US * cycles_per_us;
    if (cpu_count == 1)
        while (now() - t < (gone < most ? gone : most))
            for (volatile unsigned i = 0; i < 100; i++)
                ;
    last = now();
}

void timer_interrupt(void) {
    take_half_of_a_lone_cpu();
"""
HALVED_YAML = """\
version: 1
name: halved
kind: qemu
build:
  folder: kernel
  sources: [kernel, guest]
  commands: [[make, "OUT={{out}}", "WORKLOAD={{workload}}", "SOURCE={{source}}"]]
qemu: {{machine: q35, memory: 512M, smp: "{{n}}"}}
boot: {{kernel: "{{out}}/tern.elf", append: sched=wfq fault={fault}}}
ask: cmdline
console: {{ready: "^tern: "}}
result: {{system: tern}}
end: {{by: exit, exit_codes: [33]}}
"""


@pytest.fixture(scope="module")
def halved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of tern, outside the repository, whose timer interrupt takes half of a CPU that is alone."""
    folder = tmp_path_factory.mktemp("halved")
    for part in ("kernel", "guest"):
        shutil.copytree(REPO / part, folder / part)
    changes = {
        "core/timer.c": ("void timer_interrupt(void) {\n", HALVED),
        "config.h": ("#define SLICE_ALONE_US 10000", "#define SLICE_ALONE_US 500"),
    }
    for name, (before, after) in changes.items():
        path = folder / "kernel" / name
        text = path.read_text()
        assert text.count(before) == 1
        path.write_text(text.replace(before, after))
    return folder


def halved_arm(kit: Bootkit, halved: Path, fault: str, cpus: int) -> VerifiedRun:
    path = halved / f"{fault}.yaml"
    path.write_text(HALVED_YAML.format(fault=fault))
    timed = replace(kit, folder=kit.folder / f"halved-{fault}-{cpus}", insn=True)
    judged = timed.run(systemfile.load(path), "primes", cpus, {"hi": 200_000})
    assert judged.verified, judged.reason
    return judged.verified


@pytest.mark.long
def test_a_slowed_base_does_not_make_a_speedup_of_workers_on_one_cpu(kit: Bootkit, halved: Path) -> None:
    """Both arms use one CPU. The interrupts of the base are neither workers nor foreign threads."""
    base, crowded = (halved_arm(kit, halved, "crowd", cpus) for cpus in (1, 2))
    assert base.work > 1.9 * crowded.work
    assert {worker.cpu for worker in crowded.workers} == {0}
    assert crowded.cpu_work.used[Window.WORK].awake.high < 1.05
    verdict = judged_five_times(base, crowded)
    assert verdict.outcome == "INVALID"
    assert re.search(r"above 1\.05, but only 1\.0\d CPUs were (awake|at work) in its window", verdict.reason)


def fails(where: Path, system: str) -> Session:
    session = gated_tern(where, system, "--runs=5")
    (verdict,) = session.verdicts
    assert (session.code, verdict["outcome"]) == (1, "FAIL"), session.output
    assert verdict["high"] < 1.5
    row = verdict["system"]
    assert f"FAIL: tasks.steps-4000-{row} smp2/smp1 = {verdict['ratio']:.2f} [" in session.output
    assert [session.outcomes(cpus, row) for cpus in (1, 2)] == [["ok"] * 5] * 2
    return session


@pytest.mark.soak
def test_with_dropped_ipis_every_seed_gives_the_same_time(tmp_path: Path) -> None:
    session = fails(tmp_path, "kernel:fault=drop-ipi")
    assert [len(set(session.work(cpus, "kernel.fault-drop-ipi"))) for cpus in (1, 2)] == [1, 1]


@pytest.mark.soak
def test_a_speedup_gate_finds_a_lock_held_too_long(tmp_path: Path) -> None:
    """Each step of 1 us holds the lock of the only queue for 20 us, so the second CPU waits for the first."""
    fails(tmp_path, "kernel:sched=global:fault=lock-hold")


@pytest.mark.soak
@pytest.mark.parametrize("system", ["kernel", "kernel:sched=global"])
def test_the_same_gate_passes_without_the_fault(tmp_path: Path, system: str) -> None:
    session = gated_tern(tmp_path, system, "--runs=5")
    (verdict,) = session.verdicts
    assert (session.code, verdict["outcome"]) == (0, "PASS"), session.output
