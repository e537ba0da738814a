"""A run is one of the settings in its row only if the kernel's files show them before and after it."""

from __future__ import annotations

import pytest

from benchgate.base.errors import VerifyError
from benchgate.base.system.systems import System
from benchgate.judge.checks.kernel_settings import check_kernel_settings, why_not_made
from benchgate.plan import catalog

PREEMPT, SLICE = "/sys/kernel/debug/sched/preempt", "/sys/kernel/debug/sched/base_slice_ns"
MARKED = f"{PREEMPT} = none voluntary (full) "
BOTH = (MARKED, f"{SLICE} = 3000000 ")


def system(word: str = "linux:preempt=full:base_slice_ns=3000000") -> System:
    return catalog.load_system(word)


def console(*shown: str, end: tuple[str, ...] = (), said: str = "", line_end: str = "\n") -> bytes:
    begins, ends = (
        "".join(f"benchset at={at} {one}\n" for one in of)
        for at, of in (("begin", shown), ("end", end or shown))
    )
    text = f"benchready\n@bench end seq=9\n{said}{begins}{ends}benchexit status=0\n"
    return text.replace("\n", line_end).encode()


def refusal(text: bytes, word: str = "linux:preempt=full:base_slice_ns=3000000") -> str:
    with pytest.raises(VerifyError) as caught:
        check_kernel_settings(text, system(word))
    return str(caught.value)


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_what_was_asked_for_is_accepted(line_end: str) -> None:
    check_kernel_settings(console(*BOTH, line_end=line_end), system())


def test_a_system_without_settings_needs_no_lines() -> None:
    check_kernel_settings(b"benchready\nbenchexit status=0\n", system("linux"))


def test_another_value_at_either_time_is_refused_with_the_kernels_words() -> None:
    other = (f"{PREEMPT} = none (voluntary) full ", BOTH[1])
    said = "benchset said: Dynamic Preempt: unsupported mode: full\n"
    assert refusal(console(*other, said=said)) == (
        f"the kernel did not run with preempt=full: before the workload {PREEMPT} showed "
        "`none (voluntary) full`, not `full`; the kernel says: Dynamic Preempt: unsupported mode: full"
    )
    assert refusal(console(*BOTH, end=(MARKED, f"{SLICE} = 750000 "))) == (
        "the kernel did not run with base_slice_ns=3000000: after the workload "
        f"{SLICE} showed `750000`, not `3000000`"
    )


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
        check_kernel_settings(console(f"{path} = {shown} "), system(f"linux:{word}"))
    for shown in bad:
        assert f"{path} showed `" in refusal(console(f"{path} = {shown}"), f"linux:{word}")


def test_each_of_several_and_each_file_of_a_monitor_is_looked_at() -> None:
    word = "linux:features=NO_A+B"
    path = "/sys/kernel/debug/sched/features = "
    check_kernel_settings(console(f"{path}NO_A B", f"{path}NO_A B"), system(word))
    assert "did not run with features=B: " in refusal(console(f"{path}NO_A NO_B", f"{path}NO_A NO_B"), word)
    monitor = "/sys/kernel/tracing/rv/monitors/wwnr"
    reactor, enabled = f"{monitor}/reactors = nop panic [printk] ", f"{monitor}/enable = 1 "
    check_kernel_settings(console(reactor, enabled), system("linux:rv=wwnr"))
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


def test_a_file_that_could_not_be_written_has_the_kernels_reason() -> None:
    features = "/sys/kernel/debug/sched/features"
    reason = f"the guest reported a failure: benchfail: init: {features}: X: No such file or directory"
    one = system("linux:features=X")
    assert why_not_made(b"", reason, one) == "so it is if the kernel was built without CONFIG_SCHED_DEBUG"
    refused = reason.replace("No such file or directory", "Invalid argument")
    assert why_not_made(b"", refused, one) == ""
    said = b"benchset said: features: no X\n"
    assert why_not_made(said, refused, one) == "the kernel says: features: no X"
    assert why_not_made(said, "the process exited with status 35", one) == ""
    assert why_not_made(said, refused, system("linux")) == ""
