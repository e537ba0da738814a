"""A run is one of a scheduler in BPF only if the kernel says so before and after the workload."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.base.errors import VerifyError
from benchgate.base.system.boots import BootDefinition
from benchgate.base.system.systems import System, SystemKind
from benchgate.judge.checks.scheduler import check_scheduler, kernel_reason

GOOD = "state=enabled ops=simple switch_all=1 enable_seq=1 nr_rejected=0"
STALLED = (
    'sched_ext: BPF scheduler "simple" disabled (runnable task stall)\n'
    "sched_ext: simple: bench[87] failed to run for 30.004s\n"
)
WITH, WITHOUT = (
    System("linux", SystemKind.QEMU, "", Path("linux.yaml"), boot=BootDefinition(scheduler=scheduler))
    for scheduler in ("/x/scx_simple", "")
)


def console(begin: str = GOOD, end: str = GOOD, more: str = "", line_end: str = "\n") -> bytes:
    facts = f"benchscx at=begin {begin}\nbenchscx at=end {end}\n"
    text = f"benchready\n@bench end seq=9\n{more}{facts}benchexit status=0\n"
    return text.replace("\n", line_end).encode()


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_a_scheduler_that_was_in_charge_is_accepted(line_end: str) -> None:
    check_scheduler(console(line_end=line_end), WITH)


def test_a_system_without_a_scheduler_needs_no_lines() -> None:
    check_scheduler(b"benchready\nbenchexit status=0\n", WITHOUT)


@pytest.mark.parametrize(
    ("old", "new", "before", "after"),
    [
        ("state=enabled", "state=disabled", "its state was `disabled`", "its state was `disabled`"),
        ("state=enabled", "state=enabling", "its state was `enabling`", "its state was `enabling`"),
        ("ops=simple", "ops=none", "no name of a scheduler", "no name of a scheduler"),
        ("switch_all=1", "switch_all=0", "only threads that ask", "only threads that ask"),
        ("nr_rejected=0", "nr_rejected=2", "nr_rejected=2", "nr_rejected=2"),
        ("ops=simple", "ops=central", "`central` before", "`central` after"),
        ("enable_seq=1", "enable_seq=2", "enable_seq 2, then 1", "enable_seq 1, then 2"),
    ],
)
def test_one_that_was_not_is_refused(old: str, new: str, before: str, after: str) -> None:
    other = GOOD.replace(old, new)
    for text, said in ((console(begin=other), before), (console(end=other), after)):
        with pytest.raises(VerifyError, match="not in charge throughout: ") as caught:
            check_scheduler(text, WITH)
        assert said in str(caught.value)


def test_the_kernels_own_reason_ends_the_sentence() -> None:
    gone = "state=disabled ops=none switch_all=0 enable_seq=1 nr_rejected=0"
    with pytest.raises(VerifyError) as caught:
        check_scheduler(console(end=gone, more=STALLED), WITH)
    assert str(caught.value) == (
        "the scheduler in BPF was not in charge throughout: after the workload its state was `disabled`; the "
        'kernel says: BPF scheduler "simple" disabled (runnable task stall); simple: bench[87] failed to run '
        "for 30.004s"
    )


def test_a_scheduler_that_the_kernel_disabled_is_refused_whatever_its_state_is_afterwards() -> None:
    with pytest.raises(VerifyError, match="the kernel disabled it; the kernel says: BPF scheduler"):
        check_scheduler(console(more=STALLED), WITH)


@pytest.mark.parametrize(
    "text",
    [
        b"benchready\nbenchexit status=0\n",
        f"benchscx at=begin {GOOD}\n".encode(),
        f"benchscx at=end {GOOD}\n".encode(),
        f"benchscx at=end {GOOD}\nbenchscx at=begin {GOOD}\n".encode(),
        console() + f"benchscx at=end {GOOD}\n".encode(),
        f"benchscx at=begin {GOOD}\n".encode() + console(),
    ],
)
def test_lines_that_are_missing_or_that_somebody_adds_are_refused(text: bytes) -> None:
    with pytest.raises(VerifyError, match="must print once before and once after"):
        check_scheduler(text, WITH)


@pytest.mark.parametrize("fact", GOOD.split())
def test_every_fact_is_needed(fact: str) -> None:
    with pytest.raises(VerifyError, match=f"`benchscx at=end` has no {fact.partition('=')[0]}$"):
        check_scheduler(console(end=" ".join(word for word in GOOD.split() if word != fact)), WITH)


def test_without_the_kernels_reason_that_of_its_program_is_told() -> None:
    assert kernel_reason(b"benchscx said: libbpf: failed to load: -22\n") == (
        "its program says: libbpf: failed to load: -22"
    )
    refused = b"benchscx said: cannot use helper #45\nbenchscx said: processed 7 insns (limit 9)\n"
    assert kernel_reason(refused + b"benchscx said: Failed to load skel\n") == (
        "its program says: cannot use helper #45"
    )
    text = b"benchscx said: EXIT: unregistered from user space\nbenchscx said: bye\n"
    assert kernel_reason(text) == "its program says: EXIT: unregistered from user space"
    assert kernel_reason(b"benchready\n") == ""
