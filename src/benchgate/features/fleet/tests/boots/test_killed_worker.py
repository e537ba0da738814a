"""A worker of a fleet that is killed in a boot costs a session time, and nothing else.

The other faults of a fleet are in rows/; `nox -s fleet-faults` runs them.
"""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from benchgate.features.fleet.tests import fleetkit
from benchgate.features.fleet.tests.fleetkit import LONG_HI, assert_whole
from tests.machines import wait_until

pytestmark = pytest.mark.alone


def test_a_worker_that_is_killed_in_a_boot(tmp_path: Path) -> None:
    fleetkit.require()
    with fleetkit.fleet(tmp_path) as fleet:
        fleet.scheduler()
        victim = fleet.workers(victim="good", other="good")["victim"]
        made = fleet.session("--fleet", fleet.address, hi=LONG_HI)
        assert wait_until(lambda: fleet.guests("victim") != [])
        assert victim.signal(signal.SIGKILL) == -signal.SIGKILL
        assert wait_until(lambda: fleet.guests("victim") == [])
        assert_whole(made)
