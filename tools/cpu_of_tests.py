"""CPU time of each test with all of its processes, by which a busy host can be told from a slow test.

`python -m pytest -p tools.cpu_of_tests PATH ...` prints at the end the sum for each file, and the tests that
used most; xdist may run them. A fixture's time counts for the test that first asks for it, and that of a
process for which nobody waits counts nowhere.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Generator

import pytest

KEY, MOST = "cpu_s", 40
_used = 0.0
_tests: dict[str, float] = defaultdict(float)


def _now() -> float:
    seen = os.times()
    return seen.user + seen.system + seen.children_user + seen.children_system


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Called after setup, call and teardown of each test, in the process that runs it."""
    global _used
    report = yield
    before, _used = _used, _now()
    report.user_properties = [(KEY, _used - before)]
    return report


def pytest_collection_finish() -> None:
    global _used  # noqa: PLW0603 - what came before is of no test
    _used = _now()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _tests[report.nodeid] += sum(float(str(value)) for key, value in report.user_properties if key == KEY)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    files: dict[str, float] = defaultdict(float)
    for name, spent in _tests.items():
        files[name.partition("::")[0]] += spent
    terminalreporter.section(f"CPU time: {sum(files.values()):.0f} s")
    for table, most in ((files, len(files)), (_tests, MOST)):
        for name, spent in sorted(table.items(), key=lambda one: -one[1])[:most]:
            terminalreporter.write_line(f"{spent:8.1f} s  {name}")
