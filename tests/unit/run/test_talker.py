"""A script is typed into a guest in wall time; here a thread plays the guest behind two pipes."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from benchgate.base.runs import Ending
from benchgate.base.system.script import Script, ScriptStep
from benchgate.run.clock_console import ClockConsole
from benchgate.run.ending import Cause, Observation
from benchgate.run.follower import Follower
from benchgate.run.talker import Talker
from benchgate.run.watch import Watch
from tests.unit.run.test_console import Rig

PROMPT = r"^\$ $"
SCRIPT = Script(
    PROMPT,
    (
        ScriptStep("cpus", PROMPT, captures=(r"^up: (?P<n>\d+)$",), deadline_s=600),
        ScriptStep("go 7", PROMPT, expect="^done$", deadline_s=600),
    ),
    byte_ns=1000,
)
ANSWERS = {b"cpus\n": b"up: 2\r\n$ ", b"go 7\n": b"sum=28\r\ndone\r\n"}
KILLED = Watch(kill_after_end=True)


@dataclass
class PlayedGuest(threading.Thread):
    """Prints a boot log and a prompt, echoes each byte by `echo`, and answers each line that it got."""

    rig: Rig
    boot: bytes = b"boot\r\n$ "
    echo: Callable[[bytes], bytes] = lambda byte: byte.replace(b"\n", b"\r\n")
    closes: bool = False

    def __post_init__(self) -> None:
        super().__init__(daemon=True)

    def __hash__(self) -> int:
        return id(self)

    def run(self) -> None:
        os.write(self.rig.write, self.boot)
        for answer in ANSWERS.values():
            line = b""
            while not line.endswith(b"\n"):
                byte = os.read(self.rig.input_read, 1)
                if not byte:
                    return
                line += byte
                os.write(self.rig.write, self.echo(byte))
            os.write(self.rig.write, ANSWERS.get(line, answer))
        if self.closes:
            self.rig.close_output()


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    rig = Rig(tmp_path)
    yield rig
    os.close(rig.input_write)  # ends a guest that still reads
    rig.input_write = -1
    for thread in threading.enumerate():
        if isinstance(thread, PlayedGuest):
            thread.join()
    rig.close()


def follower(rig: Rig, script: Script = SCRIPT, watch: Watch = KILLED, boot_s: float = 600) -> Follower:
    result = rig.follower(watch, boot_s=boot_s)
    result.talker = Talker(script, rig.console)
    result.__post_init__()
    return result


def followed(
    guest: PlayedGuest, script: Script = SCRIPT, watch: Watch = KILLED
) -> tuple[Follower, Observation]:
    result = follower(guest.rig, script, watch)
    guest.start()
    return result, result.follow()


def test_a_script_is_typed_and_the_run_ends_with_its_last_answer(rig: Rig) -> None:
    result, seen = followed(PlayedGuest(rig))
    assert seen.cause is Cause.FINISHED
    assert rig.moments == ["ready", "end"]
    assert result.talker is not None
    assert [(line.at, line.text) for line in result.talker.record] == [(8, b"cpus\n"), (23, b"go 7\n")]
    assert rig.kept.getvalue() == b"boot\r\n$ cpus\r\nup: 2\r\n$ go 7\r\nsum=28\r\ndone\r\n"


def test_lost_input_ends_the_run_and_is_named(rig: Rig) -> None:
    lossy = PlayedGuest(rig, echo=lambda byte: b"" if byte == b"u" else byte)
    result, seen = followed(lossy)
    assert seen.cause is Cause.LOST
    ending, detail = result.judge(seen, None)
    assert ending is Ending.FAILED
    assert "step 1, `cpus`: the guest echoed `cps`: " in detail


def test_a_prompt_that_is_followed_by_more_is_not_answered(rig: Rig) -> None:
    result = follower(rig, boot_s=0.2)
    os.write(rig.write, b"$ a driver is late\r\n")
    seen = result.follow()
    ending, detail = result.judge(seen, None)
    assert ending is Ending.BOOT_DEADLINE
    assert "before the first step: the prompt `^\\$ $` " in detail
    assert "more follows it in the line `$ a driver is late`" in detail
    assert result.talker is not None
    assert not result.talker.record


def test_a_command_that_is_never_answered_is_past_its_deadline(rig: Rig) -> None:
    """An exploration calls it a hang, as it does without a prompt."""
    patient = replace(SCRIPT, steps=(replace(SCRIPT.steps[0], deadline_s=0.2),))
    result = follower(rig, patient)
    os.write(rig.write, b"$ ")
    seen = result.follow()
    assert seen.cause is Cause.UNANSWERED
    ending, detail = result.judge(seen, None)
    assert ending is Ending.RUN_DEADLINE
    assert "at its prompt, step 1, `cpus`: " in detail
    assert "and its time is over" in detail


def test_a_guest_that_ends_before_its_script_did_not_end_well(rig: Rig) -> None:
    """Its exit status says nothing of the conversation."""
    script = Script(PROMPT, (*SCRIPT.steps, ScriptStep("halt", PROMPT)), byte_ns=1000)
    result, seen = followed(PlayedGuest(rig, closes=True), script, Watch())
    assert seen.cause is Cause.CLOSED
    ending, detail = result.judge(seen, 0)
    assert ending is Ending.EOF
    assert "before its conversation was over: step 2, `go 7`: the prompt" in detail


def test_an_end_pattern_counts_when_the_conversation_is_over(rig: Rig) -> None:
    """A boot log may have the line of a result."""
    early = PlayedGuest(rig, boot=b"sum=28\r\n$ ")
    result, seen = followed(early, watch=Watch(kill_after_end=True, ends=(rb"\nsum=[0-9]+\n",)))
    assert seen.cause is Cause.FINISHED
    assert result.talker is not None
    assert len(result.talker.record) == 2


class Listener:
    """A console on which nothing is printed but by the test."""

    def __init__(self) -> None:
        self.listener: Callable[[bytes], None] = lambda _: None
        self.typed = b""

    def send(self, data: bytes) -> int:
        self.typed += data
        return len(data)


class StoppedConsole(ClockConsole):
    """A console on the instruction clock; the guest is quiet when the test says so."""

    def __init__(self) -> None:
        self.listener: Callable[[bytes], None] = lambda _: None
        self.stands_quietly = False
        self._typed = b""

    @property
    def is_quiet(self) -> bool:
        return self.stands_quietly

    @property
    def time_ns(self) -> int:
        return 7_000


def test_on_the_instruction_clock_a_line_is_typed_only_when_the_guest_is_quiet() -> None:
    """However long the host waits: what follows a prompt may be on its way still."""
    now, console = [100.0], StoppedConsole()
    talker = Talker(Script(PROMPT, (ScriptStep("go", PROMPT),)), console, lambda: now[0])
    console.listener(b"$ ")
    now[0] += 1000
    assert (talker.tick(), console._typed, talker.record) == (False, b"", ())
    console.stands_quietly = True
    assert (talker.tick(), console._typed) == (True, b"go\n")
    assert [(line.at, line.time, line.text) for line in talker.record] == [(2, 7_000, b"go\n")]


def test_a_prompt_must_settle_and_bytes_are_paced() -> None:
    """The test turns the clock: a prompt takes 0.05 s at least, then a byte comes every 2 s."""
    now, console = [100.0], Listener()
    script = Script(PROMPT, (ScriptStep("go", PROMPT),), delay_ns=1, byte_ns=2_000_000_000)
    talker = Talker(script, console, lambda: now[0])  # type: ignore[arg-type]
    console.listener(b"$ ")
    now[0] += 0.03
    assert (talker.tick(), console.typed) == (False, b"")
    now[0] += 0.03
    assert talker.tick()
    for expected in (b"g", b"go", b"go\n"):
        talker.tick()
        assert console.typed == expected
        now[0] += 1
        talker.tick()
        assert console.typed == expected
        now[0] += 1.1
