"""What a Linux guest's kernel says of itself: its scheduler in BPF, its settings, an option that it lacks.

A run is one of a scheduler, or of the settings in its row, only if the kernel says so before and after the
workload. A refused run of a kernel that lacks an option names it; other refusals stay as they are.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.errors import VerifyError
from benchgate.base.system.boots import BootDefinition
from benchgate.base.system.systems import System, SystemKind
from benchgate.judge.checks.linux_kernel import check_kernel, hint
from benchgate.plan import catalog
from tests.unit.factories import cell, raw_run

GOOD = "state=enabled ops=simple switch_all=1 enable_seq=1 nr_rejected=0"
STALLED = (
    'sched_ext: BPF scheduler "simple" disabled (runnable task stall)\n'
    "sched_ext: simple: bench[87] failed to run for 30.004s\n"
)
WITH, PLAIN = (
    System("linux", SystemKind.QEMU, "", Path("linux.yaml"), boot=BootDefinition(scheduler=scheduler))
    for scheduler in ("/x/scx_simple", "")
)


def scheduled(begin: str = GOOD, end: str = GOOD, more: str = "", line_end: str = "\n") -> bytes:
    facts = f"benchscx at=begin {begin}\nbenchscx at=end {end}\n"
    text = f"benchready\n@bench end seq=9\n{more}{facts}benchexit status=0\n"
    return text.replace("\n", line_end).encode()


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_a_scheduler_that_was_in_charge_is_accepted(line_end: str) -> None:
    check_kernel(scheduled(line_end=line_end), WITH)


def test_a_system_without_a_scheduler_needs_no_lines() -> None:
    check_kernel(b"benchready\nbenchexit status=0\n", PLAIN)


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
    for text, said in ((scheduled(begin=other), before), (scheduled(end=other), after)):
        with pytest.raises(VerifyError, match="not in charge throughout: ") as caught:
            check_kernel(text, WITH)
        assert said in str(caught.value)


def test_the_kernels_own_reason_ends_the_sentence() -> None:
    gone = "state=disabled ops=none switch_all=0 enable_seq=1 nr_rejected=0"
    with pytest.raises(VerifyError) as caught:
        check_kernel(scheduled(end=gone, more=STALLED), WITH)
    assert str(caught.value).endswith(
        'its state was `disabled`; the kernel says: BPF scheduler "simple" disabled (runnable task stall); '
        "simple: bench[87] failed to run for 30.004s"
    )


def test_a_scheduler_that_the_kernel_disabled_is_refused_whatever_its_state_is_afterwards() -> None:
    with pytest.raises(VerifyError, match="the kernel disabled it; the kernel says: BPF scheduler"):
        check_kernel(scheduled(more=STALLED), WITH)


@pytest.mark.parametrize(
    "text",
    [
        b"benchready\nbenchexit status=0\n",
        f"benchscx at=begin {GOOD}\n".encode(),
        f"benchscx at=end {GOOD}\n".encode(),
        f"benchscx at=end {GOOD}\nbenchscx at=begin {GOOD}\n".encode(),
        scheduled() + f"benchscx at=end {GOOD}\n".encode(),
        f"benchscx at=begin {GOOD}\n".encode() + scheduled(),
    ],
)
def test_facts_that_are_missing_or_that_somebody_adds_are_refused(text: bytes) -> None:
    with pytest.raises(VerifyError, match="must print once before and once after"):
        check_kernel(text, WITH)


@pytest.mark.parametrize("fact", GOOD.split())
def test_every_fact_is_needed(fact: str) -> None:
    with pytest.raises(VerifyError, match=f"`benchscx at=end` has no {fact.partition('=')[0]}$"):
        check_kernel(scheduled(end=" ".join(word for word in GOOD.split() if word != fact)), WITH)


def words_of(text: bytes) -> str:
    return hint(raw_run(cell(2)), text, "the run is refused", WITH)


def test_without_the_kernels_reason_that_of_its_program_is_told() -> None:
    assert words_of(b"benchscx said: libbpf: failed to load: -22\n") == (
        "; its program says: libbpf: failed to load: -22"
    )
    refused = b"benchscx said: cannot use helper #45\nbenchscx said: processed 7 insns (limit 9)\n"
    assert words_of(refused + b"benchscx said: Failed to load skel\n") == (
        "; its program says: cannot use helper #45"
    )
    text = b"benchscx said: EXIT: unregistered from user space\nbenchscx said: bye\n"
    assert words_of(text) == "; its program says: EXIT: unregistered from user space"
    assert words_of(b"benchready\n") == ""


def test_a_run_that_is_refused_for_something_else_tells_that_its_scheduler_left() -> None:
    """One that leaves and comes back uses CPU time, for which the run is refused first."""
    assert words_of(scheduled(end=GOOD.replace("enabled", "enabling"))) == (
        "; the scheduler in BPF was not in charge throughout: after the workload its state was `enabling`"
    )
    assert words_of(scheduled()) == ""
    assert words_of(scheduled(more="benchscx said: no such tracepoint\n")) == ""
    assert (
        words_of(b"benchscx at=start state=disabled ops=none\nbenchscx said: bye\n")
        == "; its program says: bye"
    )


# ---- settings


PREEMPT, SLICE = "/sys/kernel/debug/sched/preempt", "/sys/kernel/debug/sched/base_slice_ns"
MARKED = f"{PREEMPT} = none voluntary (full) "
BOTH = (MARKED, f"{SLICE} = 3000000 ")


def system(word: str = "linux:preempt=full:base_slice_ns=3000000") -> System:
    return catalog.load_system(word)


def console(*shown: str, end: tuple[str, ...] = (), said: str = "", line_end: str = "\n") -> bytes:
    begins, ends = (
        "".join(f"benchset at={at} {word}\n" for word in of)
        for at, of in (("begin", shown), ("end", end or shown))
    )
    text = f"benchready\n@bench end seq=9\n{said}{begins}{ends}benchexit status=0\n"
    return text.replace("\n", line_end).encode()


def refusal(text: bytes, word: str = "linux:preempt=full:base_slice_ns=3000000") -> str:
    with pytest.raises(VerifyError) as caught:
        check_kernel(text, system(word))
    return str(caught.value)


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_what_was_asked_for_is_accepted(line_end: str) -> None:
    check_kernel(console(*BOTH, line_end=line_end), system())


def test_a_system_without_settings_needs_no_lines() -> None:
    check_kernel(b"benchready\nbenchexit status=0\n", system("linux"))


def test_another_value_at_either_time_is_refused_with_the_kernels_words() -> None:
    other = (f"{PREEMPT} = none (voluntary) full ", BOTH[1])
    said = "benchset said: Dynamic Preempt: unsupported mode: full\n"
    assert refusal(console(*other, said=said)).endswith(
        f"before the workload {PREEMPT} showed `none (voluntary) full`, not `full`; the kernel says: Dynamic "
        "Preempt: unsupported mode: full"
    )
    later = refusal(console(*BOTH, end=(MARKED, f"{SLICE} = 750000 ")))
    assert "did not run with base_slice_ns=3000000" in later
    assert later.endswith(f"after the workload {SLICE} showed `750000`, not `3000000`")


def test_a_file_that_the_kernel_does_not_have_is_refused_with_what_it_needs() -> None:
    assert refusal(console(f"{PREEMPT} ! No such file or directory", BOTH[1])).endswith(
        f"before the workload {PREEMPT} could not be read: No such file or directory; so it is if "
        "the kernel was built without CONFIG_PREEMPT_DYNAMIC"
    )


@pytest.mark.parametrize(
    ("word", "path", "good", "bad"),
    [
        (
            "preempt=full",
            PREEMPT,
            ["full", "none voluntary (full)"],
            ["none voluntary full", "(full) (none)", ""],
        ),
        (
            "isolcpus=1-3",
            "/sys/devices/system/cpu/isolated",
            ["1-3", "1,2-3"],
            ["", "1-2", "1-3,5", "0-3", "(null)"],
        ),
        ("nohz_full=1,2", "/sys/devices/system/cpu/nohz_full", ["1-2"], ["1", "1,", "1-99999999999"]),
        ("features=NO_A", "/sys/kernel/debug/sched/features", ["B NO_A C"], ["B A C", "NO_AB", ""]),
        (
            "sysctl=kernel.printk=4 4 1 7",
            "/proc/sys/kernel/printk",
            ["4\t4\t1\t7"],
            ["4", "4 4 1 8", "4 4 1 7 1"],
        ),
    ],
)
def test_each_form_of_a_file_is_read(word: str, path: str, good: list[str], bad: list[str]) -> None:
    for shown in good:
        check_kernel(console(f"{path} = {shown} "), system(f"linux:{word}"))
    for shown in bad:
        assert f"{path} showed `" in refusal(console(f"{path} = {shown}"), f"linux:{word}")


def test_each_of_several_and_each_file_of_a_monitor_is_looked_at() -> None:
    word = "linux:features=NO_A+B"
    path = "/sys/kernel/debug/sched/features = "
    check_kernel(console(f"{path}NO_A B", f"{path}NO_A B"), system(word))
    assert "did not run with features=B: " in refusal(console(f"{path}NO_A NO_B", f"{path}NO_A NO_B"), word)
    monitor = "/sys/kernel/tracing/rv/monitors/wwnr"
    reactor, enabled = f"{monitor}/reactors = nop panic [printk] ", f"{monitor}/enable = 1 "
    check_kernel(console(reactor, enabled), system("linux:rv=wwnr"))
    for wrong in ((reactor.replace("[printk]", "printk"), enabled), (reactor, f"{monitor}/enable = 0 ")):
        assert "did not run with rv=wwnr: " in refusal(console(*wrong), "linux:rv=wwnr")


@pytest.mark.parametrize(
    "text",
    [
        b"benchready\nbenchexit status=0\n",
        console(BOTH[0]),
        console(*reversed(BOTH)),
        console(*BOTH, end=(BOTH[0],)),
        console(*BOTH) + f"benchset at=end {BOTH[1]}\n".encode(),
        f"benchset at=begin {BOTH[0]}\n".encode() + console(*BOTH),
    ],
)
def test_lines_that_are_missing_or_that_somebody_adds_are_refused(text: bytes) -> None:
    assert "must print once before and once after the workload" in refusal(text)


def why(text: bytes, reason: str, given: System) -> str:
    return hint(raw_run(cell(2)), text, reason, given)


def test_a_file_that_could_not_be_written_has_the_kernels_reason() -> None:
    features = "/sys/kernel/debug/sched/features"
    reason = f"the guest reported a failure: benchfail: init: {features}: X: No such file or directory"
    one = system("linux:features=X")
    assert why(b"", reason, one) == "; so it is if the kernel was built without CONFIG_SCHED_DEBUG"
    refused = reason.replace("No such file or directory", "Invalid argument")
    assert why(b"", refused, one) == ""
    said = b"benchset said: features: no X\n"
    assert why(said, refused, one) == "; the kernel says: features: no X"
    assert why(said, "the process exited with status 35", one) == ""
    assert why(said, refused, system("linux")) == ""


# ---- options


ENDED = b"benchready\n@bench end\nbenchquiet quiet=yes waited_ms=63\nbenchexit status=0\n"


@pytest.mark.parametrize(
    ("console", "status", "reason", "option"),
    [
        (ENDED, 0, "the process exited with status 0 after its end line", "CONFIG_X86_IOPL_IOPERM"),
        (b"\nbenchfail: init: /proc: No such device\n", 35, "", "CONFIG_PROC_FS"),
        (b"\nbenchfail: init: /sys: No such device\r\n", 35, "", "CONFIG_SYSFS"),
        (b"benchready\nbenchfail: init: /sys/kernel/debug: No such device\n", 35, "", "CONFIG_DEBUG_FS"),
        (b"Kernel panic - not syncing: VFS: Unable to mount root fs on unknown\n", 0, "", "BLK_DEV_INITRD"),
        (b"Failed to execute /init (error -8)\n", 0, "", "CONFIG_BINFMT_ELF"),
        (ENDED, 33, "the guest did not count foreign CPU time (foreign time=na), so", "CONFIG_SCHEDSTATS"),
        (ENDED, 33, "2 CPUs were requested, but 1 came up", "CONFIG_SMP"),
        (b"Decompressing\n", 35, "the process exited with status 35 while it booted", "CONFIG_DEVTMPFS"),
    ],
)
def test_what_a_kernel_lacks_is_named(console: bytes, status: int, reason: str, option: str) -> None:
    said = hint(replace(raw_run(cell(2)), exit_status=status), console, reason, PLAIN)
    assert said.startswith("; so it is if the kernel is built without ")
    assert option in said
    assert said.endswith("(`benchgate docs linux-options`)")


@pytest.mark.parametrize(
    ("console", "status", "reason"),
    [
        (ENDED, 33, "wrong answer: count is 3"),
        (ENDED, 0, "the guest was not quiet"),  # as a machine that is not x86 ends
        (ENDED, None, "not finished within its deadline"),
        (b"benchready\nbenchexit status=256\n", 0, "the process exited with status 0"),
        (
            b"benchready\nbenchfail: init: /proc: Operation not permitted\n",
            35,
            "the guest reported a failure",
        ),
        (b"benchready\nbenchfail: a task could not be started\n", 35, "the guest reported a failure"),
        (ENDED, 33, "4 CPUs were requested, but 2 came up"),
    ],
)
def test_another_refusal_names_no_option(console: bytes, status: int | None, reason: str) -> None:
    assert hint(replace(raw_run(cell(2)), exit_status=status), console, reason, PLAIN) == ""
