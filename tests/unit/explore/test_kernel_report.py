"""Which lines of a kernel's report tell it from others: the reports of Linux 6.12, cut."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.runs import Ending
from benchgate.explore.kernel_report import LONGEST, kernel_report
from benchgate.explore.trouble import RunObservation, Trouble, TroubleKind, group_of

CONSOLES = Path(__file__).parents[2] / "data" / "consoles"
LOCKDEP = """benchready
[    0.412000][  T100]
[    0.412000][  T100] ======================================================
[    0.412001][  T100] WARNING: possible circular locking dependency detected
[    0.412002][  T100] 6.12.95 #1 Not tainted
[    0.412003][  T100] ------------------------------------------------------
[    0.412004][  T100] bench/100 is trying to acquire lock:
[    0.412005][  T100] ffff888003a4c1d8 (&one->lock){+.+.}-{3:3}, at: take_one+0x1c/0x90
[    0.412006][  T100]
[    0.412007][  T100] but task is already holding lock:
[    0.412008][  T100] ffff888003a4d2e0 (&other->lock){+.+.}-{3:3}, at: take_other+0x30/0x90
"""
WARN = """[    0.5] WARNING: CPU: 1 PID: 77 at kernel/sched/core.c:3422 set_task_cpu+0x8d/0x1a0
[    0.5] CPU: 1 UID: 0 PID: 77 Comm: bench Not tainted 6.12.95 #1
[    0.5] RIP: 0010:set_task_cpu+0x8d/0x1a0
"""
POINTER = """[    0.6] BUG: kernel NULL pointer dereference, address: 0000000000000010
[    0.6] #PF: supervisor read access in kernel mode
[    0.6] Oops: Oops: 0000 [#1] SMP
[    0.6] RIP: 0010:pick_task_fair+0x21/0x100
[    0.6] Kernel panic - not syncing: Fatal exception
"""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            LOCKDEP,
            (
                "WARNING: possible circular locking dependency detected",
                "&one->lock at take_one",
                "&other->lock at take_other",
            ),
        ),
        (
            WARN,
            (
                "WARNING: CPU: 1 PID: 77 at kernel/sched/core.c:3422 set_task_cpu+0x8d/0x1a0",
                "in set_task_cpu",
            ),
        ),
        (POINTER, ("BUG: kernel NULL pointer dereference, address: 0000000000000010", "in pick_task_fair")),
        (
            "[ 1.0] BUG: KCSAN: data-race in one / other\n[ 1.0] write to 0xffff of 8 bytes by task 9\n",
            ("BUG: KCSAN: data-race in one / other",),
        ),
        (
            "[ 1.0] rv: monitor wip does not allow event sched_waking on state preemptive\n",
            ("rv: monitor wip does not allow event sched_waking on state preemptive",),
        ),
        ("benchready\nno BUG: here\nthe last WARNING\n", ()),
        ("BUG: " + 1000 * "x", (("BUG: " + 1000 * "x")[:LONGEST],)),
    ],
)
def test_a_report_is_told_by_its_headline_and_by_its_locks_or_its_function(
    text: str, told: tuple[str, ...]
) -> None:
    assert kernel_report(text.splitlines()) == told


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
