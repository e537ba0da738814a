"""The clocks of a session with --clock both: one decides, the other informs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchgate.base.clocks import Clock, Clocks, policy_for
from tests.unit.factories import POLICY, cell

LOOKS = {Clock.WALL: (5, 25), Clock.INSN: (7, 7)}
INSN = Clocks(Clock.INSN, "wall time does not qualify: too few CPUs", LOOKS)
WHY = "the instruction clock decides, because wall time does not qualify: too few CPUs"


def test_only_the_clock_that_does_not_decide_informs() -> None:
    assert INSN.policy(POLICY, "insn").informs == ""
    assert INSN.policy(POLICY, "wall").informs == WHY
    wall = replace(INSN, decides=Clock.WALL, because="this host qualifies for it")
    assert wall.policy(POLICY, "wall").informs == ""
    assert wall.policy(POLICY, "insn").informs == "wall time decides, because this host qualifies for it"


def test_each_clock_has_its_own_looks() -> None:
    wall, insn = (INSN.policy(POLICY, clock) for clock in ("wall", "insn"))
    assert (wall.session_looks, insn.session_looks) == ((5, 9, 15, 25), (7,))


def test_a_session_that_decides_nothing_decides_nothing_on_either_clock() -> None:
    quick = replace(POLICY, informs="--quick decides nothing")
    assert {INSN.policy(quick, clock).informs for clock in Clock} == {"--quick decides nothing"}


def test_a_cell_and_its_session_agree_on_whether_there_are_clocks() -> None:
    assert policy_for(POLICY, None, cell(2)) is POLICY
    assert policy_for(POLICY, INSN, replace(cell(2), clock="wall")).informs == WHY
    with pytest.raises(ValueError, match="names a clock, but the session has only one"):
        policy_for(POLICY, None, replace(cell(2), clock="wall"))
    with pytest.raises(ValueError, match="is not a valid Clock"):
        policy_for(POLICY, INSN, cell(2))


def test_looks_that_no_session_has_are_refused() -> None:
    with pytest.raises(ValueError, match="looks must be those of wall, insn"):
        Clocks(Clock.INSN, "", {Clock.WALL: (5, 5)})
    with pytest.raises(ValueError, match="looks of wall: --runs 4: it must be odd"):
        replace(INSN, looks={**LOOKS, Clock.WALL: (4, 25)}).policy(POLICY, "wall")


def test_the_clock_is_part_of_the_cells_name() -> None:
    named = replace(cell(2), clock="insn", variant="smt")
    assert (named.row, named.id) == ("primes-linux-insn", "primes-linux-insn-smp2-smt")
