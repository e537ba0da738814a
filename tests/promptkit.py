"""Boots of the kernel in tests/data/kernels/talker that are asked at its prompt, judged as in a session.

Takes words for the kernel's command line and the steps of a conversation; gives the judged run. What is right
is computed here, not by the kernel.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from benchgate.base.gates import Verdict
from benchgate.base.runs import Deadlines, Outcome
from benchgate.base.system.arch import X86_64, Architecture
from benchgate.base.void_rule import VoidRule
from benchgate.build.fetch import inputs
from benchgate.judge.judged_run import JudgedRun
from benchgate.plan import systemfile
from tests.ternkit import Bootkit, judged_five_times

INSN, WALL = True, False
SHORT, LONG = 50_000, 2_000_000
"""A few milliseconds of work; on wall time enough to tell a vCPU that works from one that only booted."""
DELAYED = VoidRule(run_delay=0.02, steal=None, migrations=None, frequency=None, throttles=None)
YAML = """\
version: 1
name: talker
kind: qemu
arch: ARCH
boot: {kernel: "KERNEL", append: WORDS}
ask: prompt
prompt: '\\$ '
input: {byte_us: PACE}
steps:
STEPS
console: {online: "^talker: (?P<n>[0-9]+) CPUs up$", repeat_bytes: 2000}
result:
  format: patterns
  work: {WINDOW}
  expect: {hi: HI, workers: CPUS, count: COUNT, sum: SUM}
end: {by: kill}
deadlines: {boot_s: 2, run_s: 0.3}
"""
FIGURE = 'begins: "^primes: start$", pattern: "^primes: took (?P<value>[0-9]+) ns$", unit: ns'
LINES = 'from: "^primes: start$", to: "^primes: took [0-9]+ ns$"'
CAPTURE = r"^primes: hi=(?P<hi>\d+) workers=(?P<workers>\d+) count=(?P<count>\d+) sum=(?P<sum>\d+)$"
PRIMES = f"  - {{send: 'primes {{workers}} HI', capture: '{CAPTURE}'}}\n"
HASTY = Deadlines(10, 10)
"""The deadlines of a kernel from which nothing more comes, on wall time."""


@dataclass(frozen=True)
class Booter:
    folder: Path
    kernel: Path
    insn: bool
    guest: Architecture = X86_64

    def boot(
        self,
        words: str,
        steps: str = PRIMES,
        *,
        hi: int = SHORT,
        cpus: int = 2,
        hasty: bool = False,
        window: str = FIGURE,
        pace_us: int = 100,
    ) -> JudgedRun:
        """`pace_us`: from one typed byte to the next."""
        count, total = primes_to(hi)
        filled = YAML.replace("STEPS\n", steps).replace("WINDOW", window)
        places = {"KERNEL": self.kernel, "WORDS": words, "ARCH": self.guest, "PACE": pace_us}
        for name, value in {**places, "HI": hi, "CPUS": cpus, "COUNT": count, "SUM": total}.items():
            filled = re.sub(rf"\b{name}\b", str(value), filled)
        path = self.folder / "talker.yaml"
        path.write_text(filled)
        kit = Bootkit(self.folder, inputs.qemu(guest=self.guest), self.insn, rule=DELAYED)
        kit.patience = HASTY if hasty else kit.patience
        return kit.run(systemfile.load(path), "selftest", cpus)


def speedup(
    folder: Path,
    kernel: Path,
    words: str,
    window: str = FIGURE,
    *,
    cpus: int = 2,
    guest: Architecture = X86_64,
    pace_us: int = 100,
) -> Verdict:
    """The verdict on 1.5x from one CPU to several, on the instruction clock."""
    runs = []
    for count in (1, cpus):
        where = folder / f"smp{count}"
        where.mkdir()
        judged = Booter(where, kernel, INSN, guest).boot(words, cpus=count, window=window, pace_us=pace_us)
        assert judged.verified is not None, judged.reason
        runs.append(judged.verified)
    return judged_five_times(runs[0], runs[1])


def primes_to(most: int) -> tuple[int, int]:
    """How many there are, and their sum: the sieve of Eratosthenes."""
    is_prime = bytearray([0, 0]) + bytearray([1]) * (most - 1)
    for n in range(2, int(most**0.5) + 1):
        if is_prime[n]:
            is_prime[n * n :: n] = bytes(len(range(n * n, most + 1, n)))
    result = [n for n in range(most + 1) if is_prime[n]]
    return len(result), sum(result)


def check_idle_cpu(judged: JudgedRun) -> None:
    """The idle CPU is named, or the run is void and no sample either: on a busy host a vCPU that only booted
    waits for so long that it does not look idle, and a QEMU that ends by itself may be gone before its
    threads are read."""
    if judged.outcome is Outcome.VOID:
        assert re.search("run delay|nothing shows that each of its 2 CPUs worked", judged.reason)
    else:
        said = r"the thread of vCPU 1 ran or waited for the host for only \d+ ns"
        assert re.search(said, judged.reason), judged.reason
