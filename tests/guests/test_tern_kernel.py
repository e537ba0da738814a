"""Boots of tern's debug profile: its lock order, deadlines and assertions hold while programs misbehave, and
it exits as documented when the command line is invalid.

Under plain TCG; checks the console and the exit status only. tests/line/test_tern.py boots the same profile
with attribution.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from benchgate.base.paths import data_root
from benchgate.base.system.qemu import Qemu
from benchgate.build import programs
from benchgate.build.fetch import inputs
from tests.machines import PATIENCE_S
from tests.ternkit import LIGHT

GOOD, FAILED, PANIC = 33, 35, 37
KILLED = re.compile(
    rb"killed: process=\d+ thread=\d+ cpu=\d+ why=[a-z0-9-]+ vector=\d+ address=[0-9a-f]+ ip=[0-9a-f]+"
)
HOSTILE_CHILDREN = 30


@dataclass(frozen=True)
class Tern:
    qemu: Qemu
    image: Path

    def boot(self, cpus: int, append: str, *more: str) -> tuple[int, bytes]:
        """Exit status and console. `more`: arguments of QEMU."""
        argv = [str(self.qemu.binary)]
        for folder in self.qemu.data:
            argv += ["-L", str(folder)]
        argv += ["-machine", LIGHT, "-cpu", "max", "-accel", "tcg,thread=multi", "-m", "128M"]
        argv += ["-smp", str(cpus), "-display", "none", "-nodefaults", "-no-user-config", "-no-reboot"]
        argv += ["-serial", "stdio", "-device", "isa-debug-exit,iobase=0xf4,iosize=4"]
        argv += ["-kernel", str(self.image), "-append", append, *more]
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=dict(self.qemu.environment),
            timeout=PATIENCE_S,
            check=False,
        )
        return done.returncode, done.stdout


@pytest.fixture(scope="module")
def tern() -> Tern:
    root = data_root()
    out = programs.run_build(
        [["make", "PROFILE=debug", "OUT={out}"]],
        root / "kernel",
        [root / "kernel", root / "guest"],
        name="tern-debug",
    )
    return Tern(inputs.qemu(), out / "tern.elf")


def test_every_self_test_passes_and_hostile_programs_are_killed(tern: Tern) -> None:
    status, console = tern.boot(2, "selftest=all")
    assert status == GOOD, console[-400:]
    assert b"selftest: done failed=0" in console
    lines = [line for line in console.splitlines() if line.startswith(b"killed:")]
    before = console.partition(b"selftest: hostile-arguments ")[0]  # later checks kill other programs
    assert before.count(b"\nkilled:") >= HOSTILE_CHILDREN
    assert all(KILLED.fullmatch(line) for line in lines)
    good = set(re.findall(rb"^selftest: (\S+) ok", console, re.MULTILINE))
    assert {b"spawn-process", b"park", b"hostile-memory", b"bomb-memory", b"stress-leak"} <= good


def test_an_unknown_word_is_refused(tern: Tern) -> None:
    """The panic must come before the other CPUs start: an NMI to a CPU that is still in the firmware resets
    the machine, which looks like an orderly shutdown. tests/line/test_tern.py has the words that the fast
    profile refuses."""
    status, console = tern.boot(4, "sched=best")
    assert status == PANIC
    assert b"panic: cpu=0 why=option word=sched=best known=global,rr,wfq" in console


@pytest.mark.parametrize("words", ["selftest=nosuch", "only=nosuch"])
def test_a_self_test_that_does_not_exist_fails(tern: Tern, words: str) -> None:
    status, console = tern.boot(1, words)
    assert status == FAILED
    assert b"selftest: FAILED: no check has that name" in console
    assert b"selftest: done failed=1" in console


# ---- what comes after a warm start (kernel/warm/warm.c), here from the begin

ASKED = "sched=wfq bench.workload=mine bench.nonce=0123456789abcdef"


def started(tern: Tern, words: str, program: Path, append: str = "sched=wfq") -> tuple[int, bytes]:
    given = program.with_name("words")
    given.write_text(f"{words}\n")
    files = [word for name, path in (("words", given), ("files", program)) if path.exists()
             for word in ("-fw_cfg", f"name=opt/benchgate/{name},file={path}")]  # fmt: skip
    return replace(tern, image=tern.image.with_name("warm.elf")).boot(2, append, *files)


def test_a_kernel_that_waited_runs_the_program_that_it_gets(tern: Tern, tmp_path: Path) -> None:
    """By the name in its words, whatever the file is called."""
    program = tmp_path / "x"
    program.write_bytes((tern.image.parent / "programs" / "selftest.elf").read_bytes())
    status, console = started(tern, f"{ASKED} selftest=quick", program)
    assert status == GOOD, console[-400:]
    lines = console.splitlines()
    assert (lines[0], lines[1][:12], lines[-1]) == (
        b"benchwaits",
        b"tern: cpus=2",
        b"selftest: done failed=0",
    )


@pytest.mark.parametrize(
    ("words", "size", "said"),
    [
        ("sched=rr bench.workload=mine", 100, "why=warm reason=the-words-are-of-another-boot"),
        ("sched=wf bench.workload=mine", 100, "why=warm reason=the-words-are-of-another-boot"),
        (f"{ASKED} x={'y' * 3072}", 100, "why=command-line reason=too-long most=3071"),
        (ASKED, None, "why=warm reason=no-program"),
        (ASKED, (1 << 20) + 1, "why=warm reason=too-large-a-program bytes=1048577 most=1048576"),
        (
            "sched=wfq bench.nonce=0123456789abcdef",
            100,
            "why=option word=bench.workload reason=missing",
        ),
    ],
    ids=["policy", "shorter", "long", "no program", "large", "no workload"],
)
def test_what_cannot_be_run_after_a_warm_start_is_refused(
    tern: Tern, tmp_path: Path, words: str, size: int | None, said: str
) -> None:
    program = tmp_path / "x"
    if size is not None:
        program.write_bytes(bytes(size))
    status, console = started(tern, words, program)
    assert (status, said.encode() in console) == (PANIC, True), console
