"""LK on Arm: 3193 threads, which compute a Fibonacci number on two CPUs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

SYSTEM = str(Path(__file__).with_name("system.yaml"))
pytestmark = [pytest.mark.system(SYSTEM), pytest.mark.workload("selftest")]


@pytest.mark.limit(cpus=2, metric="work", at_most=60_000_000)
def test_a_thread_costs_less_than_20_us(verdict: Any) -> None:
    verdict.require_pass()
