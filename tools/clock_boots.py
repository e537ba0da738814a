"""Compares ways to boot a guest before its window; prints a table of docs/measured/insn-measured.md.

`python -m tools.clock_boots` boots a guest in each way $CLOCK_LAB_TIMES times (default 3) at each CPU count
of $CLOCK_LAB_CPUS (default 1,2,4,8).
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

from tools.clock_lab import PRIMES, Boot, Lab, chosen, lab

WORDS = PRIMES.format(hi=300_000)
PATIENCE_S = 600
TIMES = int(os.environ.get("CLOCK_LAB_TIMES", "3"))
QMP = ("-qmp", "unix:FOLDER/qmp,server=on,wait=off")
Way = Callable[[int], Boot]


class Monitor:
    """A QMP connection, used only before the guest's first instruction or to take a snapshot."""

    def __init__(self, path: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        _wait_until(lambda: self.socket.connect_ex(str(path)) == 0)
        self.stream = self.socket.makefile("rw")
        self.stream.readline()
        self.ask("qmp_capabilities")

    def ask(self, command: str, **arguments: str) -> Any:
        self.stream.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
        self.stream.flush()
        while "return" not in (answer := json.loads(self.stream.readline())):
            assert "error" not in answer, answer
        return answer["return"]


def _wait_until(is_true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not is_true():
        assert time.monotonic() < deadline, f"timeout after {PATIENCE_S} s"
        time.sleep(0.01)


def take_snapshot(setup: Lab, cpus: int, into: Path) -> None:
    """Takes a snapshot of a guest just after PID 1 started; the exact moment depends on the host."""

    def freeze(folder: Path) -> None:
        console = folder / "console"
        _wait_until(lambda: console.exists() and b"benchready" in console.read_bytes())
        monitor = Monitor(folder / "qmp")
        monitor.ask("stop")
        monitor.ask("migrate", uri=f"file:{into}")
        _wait_until(lambda: monitor.ask("query-migrate").get("status") == "completed")
        monitor.ask("quit")

    setup.boot("primes", cpus, WORDS, extra=QMP, during=freeze)


def from_snapshot(setup: Lab, snapshot: Path) -> Way:
    def go(folder: Path) -> None:
        monitor = Monitor(folder / "qmp")
        _wait_until(lambda: monitor.ask("query-status")["status"] == "paused")
        monitor.ask("cont")

    extra = (*QMP, "-incoming", f"file:{snapshot}")
    return lambda cpus: setup.boot("primes", cpus, WORDS, seed=5, extra=extra, during=go)


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


def plain(setup: Lab) -> Way:
    return lambda cpus: setup.boot("primes", cpus, WORDS, seed=5)


def main() -> None:
    print(
        "| CPUs | boot | minimum CPU s | runs that differ | work, ns | total, ns |\n|---|---|---|---|---|---|"
    )
    for cpus in chosen((1, 2, 4, 8)):
        row("exact from the first instruction", cpus, plain(lab(rush=1)))
        row("looser lockstep", cpus, plain(lab()))
        row("almost no lockstep", cpus, plain(lab(rush=1000)))
        with tempfile.TemporaryDirectory(prefix="clock-boots-") as folder:
            snapshot = Path(folder) / "snapshot"
            take_snapshot(lab(), cpus, snapshot)
            row("from a snapshot", cpus, from_snapshot(lab(), snapshot))


if __name__ == "__main__":
    main()
