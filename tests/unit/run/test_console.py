"""The console: every byte is logged, and patterns are found wherever reads split them."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pexpect
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchgate.base.runs import Deadlines, Ending
from benchgate.base.system.boots import ConsoleWords, End, EndBy
from benchgate.base.system.results import ResultDefinition, ResultFormat, ResultPattern
from benchgate.base.system.systems import System
from benchgate.plan.catalog import load_system
from benchgate.run.console import Console, ConsoleLimits, FloodError, SerialLog
from benchgate.run.ending import Cause, Stage
from benchgate.run.follower import Follower, complaint
from benchgate.run.watch import GUEST_WATCH, Watch, watch_for

GOOD = (
    b"SeaBIOS\r\n[  0.1] Linux\r\nbenchready quiet=yes\r\n@bench begin v=1 seq=0 crc=00000000\r\n"
    b"@bench end lines=1 seq=1 crc=00000000\r\n"
)


@dataclass
class StubChild:
    """Replaces the program at the other end of the console."""

    ended: bool = False
    unmaps_s: float = math.inf
    """How long its end takes after its console is closed."""
    spends_s: float = 0.0
    """The CPU time that it uses from one look to the next."""
    spent_s: float = 0.0

    def cpu_s(self) -> float:
        self.spent_s += self.spends_s
        return self.spent_s

    def has_ended(self) -> bool:
        return self.ended

    def wait(self, seconds: float) -> bool:
        return self.ended or seconds >= self.unmaps_s


@dataclass
class Rig:
    """A console; the test has its other end."""

    folder: Path
    bound: int = 1 << 20
    moments: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.read, self.write = os.pipe()
        self.input_read, self.input_write = os.pipe()
        self.kept = io.BytesIO()
        self.log = SerialLog(self.kept, self.bound)
        self.console = Console(self.read, self.input_write, self.log)
        self.child = StubChild()
        (self.folder / "stderr.log").touch()

    def follower(
        self, watch: Watch = GUEST_WATCH, boot_s: float = 60, run_s: float = 60, **limits: Any
    ) -> Follower:
        bounds = ConsoleLimits(**{"leave_s": 0.1, "linger_s": 0.1, **limits})
        return Follower(
            self.console,
            self.log,
            watch,
            Deadlines(boot_s, run_s),
            bounds,
            self.moments.append,
            self.child,  # type: ignore[arg-type]
            self.folder,
        )

    def close_output(self) -> None:
        os.close(self.write)
        self.write = -1

    def close(self) -> None:
        for descriptor in (self.read, self.write, self.input_read, self.input_write):
            if descriptor >= 0:
                os.close(descriptor)


class CutConsole(Console):
    """Reads from a list of pieces, and never more than the requested size."""

    def __init__(self, rig: Rig, pieces: list[bytes]) -> None:
        super().__init__(rig.read, rig.input_write, rig.log)
        self._pieces = [piece for piece in pieces if piece]

    def _read(self, size: int, timeout: float | None) -> bytes:  # noqa: ARG002
        if not self._pieces:
            raise pexpect.EOF("closed")
        piece = self._pieces.pop(0)
        if len(piece) > size:
            self._pieces.insert(0, piece[size:])
        return piece[:size]


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    rig = Rig(tmp_path)
    yield rig
    rig.close()


def test_a_good_console_is_followed_to_its_end(rig: Rig) -> None:
    os.write(rig.write, GOOD)
    rig.close_output()
    seen = rig.follower().follow()
    assert (seen.cause, seen.stage) == (Cause.CLOSED, Stage.ENDED)
    assert rig.moments == ["ready", "result", "end"]
    assert rig.kept.getvalue() == GOOD


def test_a_failed_expect_shows_the_console_and_no_frame_of_pexpect(rig: Rig) -> None:
    os.write(rig.write, b"tern: panic at 0\xff\n")
    with pytest.raises(pexpect.TIMEOUT) as told:
        rig.console.expect("never said", timeout=0.2)
    assert "the console ends with:\ntern: panic at 0\\xff\n" in str(told.value)
    assert [Path(str(frame.path)).name for frame in told.traceback] == ["test_console.py", "console.py"]
    assert told.traceback[-1].ishidden(told)


def test_a_failed_expect_says_that_nothing_was_printed(rig: Rig) -> None:
    rig.close_output()
    with pytest.raises(pexpect.EOF, match="the console has no output"):
        rig.console.expect("never said", timeout=60)


@settings(max_examples=30, deadline=None)
@given(cuts=st.lists(st.integers(0, len(GOOD)), max_size=5), noise=st.integers(0, 12_000))
def test_patterns_are_found_wherever_reads_split_them(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[int], noise: int
) -> None:
    rig = Rig(tmp_path_factory.mktemp("rig"))
    try:
        whole = b"n" * noise + b"\n" + GOOD
        edges = [0, *sorted(noise + 1 + cut for cut in cuts), len(whole)]
        rig.console = CutConsole(rig, [whole[a:b] for a, b in pairwise(edges)])
        seen = rig.follower().follow()
        assert seen.stage is Stage.ENDED
        assert rig.moments == ["ready", "result", "end"]
    finally:
        rig.close()


def test_a_line_split_by_two_full_reads_is_found(rig: Rig) -> None:
    """pexpect drops earlier bytes when a read fills its whole window."""
    before_tear = len(b"SeaBIOS\r\n[  0.1] Linux\r\nbenchr")
    whole = b"n" * (8191 - before_tear) + b"\n" + GOOD + b"m" * 16_384
    rig.console = CutConsole(rig, [whole])
    assert rig.follower().follow().stage is Stage.ENDED
    assert rig.moments == ["ready", "result", "end"]


def test_patterns_in_a_burst_larger_than_a_read_are_found(rig: Rig) -> None:
    os.write(rig.write, b"x" * 30_000 + b"\n" + GOOD + b"y" * 20_000)
    rig.close_output()
    assert rig.follower().follow().stage is Stage.ENDED
    assert len(rig.kept.getvalue()) == 50_001 + len(GOOD)


def test_panic_in_the_middle_of_a_line_is_not_a_panic(rig: Rig) -> None:
    """A search that takes the start of its window for the start of a line would find one."""
    line = b"no panic: all is well, " * 40 + b"\n"
    os.write(rig.write, GOOD.replace(b"benchready", line * 50 + b"benchready"))
    rig.close_output()
    assert rig.follower().follow().cause is Cause.CLOSED


def test_a_panic_on_the_first_line_is_found(rig: Rig) -> None:
    os.write(rig.write, b"panic: cpu=0 early\r\n")
    rig.close_output()
    seen = rig.follower().follow()
    assert (seen.cause, seen.line) == (Cause.PANIC, "panic: cpu=0 early")


def test_a_failure_takes_precedence_over_earlier_patterns(rig: Rig) -> None:
    os.write(rig.write, GOOD + b"benchfail: too late\r\n")
    rig.close_output()
    seen = rig.follower().follow()
    assert (seen.cause, seen.stage, seen.line) == (Cause.FAILURE, Stage.ENDED, "benchfail: too late")


def test_an_end_line_without_a_ready_line_is_seen(rig: Rig) -> None:
    os.write(rig.write, GOOD.replace(b"benchready", b"bencxready"))
    rig.close_output()
    assert rig.follower().follow().stage is Stage.ENDED


def test_a_system_that_cannot_power_off_is_finished_at_its_end_line(rig: Rig) -> None:
    os.write(rig.write, GOOD)
    watch = Watch(ready=GUEST_WATCH.ready, ends=GUEST_WATCH.ends, kill_after_end=True)
    assert rig.follower(watch).follow().cause is Cause.FINISHED


def killed_after(result: ResultDefinition) -> System:
    return replace(load_system("kernel"), console=ConsoleWords(), end=End(EndBy.KILL), result=result)


def test_a_program_of_bench_lines_is_killed_after_its_last_line(rig: Rig) -> None:
    result = ResultDefinition(ResultFormat.BENCH_LINES, operations=("getpid",))
    watch = watch_for(
        replace(load_system("kernel"), console=ConsoleWords(), end=End(EndBy.KILL), result=result)
    )
    output = b"BENCH_START x\r\nBENCH getpid 1 5 5\r\nBENCH_END\r\n"
    rig.console = CutConsole(rig, [output])
    assert rig.follower(watch).follow().cause is Cause.FINISHED
    rig.console = CutConsole(rig, [output[:-1]])
    assert rig.follower(watch).follow().cause is Cause.CLOSED


def test_a_guest_is_killed_only_after_all_results_in_complete_lines(rig: Rig) -> None:
    result = ResultDefinition(
        ResultFormat.PATTERNS,
        work=ResultPattern("^boot", "^work: (?P<value>[0-9]+)", "us", 0),
        expect={"primes": "9592"},
        answers=("^primes=(?P<primes>[0-9]+)$", "^primes=(?P<again>[0-9]+)"),
    )
    watch = watch_for(
        replace(load_system("kernel"), console=ConsoleWords(), end=End(EndBy.KILL), result=result)
    )
    output = b"fixed\r\nprimes=9592\r\n\x1b[32mwork:\x1b[0m 13688\r\n"
    for cut in range(1, len(output) - 1):
        rig.console = CutConsole(rig, [output[:cut], output[cut:]])
        assert rig.follower(watch).follow().cause is Cause.FINISHED, output[:cut]
        rig.console = CutConsole(rig, [output[:cut]])
        assert rig.follower(watch).follow().cause is Cause.CLOSED, output[:cut]


@pytest.mark.parametrize("size", [100, 8192, 300_000])
def test_a_long_line_is_found_however_it_is_read(rig: Rig, size: int) -> None:
    watch = Watch(ends=(rb"(?:\nprimes=[0-9]+)[^\n]*\n",), kill_after_end=True, repeat_bytes=0)
    whole = b"boot\nprimes=9592 " + b"x" * 200_000 + b"\n"
    rig.console = CutConsole(rig, [whole[at : at + size] for at in range(0, len(whole), size)])
    assert rig.follower(watch).follow().cause is Cause.FINISHED


def test_a_panic_without_a_line_end_is_found_at_the_deadline(rig: Rig) -> None:
    os.write(rig.write, b"panic: and then nothing")
    seen = rig.follower(boot_s=0.05).follow()
    assert (seen.cause, seen.line) == (Cause.PANIC, "panic: and then nothing")


def test_a_ready_line_without_an_end_begins_the_run_at_the_boots_deadline(rig: Rig) -> None:
    os.write(rig.write, b"benchready ")
    seen = rig.follower(boot_s=0.05, run_s=0.05).follow()
    assert (seen.cause, seen.stage) == (Cause.DEADLINE, Stage.RUNNING)


def test_a_console_that_repeats_itself_is_stopped(rig: Rig) -> None:
    rig.console = CutConsole(rig, [b"boot\n", *[b"irq 7?\n" * 100] * 200])
    follower = rig.follower()
    seen = follower.follow()
    assert (seen.cause, seen.stage) == (Cause.REPEATS, Stage.BOOTING)
    ending, why = follower.judge(seen, None)
    assert ending is Ending.OUTPUT_LIMIT
    assert "nothing but `irq 7?`" in why
    assert "`console.repeat_bytes`" in why


def test_a_line_that_looks_like_a_panic_ends_the_run_if_nothing_follows(rig: Rig) -> None:
    os.write(rig.write, b"boot\ncpu0: Unhandled exception 14\nrip=0\n")
    follower = rig.follower(hush_s=0.05)
    seen = follower.follow()
    assert seen.cause is Cause.SUSPECT
    ending, why = follower.judge(seen, None)
    assert ending is Ending.PANIC
    assert "`cpu0: Unhandled exception 14`" in why
    assert "`console.harmless`" in why
    assert "the last line was: rip=0" in why


@dataclass
class StillPace:
    """A guest's clock that stands still: every vCPU spins."""

    kind: str = ""

    def begin(self, seconds: float) -> None: ...

    def left(self) -> float:
        return 0.01


def test_a_panic_that_spins_ends_the_run_by_what_the_host_has_spent(rig: Rig) -> None:
    os.write(rig.write, b"boot\ncpu0: Unhandled exception 14\n")
    rig.child.spends_s = 4.0
    follower = replace(rig.follower(), pace=StillPace())
    seen = follower.follow()
    assert (seen.cause, seen.suspect) == (Cause.SUSPECT, "cpu0: Unhandled exception 14")
    assert rig.child.spent_s >= 4 * 5.0
    rig.child.spends_s = 0.0


def test_the_user_hears_of_a_long_hush_and_a_line_ends_it(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchgate.run.pace.LONG_HUSH_S", 0.05)
    heard: list[str] = []

    def hear(suspect: str) -> None:
        if suspect and not heard:
            os.write(rig.write, b"\n".join(b"register %d" % n for n in range(1000)) + b"\n")
        heard.extend([suspect] if suspect or heard else [])
        if heard and not heard[-1]:
            rig.close_output()

    os.write(rig.write, b"boot\ncpu0: Unhandled exception 14\n")
    follower = replace(rig.follower(), pace=StillPace(), heartbeat=hear)
    assert follower.follow().cause is Cause.CLOSED
    assert heard[0] == "cpu0: Unhandled exception 14"


def test_a_harmless_line_ends_nothing(rig: Rig) -> None:
    os.write(rig.write, b"boot\ncpu0: Unhandled exception 14\n")
    watch = replace(GUEST_WATCH, harmless=(rb"Unhandled exception 14",))
    assert rig.follower(watch, boot_s=0.2, hush_s=0.01).follow().cause is Cause.DEADLINE


def test_each_stage_has_its_deadline(rig: Rig) -> None:
    seen = rig.follower(boot_s=0.05).follow()
    assert (seen.cause, seen.stage, seen.line) == (Cause.DEADLINE, Stage.BOOTING, "")
    os.write(rig.write, b"\nbenchready x\n")
    seen = rig.follower(run_s=0.05).follow()
    assert (seen.cause, seen.stage, seen.line) == (Cause.DEADLINE, Stage.RUNNING, "benchready x")
    os.write(rig.write, GOOD)
    assert rig.follower(leave_s=0.05).follow().stage is Stage.ENDED


@pytest.mark.parametrize(("unmaps_s", "exits"), [(90.0, True), (math.inf, False)])
def test_a_process_whose_console_is_closed_may_take_long_to_end(
    rig: Rig, unmaps_s: float, *, exits: bool
) -> None:
    """It takes so long on a host with a load of 60. No time passes here."""
    os.write(rig.write, GOOD)
    rig.close_output()
    rig.child.unmaps_s = unmaps_s
    follower = rig.follower(leave_s=30.0)
    assert follower.await_exit(follower.follow()) is exits


def test_without_a_ready_pattern_the_deadline_is_the_sum_of_both(rig: Rig) -> None:
    seen = rig.follower(Watch(ends=(b"never",)), boot_s=0.05, run_s=0.05).follow()
    assert (seen.cause, seen.stage) == (Cause.DEADLINE, Stage.RUNNING)
    assert rig.moments == ["ready"]


def test_watching_stops_when_the_program_ended_although_the_pipe_is_open(rig: Rig) -> None:
    rig.child.ended = True
    assert rig.follower().follow().cause is Cause.CLOSED


def test_the_log_stops_at_its_bound(tmp_path: Path) -> None:
    rig = Rig(tmp_path, bound=100)
    try:
        os.write(rig.write, b"z" * 5000)
        seen = rig.follower().follow()
        assert (seen.cause, seen.stage) == (Cause.FLOOD, Stage.BOOTING)
        assert rig.kept.getvalue() == b"z" * 100
        with pytest.raises(FloodError):
            rig.log.write(b"more")
    finally:
        rig.close()


def test_a_guest_that_never_stops_printing_after_its_result_is_stopped(rig: Rig) -> None:
    """Each line differs from all before, so nothing is repeated."""
    lines = b"".join(b"try %d\n" % n for n in range(4000))
    cut = [lines[at : at + 1000] for at in range(0, 20_000, 1000)]
    console = rig.console = CutConsole(rig, [lines, b"took 7 ns\n", *cut])
    follower = rig.follower(Watch(result=rb"\ntook [^\n]*\n"), rest_bytes=10_000)
    seen = follower.follow()
    assert seen.cause is Cause.FLOOD
    assert len(console._pieces) == 9, "it reads no more than the bound and one piece"
    assert (
        "more than 10000 bytes of output after its result, and not its end" in follower.judge(seen, None)[1]
    )


def test_what_is_printed_before_the_result_and_little_after_it_ends_nothing(rig: Rig) -> None:
    lines = b"".join(b"try %d\n" % n for n in range(4000))
    rig.console = CutConsole(rig, [lines, b"took 7 ns\n", lines[:9000]])
    follower = rig.follower(Watch(result=rb"\ntook [^\n]*\n"), rest_bytes=10_000)
    assert follower.follow().cause is Cause.CLOSED


def test_sent_bytes_arrive_and_a_guest_that_does_not_read_causes_a_timeout(rig: Rig) -> None:
    assert rig.console.sendline("uptime") == 7
    assert os.read(rig.input_read, 100) == b"uptime\n"
    os.set_blocking(rig.input_write, False)
    rig.console.timeout = 0.05
    with pytest.raises(pexpect.TIMEOUT, match="read only"):
        rig.console.send(b"x" * 5_000_000)


def test_has_output_is_false_at_the_end_of_the_console(rig: Rig) -> None:
    assert not rig.console.has_output()
    os.write(rig.write, b"x")
    assert rig.console.has_output()
    assert os.read(rig.read, 9) == b"x"
    rig.close_output()
    assert not rig.console.has_output()


def test_the_last_line_skips_blank_lines(rig: Rig) -> None:
    rig.log.write(b"first\r\nsecond\r\n\r\n  \n")
    assert rig.log.last_line == b"second\r"


def test_the_complaint_is_the_last_line_on_standard_error(tmp_path: Path) -> None:
    path = tmp_path / "stderr.log"
    path.write_bytes(b"x" * 10_000 + b"\nwarning: a\nqemu: no \x1b[31mmemory\n\n")
    assert complaint(tmp_path) == "qemu: no \\x1b[31mmemory"
    path.write_bytes(b"")
    assert complaint(tmp_path) == ""
