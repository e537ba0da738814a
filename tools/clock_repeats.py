"""Boots a row of one seed again and again on a machine with memory.

`python -m tools.clock_repeats [SYSTEM ...]`, by default `kernel`. $CLOCK_LAB_RUNS (20) runs at each CPU count
of $CLOCK_LAB_CPUS (1,2,4,8,16,32) on $CLOCK_LAB_MEMORY (server2x16); every other run beside busy processes.
A run differs if its console or anything that must repeat in the clock's log differs from the first run's.
Fails with an AssertionError if a run has no result.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

from benchgate.base.system.systems import System
from benchgate.build.fetch import inputs
from benchgate.insn.log_reader import read_log
from benchgate.judge.run_files import read_console
from benchgate.plan import catalog
from tests.ternkit import Bootkit
from tools.clock_lab import MACHINE, burning, chosen

NONCE = "00c10c4e9ea75aaa"
RUNS = int(os.environ.get("CLOCK_LAB_RUNS", "20"))
ROW = {"hi": 30_000}
"""A short row: most of a run is the boot, whose books count too."""


def machine_system(name: str) -> System:
    machine = catalog.load_machine(MACHINE)
    assert machine is not None, f"machine {MACHINE} has no memory system"
    return catalog.load_system(name).on(machine)


def seen(kit: Bootkit, system: System, cpus: int) -> tuple[object, ...]:
    """Everything of a run that must repeat."""
    done = kit.run(system, "primes", cpus, ROW)
    assert done.verified, done.reason
    assert done.run.clock_log
    return read_console(done.run), read_log(done.run.clock_log).repeatable


def main(names: list[str]) -> None:
    print(f"| on {MACHINE} | CPUs | runs | under load | different | s |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="clock-repeats-") as folder:
        for name in names:
            system = machine_system(name)
            kit = Bootkit(Path(folder) / name, inputs.qemu(guest=system.arch), insn=True, nonce=NONCE)
            for cpus in chosen((1, 2, 4, 8, 16, 32)):
                begin, runs = time.monotonic(), []
                for run in range(RUNS):
                    with burning(run % 2 * (os.cpu_count() or 1)):
                        runs.append(seen(kit, system, cpus))
                different = sum(one != runs[0] for one in runs)
                took = time.monotonic() - begin
                print(f"| {name} | {cpus} | {RUNS} | {RUNS // 2} | {different} | {took:.0f} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or ["kernel"])
