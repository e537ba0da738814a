"""Solo5: a unikernel is up soon. A tenth of a second it only waits, to learn how fast the TSC is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

SYSTEM = str(Path(__file__).with_name("system.yaml"))
pytestmark = [pytest.mark.system(SYSTEM), pytest.mark.workload("selftest")]


@pytest.mark.limit(cpus=1, metric="work", at_most=110_000_000)
def test_it_is_up_soon(verdict: Any) -> None:
    verdict.require_pass()
