"""Shows why a check failed at once: the machine may not reach pytest's own summary."""

from __future__ import annotations

import pytest


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed:
        print(f"\n{report.longreprtext}", flush=True)
