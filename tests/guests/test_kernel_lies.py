"""Kernels that misreport or have an accident, without a prompt: each is refused on both clocks by a sentence
that names it. Real boots of the kernel in tests/data/kernels/talker, judged as in a session.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchgate.base.system.systems import System
from benchgate.build.fetch import inputs
from benchgate.judge.judged_run import JudgedRun
from benchgate.plan import systemfile
from benchgate.run import console
from benchgate.run.console import Console
from tests.kernelkit import talker
from tests.promptkit import DELAYED, INSN, LONG, SHORT, WALL, check_idle_cpu, primes_to
from tests.ternkit import Bootkit

YAML = """\
version: 1
name: talker
kind: qemu
boot: {{kernel: "{kernel}", append: auto={hi} lie={case}{more}}}
ask: selftest
console: {{online: "^talker: (?P<n>[0-9]+) CPUs up$"}}
result:
  format: patterns
  work: {{begins: "^primes: start$", pattern: "^primes: took (?P<value>[0-9]+) ns$", unit: ns}}
  answers: ["^primes: hi={hi} workers=[0-9]+ count=(?P<count>[0-9]+) sum=(?P<sum>[0-9]+)$"]
  expect: {{count: {count}, sum: {sum}}}
end: {end}
deadlines: {{boot_s: 2, run_s: 2}}
"""
EXIT = "{by: exit, exit_codes: [33]}"
KILL = "{by: kill}"
CLOCKS = pytest.mark.parametrize("insn", [INSN, WALL], ids=["insn", "wall"])


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return talker(tmp_path_factory.mktemp("talker"))


def system(kernel: Path, case: str, hi: int = SHORT, end: str = EXIT) -> System:
    path = kernel.parent / f"{case}.yaml"
    count, total = primes_to(hi)
    path.write_text(
        YAML.format(
            kernel=kernel,
            case=case,
            hi=hi,
            count=count,
            sum=total,
            end=end,
            more=" end=never" * (end is KILL),
        )
    )
    return systemfile.load(path)


def boot(folder: Path, insn: bool, kernel: Path, case: str, *, hi: int = SHORT, end: str = EXIT) -> JudgedRun:
    return Bootkit(folder, inputs.qemu(), insn).run(system(kernel, case, hi, end), "selftest", 2)


@CLOCKS
@pytest.mark.parametrize("end", [EXIT, KILL])
def test_the_honest_kernel_is_verified(kernel: Path, tmp_path: Path, insn: bool, end: str) -> None:
    judged = boot(tmp_path, insn, kernel, "none", end=end)
    assert judged.verified is not None, judged.reason


def test_what_a_kernel_prints_until_it_is_stopped_is_read(
    kernel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A busy host stops it before it has read the lines after the answer, which are in the clock's log."""
    read = Console._read
    monkeypatch.setattr(console, "_GATHER_S", 0)
    monkeypatch.setattr(Console, "_read", lambda self, _, timeout: read(self, 1, timeout))
    judged = boot(tmp_path, INSN, kernel, "none", end=KILL)
    assert judged.verified is not None, judged.reason


@CLOCKS
@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("panic-off", "answers: nothing on the console matches"),
        ("reset-after", "QEMU reports that the guest ended itself: guest-reset"),
        ("babble", "bytes it printed nothing but"),
        ("counts", "more than 1048576 bytes of output after its result, and not its end"),
        ("reboots", "QEMU reports that the guest ended itself: guest-reset"),
    ],
)
def test_an_accident_is_named(kernel: Path, tmp_path: Path, insn: bool, case: str, said: str) -> None:
    judged = boot(tmp_path, insn, kernel, case)
    assert judged.verified is None
    assert said in judged.reason


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("one-cpu", "vCPU 1 executed only "),
        ("constant", r"work: the guest claims 25000000 ns, but on the instruction clock \d+ ns passed"),
        ("short", r"work: the guest claims \d+ ns, but on the instruction clock \d+ ns passed"),
    ],
)
def test_the_instruction_clock_refuses_a_figure_that_the_machine_did_not_earn(
    kernel: Path, tmp_path: Path, case: str, said: str
) -> None:
    judged = boot(tmp_path, INSN, kernel, case)
    assert judged.verified is None
    assert re.search(said, judged.reason), judged.reason


def test_a_figure_in_coarse_ticks_is_as_uncertain_as_a_tick_is_long(kernel: Path, tmp_path: Path) -> None:
    """The same work, printed in ns and in ticks of 10 ms."""
    exact = system(kernel, "none", LONG)
    path = kernel.parent / "coarse.yaml"
    text = (kernel.parent / "none.yaml").read_text().replace("lie=none", "lie=coarse")
    path.write_text(text.replace(") ns$", ") ticks$").replace("unit: ns", "unit: ticks, scale: 10000000"))
    kit = Bootkit(tmp_path, inputs.qemu(), INSN)
    truth, coarse = (kit.run(one, "selftest", 2).verified for one in (exact, systemfile.load(path)))
    assert truth is not None
    assert coarse is not None
    assert coarse.resolution is not None
    assert coarse.resolution.printed == 10_000_000
    assert abs(coarse.work - truth.work) <= coarse.resolution.printed
    assert coarse.work % 10_000_000 == 0


@pytest.mark.parametrize("end", [EXIT, KILL], ids=["exit", "kill"])
@pytest.mark.parametrize("case", ["one-cpu", "constant"])
def test_on_wall_time_a_cpu_that_did_not_run_is_no_sample(
    kernel: Path, tmp_path: Path, case: str, end: str
) -> None:
    kit = Bootkit(tmp_path, inputs.qemu(), rule=DELAYED)
    check_idle_cpu(kit.run(system(kernel, case, LONG, end), "selftest", 2))
