"""Which lines of a kernel's report tell it from others: the reports of Linux 6.12, cut."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.judge.console.kernel_report import LONGEST, kernel_report

CONSOLES = Path(__file__).parents[3] / "data" / "consoles"
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
