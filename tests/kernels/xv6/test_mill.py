"""xv6 on x86: many forks, pipes and waits at once, for `benchgate explore` (docs/how-to/explore.md)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytestmark = [
    pytest.mark.system(str(Path(__file__).with_name("mill.yaml"))),
    pytest.mark.workload("selftest"),
]


def test_mill(cell: Any) -> None:
    cell.require_verified()
