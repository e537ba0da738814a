"""The fixture `rig`: pytest runs in pytest, on a system whose QEMU is the stand-in tests/data/fake-qemu.

The consoles that the stand-in plays are written here. Their answers come from trial division; each test
chooses the times.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, pairwise
from pathlib import Path

import numpy as np
import pytest
import scipy.special

from benchgate.host import accel, capacity, lock
from benchgate.run import thread_use
from benchgate.session import measuring
from benchgate.session.measuring import MeasuringSession
from benchgate.session.pytest_hooks import pytest_fixtures, pytest_session
from benchgate.session.rejudging import rejudge
from benchgate.session.workbench import Workbench
from tests.answerkit import kept_oracle
from tests.machines import PATIENCE_S

HI = 10_000
KEPT_LOADED = (np, scipy.special, pytest_fixtures)
"""pytester unloads the modules that a run in this process imports; these cannot be loaded twice."""
FAKE_QEMU = Path(__file__).parents[1] / "data" / "fake-qemu"

# The stand-in only plays consoles, so the accelerator probe and the capacity guests cannot run in it.
CONFTEST = """
from benchgate.host import accel, capacity
from benchgate.host.accel import AccelProbe, ProbeState
from benchgate.host.capacity import CapacityPair
from benchgate.base.cells import Accel

def probe(qemu, which, **_):
    usable = which is Accel.TCG
    return AccelProbe(which, ProbeState.USABLE if usable else ProbeState.ABSENT, 1000.0, 0.1, "max", "said")

accel.probe = probe
capacity.sample = lambda qemu, probe, pins, **_: (CapacityPair(1.0, (1.0,) * len(pins)),)
"""

# Nothing is measured, so no session needs to wait for another one on this host.
CONFTEST += """
import os
from functools import partial
from benchgate.host import lock

lock.measuring = partial(lock.measuring, name=f"benchgate-stand-in-{os.getpid()}")
"""

# A busy host may need long to end a stand-in. An attempt that failed because of that would end the session.
CONFTEST += f"""
from dataclasses import replace
from benchgate.run.console import ConsoleLimits
from benchgate.session.workbench import Workbench

# The threads of the stand-in are idle, so any wait for a busy host would be a large share of what they ran.
from benchgate.host.noise import HostSnapshot
from benchgate.run import thread_use

counters = thread_use.thread_counters
thread_use.thread_counters = lambda *words: replace(counters(*words), delay_ns=None)
thread_use.host_snapshot = lambda **_: HostSnapshot(0, None, None, None, None, None)

request = Workbench.request

def patient(*words, **named):
    return replace(request(*words, **named), limits=ConsoleLimits(leave_s={PATIENCE_S}))

Workbench.request = patient
"""

SYSTEM = """\
version: 1
name: fake
kind: qemu
boot:
  kernel: kernel
  append: fake.play={play} fake.console={consoles}/smp{{n}}.log
console: {{ready: "^benchready"}}
deadlines: {{boot_s: {patience}, run_s: {ten_times}}}
"""

TEST_FILE = """\
import pytest

pytestmark = pytest.mark.smp

@pytest.mark.workload("primes", hi=10_000)
def test_every_run_is_right(cell):
    cell.require_verified()

@pytest.mark.workload("primes", hi=10_000)
@pytest.mark.speedup(cpus=2, at_least=1.6)
def test_scales(verdict):
    verdict.require_pass()
"""

GATE = "test_scaling.py::test_scales[primes.hi-10000-fake-smp2]"


@cache
def trial_division(lo: int, hi: int) -> tuple[int, int, int]:
    """The primes in lo..hi-1: their count, their sum, and the divisions that trial division makes."""
    count = total = divisions = 0
    for n in range(lo, hi):
        is_prime = True
        for d in chain((2,), range(3, n, 2)):
            if d * d > n:
                break
            divisions += 1
            if n % d == 0:
                is_prime = False
                break
        count, total = count + is_prime, total + n * is_prime
    return count, total, divisions


@cache
def equal_cost_cuts(workers: int, hi: int) -> list[int]:
    """The borders of ranges that need about the same number of divisions."""
    costs = [trial_division(n, n + 1)[2] for n in range(2, hi + 1)]
    whole, seen, cuts = sum(costs), 0, [2]
    for n, cost in enumerate(costs, 2):
        seen += cost
        if len(cuts) < workers and seen * workers >= whole * len(cuts):
            cuts.append(n + 1)
    return [*cuts, hi + 1]


def console(cpus: int, work: int, *, wrong_worker: int | None = None, hi: int = HI) -> str:
    """What a correct guest prints. The stand-in fills in the nonce and the CRCs."""
    cuts = equal_cost_cuts(cpus, hi)
    result = [trial_division(lo, hi) for lo, hi in pairwise(cuts)]
    lines = [
        f"begin v=1 nonce=x system=fake workload=primes mode=process workers={cpus} online={cpus} unit=ns "
        f"hi={hi} split=cost wait=join"
    ]
    for worker, (count, total, divisions) in enumerate(result):
        reported = count - (worker == wrong_worker)
        span = f"lo={cuts[worker]} hi={cuts[worker + 1]}"
        lines.append(
            f"worker id={worker} cpu={worker} cpu_end={worker} start=1000 end={1000 + work} {span} "
            f"count={reported} sum={total} divs={divisions}"
        )
    lines.append(f"window work_start=1000 work_end={1000 + work} total_start=500 total_end={2000 + work}")
    whole = [sum(column) for column in zip(*result, strict=True)]
    lines.append(f"result count={whole[0]} sum={whole[1]} divs={whole[2]}")
    lines.append("foreign time=0")
    lines.append(f"end lines={len(lines)}")
    framed = [f"@bench {line} seq={number} crc=00000000" for number, line in enumerate(lines)]
    return "\n".join(["[    0.0] booting", "benchready pid=1", *framed, ""])


@dataclass
class Rig:
    pytester: pytest.Pytester
    folder: Path
    more: str = ""
    """Additional lines of the system's YAML."""
    partner: bool = False
    """With pytest-benchmark, which starts git six times for each session."""

    def system(self, play: str = "good") -> str:
        path = self.folder / "fake.yaml"
        path.write_text(
            SYSTEM.format(play=play, consoles=self.folder, patience=PATIENCE_S, ten_times=10 * PATIENCE_S)
            + self.more
        )
        return str(path)

    def consoles(self, work: Sequence[int], *, wrong_worker: int | None = None) -> None:
        """Writes a console for each CPU count; `work` has the work windows for 1, 2 ... CPUs."""
        for cpus, number in enumerate(work, 1):
            wrong = wrong_worker if cpus == len(work) else None
            (self.folder / f"smp{cpus}.log").write_text(console(cpus, number, wrong_worker=wrong))

    def arguments(self, *words: str, play: str = "good") -> list[str]:
        # With `=`, because pytest takes a separate word that is a path for a test to run.
        own = [
            "--clock=wall",
            f"--system={self.system(play)}",
            f"--qemu={FAKE_QEMU}",
            f"--reports={self.folder}/reports",
        ]
        # Hypothesis would be imported again at the end of each session.
        without = ["-p", "no:cacheprovider", "-p", "no:hypothesispytest"]
        without += [] if self.partner else ["-p", "no:benchmark"]
        return [*own, "-W", "error", "--strict-markers", *without, *words]

    def run(self, *words: str, play: str = "good") -> pytest.RunResult:
        return self.pytester.runpytest_inprocess(*self.arguments(*words, play=play))

    @property
    def latest(self) -> Path:
        return self.folder / "reports" / "latest"


@pytest.fixture(scope="module", autouse=True)
def one_oracle() -> Iterator[None]:
    """tests/plugin/test_hostile_oracles.py starts oracles as sessions do."""
    with kept_oracle(pytest_session, measuring, rejudge):
        yield


@pytest.fixture
def rig(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Rig:
    """One and two CPUs; unless the test writes other consoles, the gate passes with 1.9x."""
    # A run in this process shares our modules, so what its conftest replaces must be restored.
    for owner, name in (
        (accel, "probe"),
        (capacity, "sample"),
        (lock, "measuring"),
        (MeasuringSession, "attempts"),
        (Workbench, "request"),
        (thread_use, "thread_counters"),
        (thread_use, "host_snapshot"),
    ):
        monkeypatch.setattr(owner, name, getattr(owner, name))
    for name in ("PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT"):  # pytest-benchmark looks for the first
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "kernel").write_bytes(b"kernel")
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(test_scaling=TEST_FILE)
    made = Rig(pytester, tmp_path)
    made.consoles((19_000_000, 10_000_000))
    return made
