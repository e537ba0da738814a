"""Ways to get a guest booted before its window, measured: the table of docs/insn.md.

`python -m tests.insnboots` boots each way $INSNLAB_TIMES times (3) at each of $INSNLAB_CPUS (1,2,4,8).
"""

from __future__ import annotations

import json
import os
import socket
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchgate.insn import ClockMode
from tests.insnlab import PRIMES, Boot, Lab, chosen, lab

WORDS = PRIMES.format(hi=300_000)
PATIENCE_S = 600
TIMES = int(os.environ.get("INSNLAB_TIMES", "3"))
QMP = ("-qmp", "unix:FOLDER/qmp,server=on,wait=off")
Way = Callable[[int], Boot]


class Monitor:
    """QEMU's own, before the guest's first instruction or to take a snapshot; never in a measured run."""

    def __init__(self, path: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        _until(lambda: self.socket.connect_ex(str(path)) == 0)
        self.stream = self.socket.makefile("rw")
        self.stream.readline()
        self.ask("qmp_capabilities")

    def ask(self, command: str, **arguments: str) -> Any:
        self.stream.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
        self.stream.flush()
        while "return" not in (answer := json.loads(self.stream.readline())):
            assert "error" not in answer, answer
        return answer["return"]


def _until(there: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not there():
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.01)


def take_snapshot(bench: Lab, cpus: int, into: Path) -> None:
    """Of a guest that PID 1 has just begun in, wherever the host happened to see that."""

    def freeze(folder: Path) -> None:
        console = folder / "console"
        _until(lambda: console.exists() and b"benchready" in console.read_bytes())
        monitor = Monitor(folder / "qmp")
        monitor.ask("stop")
        monitor.ask("migrate", uri=f"file:{into}")
        _until(lambda: monitor.ask("query-migrate").get("status") == "completed")
        monitor.ask("quit")

    bench.boot("primes", cpus, WORDS, extra=QMP, during=freeze)


def from_snapshot(bench: Lab, snapshot: Path) -> Way:
    def go(folder: Path) -> None:
        monitor = Monitor(folder / "qmp")
        _until(lambda: monitor.ask("query-status")["status"] == "paused")
        monitor.ask("cont")

    extra = (*QMP, "-incoming", f"file:{snapshot}")
    return lambda cpus: bench.boot("primes", cpus, WORDS, seed=5, extra=extra, during=go)


def row(name: str, cpus: int, way: Way) -> None:
    boots = [way(cpus) for _ in range(TIMES)]
    windows = [boot.window(cpus) for boot in boots]
    different = len({(boot.console, repr(boot.log.repeatable) if boot.log else "") for boot in boots}) - 1
    spent = min(boot.cpu_seconds for boot in boots)
    works, totals = ([getattr(window, which) for window in windows] for which in ("work", "total"))
    print(
        f"| {cpus} | {name} | {spent:.2f} | {different} of {TIMES - 1} | "
        f"{works[0]:,} (+{max(works) - min(works):,}) | {totals[0]:,} (+{max(totals) - min(totals):,}) |",
        flush=True,
    )


def plain(bench: Lab) -> Way:
    return lambda cpus: bench.boot("primes", cpus, WORDS, seed=5)


def main() -> None:
    print(
        "| CPUs | boot | CPU s, least | runs that differ | work, ns | total, ns |\n|---|---|---|---|---|---|"
    )
    for cpus in chosen((1, 2, 4, 8)):
        row("exact from the first instruction", cpus, plain(lab(rush=1)))
        row("looser step, serial", cpus, plain(lab()))
        row("hardly any step, serial", cpus, plain(lab(rush=1000)))
        row("hardly any step, side by side", cpus, plain(lab(mode=ClockMode.PARALLEL, rush=1000)))
        with tempfile.TemporaryDirectory(prefix="insnboots-") as folder:
            snapshot = Path(folder) / "snapshot"
            take_snapshot(lab(), cpus, snapshot)
            row("from a snapshot", cpus, from_snapshot(lab(), snapshot))


if __name__ == "__main__":
    main()
