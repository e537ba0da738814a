"""Debian's riscv64 kernel, which wakes workers on a busy CPU beside idle ones, and the wake-up that did it.

docs/explanation/architectures.md says why. The limit:
of 8 workers two share a CPU, so one CPU idles beside a thread that waits until a tick moves it: 4 ms of 8
CPUs in a window of 40 ms, 1.25%. Another CPU's tick may come earlier.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from benchgate import VerdictResult
from tests.line.sessions import run_benchgate

pytestmark = pytest.mark.schedulers

ROW = pytest.mark.workload("checksum", rounds=8)
RISCV = pytest.mark.system("linux:arch=riscv64")
WASTED = pytest.mark.limit(cpus=8, metric="wasted", at_least=0.01)
LATE_NS = 1_000_000
WAY = ["try_to_wake_up", "wake_up_q", "futex_wake"]


def trails_of_long_waits(run: Path) -> list[list[str]]:
    """What `benchgate threads` tells of wake-ups onto the waker's CPU, of waits beside idle CPUs."""
    status, told = run_benchgate(run, "threads", run, "--json", "--late=1ms")
    assert status == 0, told
    books: dict[str, Any] = json.loads(told)
    waits = [wait for wait in books["waits"] if sum(length for _, length in wait["idle_cpus"]) > LATE_NS]
    wakes = [wait["wake"] for wait in waits if wait["wake"]]
    return [
        [books["symbols"].get(place, place) for place in wake["trail"]]
        for wake in wakes
        if wake["cpu"] == wake["waker_cpu"]
    ]


@RISCV
@ROW
@WASTED
def test_a_worker_waits_beside_an_idle_cpu_small(verdict: VerdictResult, pytestconfig: pytest.Config) -> None:
    """A futex's wake-up that chose the waker's own CPU is named with its symbols."""
    verdict.require_pass()
    runs = Path(pytestconfig.getoption("--reports") or "reports", "latest", "runs").resolve()
    trails = [trail for run in sorted(runs.glob("*checksum*riscv64*")) for trail in trails_of_long_waits(run)]
    named = [trail for trail in trails if [name for name in trail if name in WAY] == WAY]
    assert named, trails
