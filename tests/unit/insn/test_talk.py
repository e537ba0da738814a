"""Our end of the talk with the clock: what is sent, what is understood, and what is refused."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from benchgate.base.errors import UsageError, VerifyError
from benchgate.insn.talk import MOST_TYPED, EndOfTalk, GuestStop, StopKind, Talk, TypingPace, pair


@pytest.fixture
def ends() -> Iterator[tuple[Talk, socket.socket]]:
    ours, theirs = pair()
    with ours, theirs:
        yield Talk(ours, TypingPace(quiet_ns=700, byte_ns=50)), theirs


def test_a_stop_is_read_and_answered(ends: tuple[Talk, socket.socket]) -> None:
    talk, plugin = ends
    plugin.send(b"stop quiet 34 26484567 2 0 11")
    assert talk.stop() == GuestStop(StopKind.QUIET, 34, 26484567, 2)
    plugin.send(b"stop late 34 26490000 0 1 0101")
    assert talk.stop() == GuestStop(StopKind.LATE, 34, 26490000, 0, rests=True, unstarted=(0, 2))
    talk.run(9000, b"ls\n")
    assert plugin.recv(100) == b"go 700 9000 50 6c730a"
    talk.run(2**70)
    assert plugin.recv(100) == b"go 700 18446744073709551615 50 -"
    for answer, message in ((talk.free, b"free"), (talk.pause, b"pause"), (talk.begin, b"begin")):
        answer()
        assert plugin.recv(100) == message


def test_more_bytes_than_the_plugin_holds_are_refused(ends: tuple[Talk, socket.socket]) -> None:
    talk, plugin = ends
    talk.run(1, b"x" * MOST_TYPED)
    assert len(plugin.recv(1 << 16)) == len("go 700 1 50 ") + 2 * MOST_TYPED
    with pytest.raises(UsageError, match="2049 bytes are too many"):
        talk.run(1, b"x" * (MOST_TYPED + 1))


@pytest.mark.parametrize(
    "message",
    [
        b"go",
        b"stop",
        b"stop loud 1 2 3 0 1",
        b"stop quiet 1 2 3 0",
        b"stop quiet 1 -2 3 0 1",
        b"stop quiet 1 2 3 2 1",
        b"stop quiet 1 2 3 0 1 1",
        b"stop quiet 1 2 3 0 12",
        b"stop quiet 1 2 3 0 " + b"1" * 257,
        b"stop quiet 1 2 3 0 1\n",
        b"stop quiet " + b"9" * 19 + b" 2 3 0 1",
    ],
)
def test_another_message_is_refused(message: bytes, ends: tuple[Talk, socket.socket]) -> None:
    talk, plugin = ends
    plugin.send(message)
    with pytest.raises(VerifyError, match="where it stops the guest"):
        talk.stop()


def test_the_end_of_qemu_ends_the_talk(ends: tuple[Talk, socket.socket]) -> None:
    talk, plugin = ends
    plugin.close()
    with pytest.raises(EndOfTalk):
        talk.stop()
    with pytest.raises(EndOfTalk):
        talk.run(1)
    with pytest.raises(EndOfTalk):
        talk.free()
