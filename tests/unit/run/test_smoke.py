"""A smoke's deadlines."""

from __future__ import annotations

import pytest

from benchgate.base.runs import Deadlines
from benchgate.run import smoke


@pytest.mark.parametrize(("boot_s", "run_s", "gets"), [(20, 120, 20), (60, 360, 60), (20, 5, 5)])
def test_a_smoke_gets_no_longer_than_a_boot(boot_s: float, run_s: float, gets: float) -> None:
    """This holds on every lane, since both deadlines have the lane's factor."""
    assert smoke.deadlines(Deadlines(boot_s, run_s)) == Deadlines(boot_s, gets)
