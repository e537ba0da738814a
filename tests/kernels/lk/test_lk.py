"""LK on Arm: the guest time in which its memset fills 1 GiB."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

SYSTEM = str(Path(__file__).with_name("system.yaml"))
pytestmark = [pytest.mark.system(SYSTEM), pytest.mark.workload("selftest")]


@pytest.mark.limit(cpus=1, metric="work", at_most=1_000_000_000)
def test_memset_fills_a_byte_in_a_nanosecond(verdict: Any) -> None:
    verdict.require_pass()
