"""Figures of a kernel's own against the instruction clock's record of its console, without a boot."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.errors import VerifyError
from benchgate.base.runs import OutsideUse
from benchgate.base.statistics.stats import Interval
from benchgate.base.system.boots import ConsoleWords
from benchgate.base.system.results import TYPED, LineWindow, ResultDefinition, ResultFormat, ResultPattern
from benchgate.base.system.systems import System, SystemKind
from benchgate.insn.log import ClockLog, ClockMark, ConsoleLine, LateSightings, VcpuWork
from benchgate.judge.console import printed
from benchgate.judge.console.bench_lines import Operation
from benchgate.judge.console.console_clock import ConsoleClock
from benchgate.judge.console.output import GuestOutput, of_console
from benchgate.judge.console.patterns import PrintedFigures

MS = 1_000_000
BEGINS = "^2 CPUs up$", "^mine: up$"
SYSTEM = System(
    name="mine",
    kind=SystemKind.QEMU,
    about="",
    file=Path("mine.yaml"),
    console=ConsoleWords(ready="^mine: up$", online="^(?P<n>[0-9]+) CPUs up$"),
    result=ResultDefinition(
        format=ResultFormat.PATTERNS,
        work=ResultPattern(BEGINS[0], "^work: (?P<value>[0-9.]+) ms$", "ms", 0),
        total=ResultPattern(BEGINS[1], "^total: (?P<value>[0-9.]+) ms$", "ms", 0),
        expect={"primes": "4"},
        answers=("^primes=(?P<primes>[0-9]+)$",),
    ),
)
TEXT = (
    "firmware\r\n",
    "mine: up\r\n",
    "2 CPUs up\r\n",
    "primes=4\r\n",
    "work: 60 ms\r\n",
    "total: 62 ms\r\n",
)
TIMES = (80, 100, 101, 160, 161, 162)
"""Times in ms. Every vCPU works from `mine: up` on, vCPU 0 also before."""


def record(text: tuple[str, ...] = TEXT, times: tuple[int, ...] = TIMES, **vcpu1: int) -> ClockLog:
    """`vcpu1`: what vCPU 1 has done in ms at every line, instead of what it should."""
    lines, end = [], 0
    for line, time in zip(text, times, strict=True):
        end += len(line)
        other = VcpuWork(**{name: max(0, time - 100) * MS for name in ("ran", "worked")})
        other = replace(other, **{name: value * MS for name, value in vcpu1.items()})
        lines.append(ConsoleLine(end, time * MS, (VcpuWork(time * MS, time * MS), other)))
    return ClockLog(0, 5000, 100, 1, 2, api=(3, 2, 4), marks=(), lines=tuple(lines))


def check(log: ClockLog, text: tuple[str, ...] = TEXT, system: System = SYSTEM) -> PrintedFigures:
    console = "".join(text).encode()
    output = of_console(console)
    clock = ConsoleClock(log, console, output)
    clock.check_vcpus(2)
    return printed.figures(output, system.result, clock)


def changed(at: int, line: str) -> tuple[str, ...]:
    return (*TEXT[:at], line, *TEXT[at + 1 :])


@pytest.mark.parametrize(
    ("at", "line"),
    [
        (4, "work: 60 ms\r\n"),
        (4, "work: 60.3 ms\r\n"),
        (4, "work: 59.7 ms\r\n"),
        (5, "total: 61.7 ms\r\n"),
    ],
)
def test_figures_that_fit_are_accepted(at: int, line: str) -> None:
    """The work takes 60 ms and all of it 62 ms; 0.5% of 60 are 0.3."""
    text = changed(at, line)
    check(record(text), text)


@pytest.mark.parametrize(
    ("at", "line", "said"),
    [
        (4, "work: 60.4 ms\r\n", "work: the guest claims 60400000 ns, .* 60000000 ns passed .*work.begins`"),
        (4, "work: 59.6 ms\r\n", "work: the guest claims 59600000 ns, .* 60000000 ns passed .*work.begins`"),
        (4, "work: 30 ms\r\n", "work: the guest claims 30000000 ns, .* 60000000 ns passed"),
        (
            5,
            "total: 62.4 ms\r\n",
            "total: the guest claims 62400000 ns, .* 62000000 ns passed .*`result.total",
        ),
        (
            5,
            "total: 61.6 ms\r\n",
            "total: the guest claims 61600000 ns, .* 62000000 ns passed .*`result.total",
        ),
    ],
)
def test_a_figure_that_is_not_the_time_between_its_lines(at: int, line: str, said: str) -> None:
    text = changed(at, line)
    with pytest.raises(VerifyError, match=said):
        check(record(text), text)


def test_a_short_window_has_no_larger_share_of_tolerance() -> None:
    text = changed(4, "work: 0.990 ms\r\n")
    with pytest.raises(VerifyError, match=r"claims 990000 ns, .* 1000000 ns passed"):
        check(record(text, (80, 100, 160, 160, 161, 162)), text)


@pytest.mark.parametrize("worked", [0, 2])
def test_a_vcpu_that_did_not_work_inside_the_window_is_named(worked: int) -> None:
    """The equal share of 60 ms is 30; a tenth of that is 3. Work before the window does not count."""
    assert check(record(worked=worked)).unused == (
        "work: right answers, but of 2 CPUs vCPU 1 executed only 0 instructions of work in its window of 60 "
        "ms: the threads ran on the others"
    )
    assert check(record()).unused == ""


def test_a_claim_longer_than_all_vcpus_ran_is_refused() -> None:
    log = record(ran=0)
    halted = tuple(
        replace(line, vcpus=(VcpuWork(line.time // 3, line.time), line.vcpus[1])) for line in log.lines
    )
    with pytest.raises(VerifyError, match="in that time all its vCPUs together ran 20000000 ns"):
        check(replace(log, lines=halted))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"lines": ()}, "recorded no line"),
        ({"lines": record().lines[:3]}, "recorded 3 lines of the console, and line 5"),
        ({"vcpus": 1}, "had 1 vCPUs"),
        ({"lines": (replace(record().lines[0], end=7), *record().lines[1:])}, "other lines than those"),
        ({"lines": (*record().lines, replace(record().lines[0], end=900))}, "other lines than those"),
    ],
)
def test_a_log_that_does_not_belong_to_the_console_is_refused(change: dict[str, object], said: str) -> None:
    with pytest.raises(VerifyError, match=said):
        check(replace(record(), **change))  # type: ignore[arg-type]


def test_lone_carriage_returns_have_no_record_of_their_own() -> None:
    """The figure's line then counts as printed at the next recorded one."""
    text = (*TEXT[:4], "work: 60 ms\rtotal: 61 ms\n")
    check(record(text, TIMES[:5]), text)


# ---- coarse figures


def ticks(written: str) -> tuple[tuple[str, ...], System]:
    """The same console with the work in ticks of 10 ms."""
    work = ResultPattern(BEGINS[0], "^work: (?P<value>[0-9.]+) ticks$", "ticks", hz=100)
    return changed(4, f"work: {written} ticks\r\n"), replace(SYSTEM, result=replace(SYSTEM.result, work=work))


@pytest.mark.parametrize("written", ["5", "6", "7"])
def test_a_figure_in_ticks_may_be_off_by_one(written: str) -> None:
    text, system = ticks(written)
    check(record(text), text, system)


@pytest.mark.parametrize("written", ["4", "8"])
def test_a_figure_in_ticks_that_is_off_by_two_is_refused(written: str) -> None:
    text, system = ticks(written)
    with pytest.raises(VerifyError, match=r"they may differ by 0.5% and a step of 10000000 ns"):
        check(record(text), text, system)


# ---- windows between lines


def lines(begins: str, ends: str) -> System:
    return replace(SYSTEM, result=replace(SYSTEM.result, work=LineWindow(begins, ends), total=None))


def window(begins: str, ends: str, log: ClockLog | None = None) -> int:
    console = "".join(TEXT).encode()
    output = of_console(console)
    clock = ConsoleClock(log or record(), console, output)
    return printed.figures(output, lines(begins, ends).result, clock).work


def test_a_window_is_the_time_from_one_line_to_another() -> None:
    assert window("^2 CPUs up", "^work:") == 60 * MS
    assert window("^mine: up", "^total:") == 62 * MS


@pytest.mark.parametrize(
    ("begins", "ends", "said"),
    [
        ("^work:", "^2 CPUs", "begins with line 5 of the console and ends with line 3"),
        ("^work:", "^work:", "begins with line 5 of the console and ends with line 5"),
        ("^start", "^work:", r"work\.from: nothing on the console matches `\^start`"),
        ("^2 CPUs", "^stop", r"work\.to: nothing on the console matches `\^stop`"),
        ("up$", "^work:", r"work\.from: `up\$` matches more than once"),
    ],
)
def test_a_window_without_its_lines_is_refused(begins: str, ends: str, said: str) -> None:
    with pytest.raises(VerifyError, match=said):
        window(begins, ends)


def test_a_window_between_lines_in_which_a_cpu_did_nothing_says_so() -> None:
    system, log = lines("^2 CPUs up", "^work:"), record(worked=0)
    assert "vCPU 1 executed only 0 instructions of work" in check(log, TEXT, system).unused


SEEN_LATE = tuple(
    LateSightings(*each) for each in ((1, 10), (4, 50, 3), (9, 90, 7), (9, 90), (11, 100, 5), (20, 200))
)
"""The hand-overs at each line of TEXT, the delays so far, and those that count later."""


def with_delays() -> ClockLog:
    pairs = zip(record().lines, SEEN_LATE, strict=True)
    return replace(record(), lines=tuple(replace(line, seen_late=seen) for line, seen in pairs))


def test_only_delays_between_the_lines_of_a_window_blur_it() -> None:
    """What counts only after a window's end belongs to it, and what had been seen before it does not."""
    console = "".join(TEXT).encode()
    clock = ConsoleClock(with_delays(), console, of_console(console))
    printed_ones = printed.figures(clock.output, SYSTEM.result, clock)
    assert (printed_ones.late, printed_ones.total_late) == (LateSightings(2, 15), LateSightings(16, 150))
    between = printed.figures(clock.output, lines("^mine: up", "^primes").result, clock)
    assert (between.late, between.total_late) == (LateSightings(5, 40), None)


def test_marks_take_the_delays_of_the_lines_around_them() -> None:
    times = ((3, 101), (1, 102), (2, 159), (4, 159))
    log = replace(with_delays(), marks=tuple(ClockMark(kind, 0, time * MS) for kind, time in times))
    console = "".join(TEXT).encode()
    assert ConsoleClock(log, console, of_console(console)).between_marks("work").late == LateSightings(0, 0)


def test_operations_have_the_delays_of_their_own_lines() -> None:
    console = "".join(TEXT).encode()
    each = [Operation(1, MS, line, after) for line, after in ((2, 1), (5, 4))]
    assert ConsoleClock(with_delays(), console, of_console(console)).late_in(each) == LateSightings(14, 147)
    assert ConsoleClock(record(), console, of_console(console)).late_in(each) is None


def test_a_log_of_an_earlier_version_says_nothing_of_a_window() -> None:
    console = "".join(TEXT).encode()
    clock = ConsoleClock(record(), console, of_console(console))
    assert printed.figures(clock.output, SYSTEM.result, clock).late is None


def test_wall_time_has_no_lines() -> None:
    console = "".join(TEXT).encode()
    with pytest.raises(VerifyError, match="work: only the instruction clock times lines and marks"):
        printed.figures(of_console(console), lines("^2 CPUs", "^work:").result, None)


def typed_window(typed: tuple[int, ...]) -> int:
    """The window as if lines 2 and 4 of the console had been typed at a prompt."""
    console = "".join(TEXT).encode()
    output = replace(of_console(console), typed=typed)
    return printed.figures(
        output, lines(TYPED, "^work:").result, ConsoleClock(record(), console, output)
    ).work


def test_a_window_may_begin_with_the_line_that_was_typed_last_before_its_end() -> None:
    assert typed_window((1,)) == 61 * MS
    assert typed_window((1, 2)) == 60 * MS
    assert typed_window((1, 2, 5)) == 60 * MS


def test_a_window_that_begins_with_a_typed_line_needs_one() -> None:
    with pytest.raises(VerifyError, match="nothing was typed before line 5 of the console"):
        typed_window((4, 5))


@pytest.mark.parametrize(("first", "last"), [(10, 160), (100, 400)], ids=["no line before", "no line after"])
def test_marks_need_a_line_before_and_one_after(first: int, last: int) -> None:
    times = ((3, first), (1, first), (2, last), (4, last))
    log = replace(record(), marks=tuple(ClockMark(kind, 0, time * MS) for kind, time in times))
    console = "".join(TEXT).encode()
    with pytest.raises(VerifyError, match="must print a line before its first mark and after its last one"):
        ConsoleClock(log, console, of_console(console)).between_marks("work")


def worked(text: tuple[str, ...], *vcpus: tuple[int, int]) -> ConsoleClock:
    """A console whose lines end 10 ms apart, and what two vCPUs had worked at the end of each."""
    ends = [sum(map(len, text[: n + 1])) for n in range(len(text))]
    lines = [
        ConsoleLine(end, 10 * n, (VcpuWork(10 * n, one), VcpuWork(10 * n, two)))
        for n, (end, (one, two)) in enumerate(zip(ends, vcpus, strict=True))
    ]
    console = "".join(text).encode()
    log = replace(record(), lines=tuple(lines))
    return ConsoleClock(log, console, GuestOutput(of_console(console).text, typed=(1,)))


def test_what_is_executed_outside_of_a_window_is_counted_from_the_line_before_the_typed_one() -> None:
    text = ("up\n", "$ primes\n", "start\n", "end\n", "primes=4\n")
    clock = worked(text, (100, 100), (110, 100), (150, 160), (1150, 1160), (1157, 1165))
    lines = clock.log.lines
    seen = clock.outside((lines[2], lines[3]), 10, 4)
    assert seen == OutsideUse(busiest=60 + 7, together=50 + 60 + 7 + 5, inside=2000)
    assert clock.outside((lines[2], lines[3]), 10, None).together == 110  # no answer follows
    assert clock.outside((lines[1], lines[3]), 20, 2).together == 10  # the window begins with the typed line
    assert clock.outside((lines[2], lines[3]), 7, 4) == OutsideUse(
        67 + 3, 122 + 6, 2000
    )  # marks between lines
    boot = replace(clock, output=replace(clock.output, typed=()))
    assert boot.outside((lines[2], lines[3]), 10, 4) == OutsideUse(7, 12, 2000)


def test_what_polled_is_counted_apart() -> None:
    """As above, but vCPU 1 has polled for 40 of its 60 and 5 of its 5 outside, and for 300 inside."""
    text = ("up\n", "$ primes\n", "start\n", "end\n", "primes=4\n")
    clock = worked(text, (100, 100), (110, 100), (150, 160), (1150, 1160), (1157, 1165))
    polled = (0, 0, 40, 340, 345)
    lines = tuple(
        replace(line, vcpus=(line.vcpus[0], replace(line.vcpus[1], polled=count)))
        for line, count in zip(clock.log.lines, polled, strict=True)
    )
    clock = replace(clock, log=replace(clock.log, lines=lines))
    seen = clock.outside((lines[2], lines[3]), 10, 4)
    assert seen == OutsideUse(50 + 7, 50 + 20 + 7, 2000, polled=45, polled_inside=300)


def test_the_cpus_of_operations_are_those_of_their_own_lines() -> None:
    """The first took 10 ns on two CPUs, the second 30 ns on one."""
    text = ("BENCH_START x\n", "a\n", "b\n", "c\n", "d\n")
    clock = worked(text, (0, 0), (10, 10), (10, 10), (20, 10), (30, 10))
    one, two = Operation(1, 10, 1, 0), Operation(1, 30, 4, 1)
    assert clock.used_by([one, two]).worked == Interval(1.0, 1.0)
    assert clock.used_by([one]).worked == Interval(2.0, 2.0)
