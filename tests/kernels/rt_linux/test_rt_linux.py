"""A distribution's real-time Linux, with our PID 1 and a workload of ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

SYSTEM = str(Path(__file__).with_name("system.yaml"))
pytestmark = [pytest.mark.system(SYSTEM), pytest.mark.workload("primes", hi=300_000)]


@pytest.mark.speedup(cpus=2, at_least=1.9)
def test_scales(verdict: Any) -> None:
    verdict.require_pass()
