"""Schedulers in BPF in charge of a Linux that is built here, and what is said of those that are not.

The kernel and the schedulers are built from the distribution's source, once: `nox -s scx`."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.build.fetch import inputs
from benchgate.features.linux_build import kernel
from benchgate.features.linux_build.tools.schedulers import (
    CRATES,
    SCHEDULERS,
    SOURCE,
    built,
    clang,
    crate,
    say,
)
from benchgate.judge.judged_run import JudgedRun
from benchgate.plan import catalog
from tests.forked import pytest_in
from tests.ternkit import Bootkit

pytestmark = pytest.mark.scx
NAMES = {"scx_simple": "simple", "scx_central": "central", "scx_flatcg": "flatcg", "scx_qmap": "qmap"}
"""The kernel's name of each program's scheduler."""
ONE_CPU = "scx_central"
"""It demands to be initialized on its own CPU. Linux 6.12 does that in a thread of the kernel, which an idle
CPU takes: on two CPUs never the one on which the program that loads it runs."""
HI = {"hi": 300_000}
BUILT = f"linux:source={SOURCE}"


@pytest.fixture(scope="module")
def programs() -> Path:
    return built()


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Bootkit:
    return Bootkit(tmp_path_factory.mktemp("scx"), inputs.qemu(), True)


def run(  # noqa: PLR0917 - a row
    kit: Bootkit, program: Path, words: str = "", cpus: int = 2, workload: str = "primes", system: str = BUILT
) -> JudgedRun:
    params = HI if workload == "primes" else {}
    return kit.run(f"{system}:scx={program} {words}".strip(), workload, cpus, params)


def facts(judged: JudgedRun) -> list[bytes]:
    return re.findall(rb"^benchscx at=.*?$", (judged.run.folder / "serial.log").read_bytes(), re.MULTILINE)


def test_a_kernel_that_was_built_is_found_in_seconds() -> None:
    first = kernel.build(SOURCE, notice=say)
    begin = time.monotonic()
    assert kernel.build(SOURCE, notice=say) == first
    assert time.monotonic() - begin < 10
    assert (first.image.name, first.version.partition(".")[0]) == ("vmlinux", "6")


def test_a_rust_of_this_host_is_not_in_the_kernel() -> None:
    """A host without one would build other bytes from the same source, configuration and compiler."""
    folder = kernel.build(SOURCE, notice=say).folder
    assert "CONFIG_RUSTC_VERSION=0\n" in (folder / "config").read_text()


def test_the_built_kernel_runs_without_a_scheduler_in_bpf(kit: Bootkit) -> None:
    judged = kit.run(f"linux:source={SOURCE}", "primes", 2, HI)
    assert judged.verified, judged.reason
    assert facts(judged) == []


@pytest.mark.parametrize("name", SCHEDULERS)
def test_a_scheduler_is_in_charge_from_before_the_workload_to_its_end(
    kit: Bootkit, programs: Path, name: str
) -> None:
    judged = run(kit, programs / name, cpus=1 if name == ONE_CPU else 2)
    assert judged.verified, judged.reason
    begin, end = (line.decode().split() for line in facts(judged))
    assert (begin[1], end[1]) == ("at=begin", "at=end")
    assert begin[2:] == end[2:]
    assert begin[2:5] == ["state=enabled", f"ops={NAMES[name]}", "switch_all=1"]


@pytest.mark.parametrize("name", ["scx_simple", "scx_qmap"])
def test_an_object_in_bpf_is_loaded_by_our_own_program(kit: Bootkit, programs: Path, name: str) -> None:
    judged = run(kit, programs.parent / f"{name}.bpf.o")
    assert judged.verified, judged.reason
    begin, end = (line.decode().split() for line in facts(judged))
    assert begin[2:] == end[2:]
    assert begin[2:5] == ["state=enabled", f"ops={NAMES[name]}", "switch_all=1"]


def test_an_object_that_is_no_scheduler_is_said_to_be_none(kit: Bootkit, tmp_path: Path) -> None:
    source = tmp_path / "none.bpf.c"
    source.write_text('char LICENSE[] __attribute__((section("license"))) = "GPL";\n')
    words = ("-target", "bpf", "-O2", "-g", "-c", source, "-o", tmp_path / "none.bpf.o")
    subprocess.run([clang(), *words], check=True)
    judged = run(kit, tmp_path / "none.bpf.o")
    assert not judged.verified
    assert "none.bpf.o has 0 tables of callbacks (struct_ops), and a scheduler is one" in judged.reason


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (
            ("scx_qmap", "-e 40", "schbench"),
            "after the workload its state was `disabled`; the kernel says: .*qmap: test triggering error",
        ),
        (
            ("scx_qmap", "-t 4", "primes"),
            "not in charge throughout: .*disabled [(]runnable task stall[)]; qmap: .* failed to run for 5",
        ),
        (("scx_qmap", "-p", "primes"), "it scheduled only threads that ask for SCHED_EXT .switch_all=0."),
        (("scx_qmap", "-?", "primes"), "program ended with status 1 before it was in charge"),
        ((ONE_CPU, "", "primes"), "the kernel says: .*central: init from non-central CPU"),
    ],
    ids=["error in the window", "stall", "partial", "usage", "refuses to begin"],
)
def test_one_that_is_not_makes_the_run_no_result(
    kit: Bootkit, programs: Path, asked: tuple[str, str, str], said: str
) -> None:
    program, words, workload = asked
    judged = run(kit, programs / program, words, workload=workload)
    assert not judged.verified
    assert re.search(said, judged.reason), judged.reason


@pytest.mark.skipif(
    shutil.which("cargo") is None, reason="cargo, which builds schedulers in Rust, is missing"
)
@pytest.mark.parametrize("name", CRATES)
def test_a_scheduler_in_rust_is_in_charge(kit: Bootkit, name: str) -> None:
    judged = run(kit, crate(name) / name)
    assert judged.verified, judged.reason
    begin, end = (line.decode().split() for line in facts(judged))
    assert begin[2:] == end[2:]
    assert (begin[2], begin[4]) == ("state=enabled", "switch_all=1")
    assert begin[3].startswith(f"ops={name.removeprefix('scx_')}")


ENDS = "--log-level scx_lavd=info --cpu-bw-max-cgroups 4294967295"
"""scx_lavd decides what it traces, and then ends: no kernel has room for so many groups. The console has only
the end of what it prints, in which that is not when it goes on."""


@pytest.mark.skipif(
    shutil.which("cargo") is None, reason="cargo, which builds schedulers in Rust, is missing"
)
@pytest.mark.parametrize("leaves_out", ["", "tracer_init_tracefs,"], ids=["tracefs", "no tracefs"])
def test_lavd_traces_futexes_where_there_is_tracefs(kit: Bootkit, leaves_out: str) -> None:
    system = catalog.load_system(f"{BUILT}:scx={crate('scx_lavd')}/scx_lavd {ENDS}")
    words = system.boot.append
    assert words.count("initcall_blacklist=") == 1
    assert "tracer_init_tracefs" not in words
    append = words.replace("initcall_blacklist=", f"initcall_blacklist={leaves_out}")
    judged = kit.run(replace(system, boot=replace(system.boot, append=append)), "primes", 2, HI)
    said = (judged.run.folder / "serial.log").read_bytes()
    _, _, after = said.partition(b"topology: None")
    assert b"capacity bound" in after
    assert (b"Fail to attach futex ftraces" in after) == bool(leaves_out)


@pytest.mark.parametrize("cpus", [2, 4])
def test_central_runs_where_threads_of_the_kernel_stay_on_cpu_0(
    kit: Bootkit, programs: Path, cpus: int
) -> None:
    """Its own one: the thread in which Linux initializes it is on a CPU that is not `nohz_full`."""
    others = "1" if cpus == 2 else f"1-{cpus - 1}"
    judged = run(kit, programs / ONE_CPU, cpus=cpus, system=f"{BUILT}:nohz_full={others}")
    assert judged.verified, judged.reason
    assert all(b"ops=central" in line for line in facts(judged))


DYNAMIC = """\
import pytest


@pytest.mark.workload("dynamic")
def test_every_item_is_done_once(cell):
    cell.require_verified()
"""


def test_a_thread_that_no_tick_interrupts_is_not_foreign(programs: Path, tmp_path: Path) -> None:
    """In seed 2 the process's own clock lacked one of four threads, and the run was INVALID for its time."""
    shutil.copy(programs / ONE_CPU, tmp_path)
    (tmp_path / "test_dynamic.py").write_text(DYNAMIC)
    system = f"{BUILT}:nohz_full=1-3:scx=./{ONE_CPU}"
    words = ["-q", "--clock=insn", "--smp=4", "--runs=5", f"--system={system}"]
    status, said = pytest_in(tmp_path, words, 600.0)
    assert status == 0, said


def test_a_path_with_spaces_and_settings_beside_a_scheduler(
    kit: Bootkit, programs: Path, tmp_path: Path
) -> None:
    program = tmp_path / "a b" / "scx_simple"
    program.parent.mkdir()
    shutil.copy(programs / "scx_simple", program)
    judged = run(kit, program, "-f", system=f"{BUILT}:sysctl=vm.swappiness=7")
    assert judged.verified, judged.reason
    assert [b"ops=simple" in line for line in facts(judged)] == [True, True]


def test_threads_under_a_scheduler_in_bpf_are_seen(kit: Bootkit, programs: Path) -> None:
    judged = kit.run(f"{BUILT}:scx={programs}/scx_simple", "primes", 2, HI, threads=True)
    assert judged.verified, judged.reason
    assert judged.verified.metrics["sched_wait_max"] > 0


def test_a_kernel_without_sched_ext_is_told(kit: Bootkit, programs: Path) -> None:
    judged = run(kit, programs / "scx_simple", system="linux")
    assert not judged.verified
    assert "this kernel has no sched_ext (CONFIG_SCHED_CLASS_EXT)" in judged.reason
