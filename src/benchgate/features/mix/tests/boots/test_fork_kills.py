"""Mixes that fork, killed at any moment: nothing lives on, and what was measured is kept."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.guests.test_fork_kills import NUMBERS, killed

pytestmark = pytest.mark.long
MIXES = """
import sys
from itertools import count
from pathlib import Path
from benchgate.base.snapshots import FORK
from benchgate.plan.options import Options
from benchgate.features.mix.session.booter import MixBooter
from benchgate.features.mix.tests.boots.test_forks import mix_of

with MixBooter(Options(clock="insn", start=FORK), print) as lab:
    for seed in count(1):
        folder = Path("reports", "runs", "mixes", "runs", str(seed))
        folder.mkdir(parents=True)
        assert lab.run(mix_of(disk=True), folder, seed=seed).reason == ""
"""


@pytest.mark.parametrize("number", NUMBERS)
def test_mixes_that_are_killed_leave_nothing_but_their_runs(number: signal.Signals, tmp_path: Path) -> None:
    killed(tmp_path, ("-c", MIXES), number)
