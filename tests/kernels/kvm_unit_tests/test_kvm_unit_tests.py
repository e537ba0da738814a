"""kvm-unit-tests: the time in which one CPU has called each of two by an interrupt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

SYSTEM = str(Path(__file__).with_name("system.yaml"))
pytestmark = [pytest.mark.system(SYSTEM), pytest.mark.workload("selftest")]


@pytest.mark.limit(cpus=2, metric="work", at_most=100_000)
def test_the_calls_are_short(verdict: Any) -> None:
    verdict.require_pass()
