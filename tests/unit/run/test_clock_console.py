"""The console on the instruction clock: the guest runs only while it is read, up to its limits."""

from __future__ import annotations

import io
import os
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field

import pexpect
import pytest

from benchgate.insn.talk import NEVER, Talk, TypingPace, pair
from benchgate.run.clock_console import ClockConsole
from benchgate.run.console import Console, FloodError, SerialLog
from tests.machines import PATIENCE_S

MS = 1_000_000
Turn = tuple[str, bytes, int]
"""How a guest's turn ends: the kind of its stop, what it printed, and how long it ran."""
FOREVER: Turn = ("late", b"", 0)


@dataclass
class Plugin:
    """Stands in for QEMU with the plugin: plays a list of turns, then runs to each limit in silence."""

    end: socket.socket
    output: int
    turns: list[Turn]
    heard: list[str] = field(default_factory=list)
    time: int = 0
    unread: int = 0
    """How many typed bytes the guest has not read, at each stop."""
    printed: int = 0
    released: threading.Event = field(default_factory=threading.Event)
    """Until this is set, a turn of kind `held` does not end; it ends with `quiet`."""

    def play(self) -> None:
        """Plays until its turns are over, or whoever reads it leaves; an unread stop resets the
        connection."""
        with suppress(ConnectionError), self.end, os.fdopen(self.output, "wb", buffering=0) as console:
            self.stop("start")
            while heard := self.end.recv(1 << 16).decode():
                self.heard.append(heard)
                if heard == "free":
                    console.write(b"".join(text for _, text, _ in self.turns))
                    return
                kind, text, ran = self.turns.pop(0) if self.turns else FOREVER
                if kind == "hang":
                    continue
                if kind == "end":
                    console.write(text)
                    return
                self.time = int(heard.split()[2]) if kind in ("late", "halted") else self.time + ran
                console.write(text)
                self.printed += len(text)
                if kind == "held":
                    self.released.wait(PATIENCE_S)
                self.stop("quiet" if kind == "held" else kind)

    def stop(self, kind: str) -> None:
        self.end.send(f"stop {kind} {self.printed} {self.time} {self.unread} 0 1".encode())

    @property
    def limits(self) -> list[int]:
        return [int(heard.split()[2]) for heard in self.heard]

    @property
    def typed(self) -> list[bytes]:
        texts = [heard.split()[4] for heard in self.heard]
        return [b"" if text == "-" else bytes.fromhex(text) for text in texts]


Start = Callable[..., tuple[ClockConsole, Plugin]]


@pytest.fixture
def start() -> Iterator[Start]:
    with ExitStack() as stack:

        def begin(*turns: Turn, bound: int = 1 << 20) -> tuple[ClockConsole, Plugin]:
            read, write = os.pipe()
            ours, theirs = pair()
            plugin = Plugin(theirs, write, list(turns))
            thread = threading.Thread(target=plugin.play)
            stack.callback(os.close, read)
            stack.callback(thread.join, PATIENCE_S)
            stack.enter_context(ours)
            stack.callback(ours.shutdown, socket.SHUT_RDWR)
            thread.start()
            console = Console(read, -1, SerialLog(io.BytesIO(), bound))
            return ClockConsole(console, Talk(ours, TypingPace(quiet_ns=1000, byte_ns=10))), plugin

        yield begin


def test_a_line_is_typed_when_the_guest_next_runs(start: Start) -> None:
    console, plugin = start(("quiet", b"hello\n$ ", 5 * MS), ("quiet", b"ls\na b\n$ ", 7 * MS))
    console.expect_exact("\n$ ")
    assert (console.time_ns, console.is_quiet, len(plugin.heard)) == (5 * MS, True, 1)
    assert console.sendline("ls") == 3
    assert len(plugin.heard) == 1
    console.expect(r"\n(\w+) (\w+)\n")
    assert console.match.groups() == (b"a", b"b")
    assert plugin.typed == [b"", b"ls\n"]
    assert console.time_ns == 12 * MS


PLACE = 2048
"""The plugin holds so many typed bytes for the guest: TALK_BYTES in insn/c/console/talk.h."""


@pytest.mark.parametrize(
    ("unread", "lengths"),
    [(0, [PLACE, 5]), (PLACE - 3, [3, 3]), (PLACE, [0, 0])],
    ids=["the guest has read all", "it has read little", "it has read nothing"],
)
def test_no_more_is_typed_than_the_plugin_holds_and_nothing_is_lost(
    start: Start, unread: int, lengths: list[int]
) -> None:
    console, plugin = start(*[("quiet", b"$ ", 1)] * 4)
    console.expect_exact("$ ")
    plugin.unread = unread
    console.expect_exact("$ ")
    text = bytes(range(256)) * (PLACE // 256) + b"later"
    console.send(text)
    console.expect_exact("$ ")
    console.expect_exact("$ ")
    assert [len(typed) for typed in plugin.typed] == [0, 0, *lengths]
    assert text.startswith(b"".join(plugin.typed))


def test_output_that_was_read_is_searched_before_the_guest_runs_again(start: Start) -> None:
    console, plugin = start(("quiet", b"one two", 1))
    console.expect_exact("one")
    console.expect_exact("two")
    assert len(plugin.heard) == 1


def test_a_quiet_moment_is_not_missed_if_the_output_was_read_before_it(start: Start) -> None:
    """A busy host may read the prompt first and learn later that nothing follows it. Only then may it
    type."""
    console, plugin = start(("held", b"$ ", 5 * MS))
    data = b""
    while not data:
        with suppress(pexpect.TIMEOUT):
            data = console.read_nonblocking(100, 0.01)
    assert (data, console.is_quiet) == (b"$ ", False)
    plugin.released.set()
    console.limit_ns = 9 * MS
    with pytest.raises(pexpect.TIMEOUT):
        console.read_nonblocking(100, PATIENCE_S)
    assert (console.is_quiet, console.time_ns, len(plugin.heard)) == (True, 5 * MS, 1)
    with pytest.raises(pexpect.TIMEOUT, match="the guest's time is 9000000 ns"):
        console.read_nonblocking(100, PATIENCE_S)


def test_timeouts_are_guest_time(start: Start) -> None:
    console, plugin = start(("quiet", b"x", 100 * MS), ("quiet", b"y", 300 * MS))
    with pytest.raises(pexpect.TIMEOUT, match="the guest's time is 2000000000 ns"):
        console.expect_exact("never", timeout=2)
    assert plugin.limits[0] == 100 * MS  # it is looked at before, because it may print for ever
    assert plugin.limits[-1] == 2000 * MS
    assert max(plugin.limits) == 2000 * MS
    assert len(plugin.limits) < 12
    assert console.expect_exact([pexpect.TIMEOUT, "z"], timeout=0.5) == 0
    assert console.time_ns == 2500 * MS


def test_a_halted_guest_is_named(start: Start) -> None:
    console, _ = start(*[("halted", b"", 0)] * 9)
    with pytest.raises(pexpect.TIMEOUT, match="may wait for input that never comes"):
        console.expect_exact("never", timeout=3)


def test_a_run_has_a_limit_of_its_own(start: Start) -> None:
    console, plugin = start(("quiet", b"a", 1), ("halted", b"", 0))
    console.limit_ns = 50 * MS
    assert console.read_nonblocking(100, PATIENCE_S) == b"a"
    assert (console.is_late, console.is_halted) == (False, False)
    with pytest.raises(pexpect.TIMEOUT):
        console.read_nonblocking(100, PATIENCE_S)
    assert (console.is_late, console.is_halted, console.is_quiet) == (True, True, False)
    assert plugin.limits == [50 * MS, 50 * MS]
    console.limit_ns = NEVER
    assert not console.is_late


def test_a_read_waits_for_the_host_only_so_long(start: Start) -> None:
    console, plugin = start(("hang", b"", 0))
    for _ in range(2):
        with pytest.raises(pexpect.TIMEOUT):
            console.read_nonblocking(100, 0.01)
        assert not console.is_quiet
    assert len(plugin.heard) == 1  # it was told to run only once


def test_time_does_not_run_away_with_a_guest_that_does_nothing(start: Start) -> None:
    console, _ = start(*[FOREVER] * 100, ("quiet", b"x", 1))
    console.expect_exact("x", timeout=None)
    assert console.time_ns < 1000 * 1000 * MS


def test_the_last_output_is_read_before_the_end(start: Start) -> None:
    console, _ = start(("quiet", b"a", 1), ("end", b"halts\n", 1))
    console.expect(pexpect.EOF)
    assert console.before.endswith(b"ahalts\n")
    with pytest.raises(pexpect.EOF):
        console.read_nonblocking(1, PATIENCE_S)


def test_a_free_guest_is_read_to_its_end(start: Start) -> None:
    console, plugin = start(("quiet", b"a", 1), ("quiet", b"bc", 1))
    console.expect_exact("a")
    console.free()
    console.expect(pexpect.EOF)
    assert (console.before, plugin.heard[-1]) == (b"bc", "free")


def test_a_flood_is_noticed(start: Start) -> None:
    console, _ = start(("quiet", b"x" * 100, 1), bound=99)
    with pytest.raises(FloodError):
        console.expect_exact("y")


def test_equal_guests_are_read_in_equal_pieces(start: Start) -> None:
    """However the host cuts the pipe."""
    text = re.sub(rb"x{7}", b"x\n", b"x" * 5000)
    result = []
    for _ in range(2):
        console, _ = start(("quiet", text, 1), ("quiet", b"$ ", 1))
        console.expect_exact("$ ")
        result.append((console.before, console.time_ns))
    assert result[0] == result[1]
