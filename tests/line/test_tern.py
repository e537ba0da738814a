"""tern in real boots: right answers by the same oracles as everybody's, on three machines; its own checks;
bad programs; the boot's time by its own clock."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate import attribution, catalog, images, insn, verify
from benchgate.build import file_digest
from benchgate.errors import VerifyError
from benchgate.host import accel
from benchgate.model import Accel, Ending
from benchgate.plan import PlannedCell
from benchgate.sweep import JudgedRun
from tests import ternkit, wirekit
from tests.ternkit import Bootkit

SMALL: dict[str, dict[str, int]] = {
    "primes": {"hi": 50_000},
    "checksum": {"blocks": 4096, "rounds": 4},
    "tasks": {"steps": 4000},
}


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Bootkit:
    return ternkit.tern(tmp_path_factory.mktemp("tern"))


ALL = [(workload, cpus) for workload in SMALL for cpus in (1, 2, 4)]
FEW = [("primes", 1), ("checksum", 4), ("tasks", 2)]


@pytest.mark.parametrize(
    ("workload", "cpus"), [one if one in FEW else pytest.param(*one, marks=pytest.mark.soak) for one in ALL]
)
def test_every_answer_is_right(kit: Bootkit, workload: str, cpus: int) -> None:
    judged = kit.run("kernel", workload, cpus, SMALL[workload])
    assert judged.verified, judged.reason
    assert len(judged.verified.workers) == cpus
    assert ternkit.transcript(judged).system == "tern"


@pytest.mark.parametrize("machine", ["pc", "microvm"])  # q35 is the system's own
def test_other_machines(kit: Bootkit, tmp_path: Path, machine: str) -> None:
    system = ternkit.rewritten("kernel", tmp_path, "machine: q35", f"machine: {machine}")
    judged = kit.run(system, "primes", 2, SMALL["primes"])
    assert judged.verified, judged.reason
    argv = (judged.run.folder / "argv.json").read_text()
    assert f'"{machine}"' in argv
    assert "q35" not in argv


def test_its_own_checks_pass_without_a_manifest(kit: Bootkit) -> None:
    done = kit.words("kernel", 2, "")
    seen = ternkit.checks(done)
    assert done.ending is Ending.DONE
    assert {"spawn-process", "spawn-thread", "ring", "park", "exit", "timers"} <= set(seen)
    assert all(seen.values())


KILLED = re.compile(
    r"^killed: process=\d+ thread=\d+ cpu=\d+ why=([a-z-]+) vector=(\d+) address=([0-9a-f]+) ip=([0-9a-f]+)$"
)


def test_programs_that_take_all_there_is_get_no_more(kit: Bootkit) -> None:
    """Thread and process bombs, memory, a process that dies among threads in every kind of wait; with little
    memory, so that there is an end of it."""
    small = replace(
        catalog.load_system("kernel"), qemu=replace(catalog.load_system("kernel").qemu, memory="40M")
    )
    done = kit.words(small, 2, "selftest=bombs")
    assert done.ending is Ending.DONE, ternkit.console(done)
    seen = ternkit.checks(done)
    assert set(seen) == {"bomb-threads", "bomb-processes", "bomb-waiters", "bomb-memory", "bomb-timeout"}
    assert all(seen.values())


@pytest.mark.parametrize("word", ["measure=1", "fault=panic"])
def test_the_fast_profile_refuses_what_it_has_not(kit: Bootkit, word: str) -> None:
    """It keeps no books of locks and has no faults: figures of nothing would read as zero."""
    done = kit.words("kernel:profile=fast", 1, f"boot=only {word}")
    assert done.ending is Ending.PANIC
    assert f"panic: cpu=0 why=option word={word} reason=the-fast-profile-" in ternkit.console(done)


def test_programs_that_misbehave_are_killed_and_the_others_go_on(kit: Bootkit) -> None:
    """Each child tries one thing and is killed by one line; the check that knows their statuses goes on."""
    done = kit.words("kernel", 2, "selftest=hostile")
    assert done.ending is Ending.DONE, ternkit.console(done)
    assert set(ternkit.checks(done)) == {
        "hostile-memory",
        "hostile-instructions",
        "hostile-rings",
        "hostile-arguments",
    }
    lines = [line for line in ternkit.console(done).splitlines() if line.startswith("killed:")]
    found = [KILLED.match(line) for line in lines]
    assert all(found), [line for line, match in zip(lines, found, strict=True) if not match]
    vectors = {(match[1], int(match[2])) for match in found if match}
    assert {("page", 14), ("protection", 13), ("divide", 0), ("opcode", 6), ("ring-counts", 255)} <= vectors
    assert len(lines) >= 30


@pytest.mark.parametrize(("cpus", "most_ms"), [(1, 100), (8, 250)])
def test_the_boot_reaches_its_first_program_in_time(kit: Bootkit, cpus: int, most_ms: int) -> None:
    """From power-on, firmware included, to the begin of the total window, on the instruction clock: plain TCG
    takes about as long on a host that nobody else uses, which a test cannot ask for."""
    timed = replace(kit, folder=kit.folder / f"boot-smp{cpus}", level=insn.Level.FULL)
    judged = timed.run("kernel", "primes", cpus, {"hi": 10_000})
    assert judged.verified, judged.reason
    rate = re.search(r"^tern: .*\bcycles_per_us=(\d+)", ternkit.console(judged.run), re.MULTILINE)
    assert rate
    # the time stamp counter is 0 at power-on
    assert 0 < ternkit.transcript(judged).total_start / int(rate[1]) / 1000 < most_ms


def late(kit: Bootkit, seed: int) -> int:
    """Nanoseconds from the first worker's start to the last one's, of sixteen that one gate lets go."""
    timed = replace(kit, folder=kit.folder / f"gate-{seed}", level=insn.Level.FULL, seed=seed)
    judged = timed.run("kernel", "checksum", 16, SMALL["checksum"])
    assert judged.verified, judged.reason
    starts = [worker.start for worker in ternkit.transcript(judged).reports]
    assert len(starts) == 16
    return max(starts) - min(starts)


LATE_NS = 100_000
"""All start within 10 us; who waits in a queue while a CPU halts starts when another ends, a millisecond on.
Before nobody halted while a thread waits, that was so in 7 of 25 seeds."""


def test_no_worker_waits_while_a_cpu_halts(kit: Bootkit) -> None:
    assert max(late(kit, seed) for seed in (3, 5)) < LATE_NS


@pytest.mark.soak
def test_no_worker_waits_while_a_cpu_halts_on_any_seed(kit: Bootkit) -> None:
    assert max(late(kit, seed) for seed in range(1, 41)) < LATE_NS


SLICE_US = 2000
"""Of a thread while books are kept (kernel/config.h)."""


def test_a_worker_that_was_woken_is_interrupted_once_a_slice(kit: Bootkit) -> None:
    """The timer that stood for the end of its slice before it slept is not one interrupt more. CPU 0 is left
    out: the coordinator's slices, which are not the worker's, leave the timer at any time."""
    timed = replace(kit, folder=kit.folder / "ticks", level=insn.Level.FULL)
    judged = timed.run("kernel", "checksum", 4, {"blocks": 4096, "rounds": 128}, measure=True)
    assert judged.verified, judged.reason
    said = ternkit.transcript(judged)
    rate = re.search(r"^tern: .*\bcycles_per_us=(\d+)", ternkit.console(judged.run), re.MULTILINE)
    assert rate
    slices, over = divmod(said.work_end - said.work_start, SLICE_US * int(rate[1]))
    assert slices >= 2
    assert SLICE_US / 4 < over / int(rate[1]) < SLICE_US * 3 / 4  # it is clear how many ticks there are
    ticks = {
        measure.cpu: measure.value
        for measure in said.measures
        if (measure.phase, measure.name) == ("work", "ticks") and measure.cpu
    }
    assert ticks == dict.fromkeys((1, 2, 3), slices)


# ---- one binary, whatever its scheduler


def test_settings_of_the_command_line_share_one_binary(kit: Bootkit) -> None:
    made = images.Images(None, False, lambda _: None)
    words = ("kernel", "kernel:sched=rr", "kernel:sched=global:fault=idle-spin")
    kernels = {file_digest(need(made.of(planned(kit, word)).kernel)) for word in words}
    assert len(kernels) == 1
    assert file_digest(need(made.of(planned(kit, "kernel:profile=fast")).kernel)) not in kernels


def planned(kit: Bootkit, word: str) -> PlannedCell:
    return kit.planned(catalog.load_system(word), "primes", 1)


def need(path: Path | None) -> Path:
    assert path is not None
    return path


# ---- attribution


@pytest.fixture(scope="module")
def measured(kit: Bootkit) -> JudgedRun:
    judged = kit.run("kernel", "checksum", 2, {"blocks": 16_384}, measure=True)
    assert judged.verified, judged.reason
    return judged


def test_the_attribution_of_a_real_boot(kit: Bootkit, measured: JudgedRun) -> None:
    judged, said = measured, ternkit.transcript(measured)
    symbols = insn.read_symbols(need(kit.symbols("kernel", "checksum")))
    table = attribution.table(judged.run.cell.id, said, symbols)
    assert all(measure.value < 2**63 for measure in said.measures if measure.value is not None)
    for bucket in ("busy_time", "idle_time"):
        phases = [need_figure(table.value(bucket, phase)) for phase in attribution.PHASES]
        assert sum(phases[:3]) == phases[3]
    assert table.value("busy_time")
    assert table.value("network_polls") is None  # no such bucket here, which is not 0
    assert table.samples
    assert attribution.UNKNOWN not in table.samples
    for thread in table.threads:
        parts = (thread.running, thread.runnable, thread.blocked)
        assert sum(part or 0 for part in parts) == thread.lifetime
    assert {balance.name for balance in said.balances} >= {"thread_0", "queue_0", "queue_1", "cpu_0", "cpu_1"}


def need_figure(value: int | None) -> int:
    assert value is not None
    return value


@pytest.mark.parametrize("book", ["thread_0", "queue_1", "cpu_0"])
def test_books_that_do_not_balance_are_refused(
    kit: Bootkit, measured: JudgedRun, tmp_path: Path, book: str
) -> None:
    """The console of a good boot, with one side of one of its books one higher and every frame right."""
    lines = wirekit.bare(verify.read_console(measured.run))
    at = next(n for n, line in enumerate(lines) if line.startswith(f"balance name={book} "))
    head, right = lines[at].rsplit("=", 1)
    lines[at] = f"{head}={int(right) + 1}"
    (tmp_path / verify.CONSOLE).write_bytes(wirekit.console(*lines))
    lying = replace(measured.run, folder=tmp_path)
    cell = kit.planned(catalog.load_system("kernel"), "checksum", 2)
    with pytest.raises(VerifyError, match=f"the guest's books do not balance: {book}"):
        verify.verify_on(lying, cell.workload, cell.system)


# ---- KVM


def test_a_tiny_boot_under_kvm(kit: Bootkit, tmp_path: Path) -> None:
    """No reliance on quirks of the emulator: all processors come up, then it leaves. No program runs, since
    a KVM that is itself emulated (`benchgate doctor` says so) may know no `syscall`, and none is timed."""
    try:
        os.close(os.open("/dev/kvm", os.O_RDWR))
    except OSError as error:
        pytest.skip(f"/dev/kvm cannot be opened: {error.strerror}")
    troubles = []
    for model in (*accel.CPU_MODELS[Accel.KVM], "qemu64"):  # `-cpu host` aborts QEMU on some hosts
        here = replace(kit, folder=tmp_path / model, accel=Accel.KVM, cpu_model=model)
        for cpus in (1, 2):
            done = here.words("kernel", cpus, "boot=only", rf"^tern: cpus={cpus} ")
            if done.ending is Ending.NO_START:
                troubles.append(f"{model}: {done.detail}")
                break
            assert done.ending is Ending.DONE, f"{done.detail}\n{ternkit.console(done)}"
        else:
            return
    pytest.fail(f"/dev/kvm opens, and no CPU model runs: {troubles}")
