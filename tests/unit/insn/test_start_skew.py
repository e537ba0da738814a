"""The start of each vCPU, compared with lockstep.c and with the logs of real runs."""

from __future__ import annotations

import random
from pathlib import Path

from benchgate.insn.start_skew import start_of
from tests.unit.insn.c.native import Lockstep, Rules, load


def test_it_is_where_the_clock_lets_a_vcpu_begin(tmp_path: Path) -> None:
    library = load(tmp_path)
    dice = random.Random(15)
    for seed in (0, 1, *(dice.randrange(2**64) for _ in range(50))):
        quantum = dice.randrange(100, 10_000)
        clock = Lockstep(library, Rules(count=8, serial=True, quantum=quantum, fine=100, rush=25, seed=seed))
        for vcpu in range(8):
            clock.appear(vcpu)
        begins = [clock.machine.vcpu[vcpu].time for vcpu in range(8)]
        assert [start_of(seed, quantum, vcpu) for vcpu in range(8)] == begins


def test_it_is_what_real_runs_have_beyond_their_books() -> None:
    """Time less executed, paused, skipped and halted, in logs of the Linux guest on 2026-11-23."""
    assert [start_of(2, 5000, vcpu) for vcpu in (0, 1)] == [
        2372845506 - 1025210455 - 8214066 - 190558021 - 1148862777,
        2372845506 - 828015162 - 8371650 - 5152058 - 1531302467,
    ]
    assert start_of(3, 5000, 0) == 3568753899 - 2378685960 - 103096 - 184801747 - 1005161011
