"""CPU time of each test with all of its processes, by which a busy host can be told from a slow test.

`python -m pytest -p tools.cpu_of_tests PATH ...` prints at the end the sum for each file, and the tests that
used most, and how much of it was QEMU's; xdist may run them. A fixture's time counts for the test that first
asks for it, and that of a process whose parent ended before it counts nowhere. QEMU's is what a look at all
processes saw every 30 ms: what a guest used after the last look is missing.
"""

from __future__ import annotations

import os
import threading
import time
from collections import defaultdict
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

KEYS, MOST = ("cpu_s", "of QEMU"), 40
PROC, TICKS = Path("/proc"), os.sysconf("SC_CLK_TCK")
_used = [0.0, 0.0]
_tests: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
_guests: dict[tuple[int, str], float] = {}
"""By process and start."""


def _descendants(process: int) -> Iterator[tuple[int, str, list[str]]]:
    """Number, name and the rest of /proc/PID/stat. A process that ends meanwhile is left out."""
    for path in (PROC / str(process) / "task").glob("*/children"):
        try:
            children = path.read_text().split()
            for child in map(int, children):
                name, _, rest = (PROC / str(child) / "stat").read_text().partition("(")[2].rpartition(")")
                yield child, name, rest.split()
                yield from _descendants(child)
        except (FileNotFoundError, ProcessLookupError):
            continue


def _seconds(ticks: list[str]) -> float:
    return sum(map(int, ticks)) / TICKS


def _look_at_guests() -> None:
    while True:
        for number, name, rest in _descendants(os.getpid()):
            if name.startswith("qemu-system"):
                _guests[number, rest[19]] = _seconds(rest[11:13])
        time.sleep(0.03)


def _now() -> list[float]:
    """A process that still runs has its own time and that of its children which have ended."""
    seen = os.times()
    running = sum(_seconds(rest[11:15]) for _, _, rest in _descendants(os.getpid()))
    ended = seen.user + seen.system + seen.children_user + seen.children_system
    return [ended + running, sum(_guests.copy().values())]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Called after setup, call and teardown of each test, in the process that runs it."""
    global _used
    report = yield
    before, _used = _used, _now()
    spent = (now - then for now, then in zip(_used, before, strict=True))
    report.user_properties = list(zip(KEYS, spent, strict=True))
    return report


def pytest_collection_finish() -> None:
    global _used  # noqa: PLW0603 - what came before is of no test
    threading.Thread(target=_look_at_guests, daemon=True).start()
    _used = _now()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    for i, key in enumerate(KEYS):
        _tests[report.nodeid][i] += sum(
            float(str(value)) for name, value in report.user_properties if name == key
        )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    files: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for name, spent in _tests.items():
        for i, seconds in enumerate(spent):
            files[name.partition("::")[0]][i] += seconds
    whole, guests = (sum(file[i] for file in files.values()) for i in range(2))
    terminalreporter.section(f"CPU time: {whole:.0f} s, of which QEMU used {guests:.0f} s")
    for table, most in ((files, len(files)), (_tests, MOST)):
        for name, used in sorted(table.items(), key=lambda one: -one[1][0])[:most]:
            terminalreporter.write_line(f"{used[0]:8.1f} s  {used[1]:8.1f} s  {name}")
