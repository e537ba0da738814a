"""Finds whose kernels reported one thing are one group."""

from __future__ import annotations

from dataclasses import replace

from benchgate.base.paths import data_root
from benchgate.base.runs import Ending
from benchgate.features.explore.trouble import RunObservation, Trouble, TroubleKind, group_of
from benchgate.judge.console.kernel_report import kernel_report
from tests.unit.judge.console.test_kernel_report import LOCKDEP

CONSOLES = data_root() / "tests" / "data" / "consoles"


def observed(text: str) -> RunObservation:
    lines = tuple(text.splitlines())
    return RunObservation(Ending.FAILED, "", last_lines=lines[-6:], report=kernel_report(lines))


def test_finds_with_one_report_are_one_group_wherever_the_console_ends() -> None:
    trouble = Trouble(TroubleKind.FAILURE, "the guest reported a failure")
    observation = observed(LOCKDEP)
    later = observed(LOCKDEP.replace("T100", "T7").replace("bench/100", "bench/7") + "the rest of it\n")
    assert group_of(trouble, observation) == group_of(trouble, later)
    assert group_of(trouble, observation) == (
        "failure | WARNING: possible circular locking dependency detected | &one->lock at take_one | "
        "&other->lock at take_other"
    )
    assert group_of(trouble, replace(observation, report=())) != group_of(trouble, replace(later, report=()))


def test_finds_with_other_locks_are_another_group() -> None:
    trouble = Trouble(TroubleKind.FAILURE, "")
    other = observed(LOCKDEP.replace("take_other", "take_third"))
    assert group_of(trouble, observed(LOCKDEP)) != group_of(trouble, other)


def test_two_reports_of_one_data_race_are_one_group_whichever_cpu_was_first() -> None:
    """As two runs of a real kernel reported it: each CPU wrote once, and a report has both stacks."""
    one, other = ((CONSOLES / f"kcsan-{name}.log").read_text() for name in ("one", "other"))
    assert "by task 35 on cpu 1:\n plant_put+" in one
    assert "by task 34 on cpu 0:\n plant_put+" in other
    trouble = Trouble(TroubleKind.FAILURE, "the guest reported a failure")
    assert {group_of(trouble, observed(one)), group_of(trouble, observed(other))} == {
        "failure | BUG: KCSAN: data-race in plant_put / plant_take"
    }
