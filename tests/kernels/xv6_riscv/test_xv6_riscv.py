"""xv6 on RISC-V: two processes of its shell, on two harts, and no process waits while a hart idles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

SYSTEM = str(Path(__file__).with_name("system.yaml"))
pytestmark = [pytest.mark.system(SYSTEM), pytest.mark.workload("selftest")]


@pytest.mark.speedup(cpus=2, at_least=1.8)
def test_scales(verdict: Any) -> None:
    verdict.require_pass()


@pytest.mark.work_conserving(cpus=2, at_most="0.5%", longest="1ms")
def test_no_hart_idles_while_a_process_waits(verdict: Any) -> None:
    verdict.require_pass()
