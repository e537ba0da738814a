"""talk.c decides when the guest stops for whoever types, and when typed bytes arrive."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

from tests.unit.insn.c.native import NEVER, load

STOPPED, PAUSED, RUNS, FREE = 1, 2, 3, 4
NONE, START, QUIET, FULL, LATE = range(5)
MOST, PRINTED = 2048, 4096


class Talk(ctypes.Structure):
    _fields_ = (
        ("state", ctypes.c_int),
        ("kind", ctypes.c_int),
        ("quiet", ctypes.c_uint64),
        ("limit", ctypes.c_uint64),
        ("pace", ctypes.c_uint64),
        ("since", ctypes.c_uint64),
        ("heard", ctypes.c_uint64),
        ("news", ctypes.c_bool),
        ("waiting", ctypes.c_size_t),
        ("next_byte", ctypes.c_uint64),
        ("bytes", ctypes.c_uint8 * MOST),
    )


class Conversation:
    """One talk, with the console that it looks at."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.library, self.talk, self.console = library, Talk(), 0
        self.begin(0, 0)

    def begin(self, printed: int, now: int) -> None:
        self.console = printed
        numbers = ctypes.c_uint64(printed), ctypes.c_uint64(now)
        self.library.talk_begin(ctypes.byref(self.talk), *numbers)

    def answer(self, text: str, now: int) -> bool:
        return bool(self.library.talk_answer(ctypes.byref(self.talk), text.encode(), ctypes.c_uint64(now)))

    def prints(self, count: int, at: int) -> None:
        self.console += count
        numbers = ctypes.c_uint64(self.console), ctypes.c_uint64(at)
        self.library.talk_printed(ctypes.byref(self.talk), *numbers)

    @property
    def next(self) -> int:
        return int(self.library.talk_next(ctypes.byref(self.talk), ctypes.c_uint64(self.console)))

    def stop(self, now: int) -> int:
        numbers = ctypes.c_uint64(self.console), ctypes.c_uint64(now)
        return int(self.library.talk_stop(ctypes.byref(self.talk), *numbers))

    def arrivals(self, until: int) -> list[tuple[int, int]]:
        """The bytes that arrive up to a time, each with its time, if the main loop looks whenever it must."""
        result = []
        while (now := self.next) <= until:
            byte = self.library.talk_take(ctypes.byref(self.talk), ctypes.c_uint64(now))
            if byte < 0:
                break
            result.append((byte, now))
        return result


def build(folder: Path, change: tuple[str, str] | None = None) -> ctypes.CDLL:
    library = load(folder, "talk", change=change)
    library.talk_next.restype = ctypes.c_uint64
    library.talk_answer.restype = ctypes.c_bool
    return library


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return build(tmp_path_factory.mktemp("talk"))


@pytest.fixture
def one(library: ctypes.CDLL) -> Conversation:
    return Conversation(library)


def check_quiet(conversation: Conversation) -> None:
    """It prints at 100 and 900, so it is quiet at 1,900, and not before."""
    assert (conversation.talk.state, conversation.talk.kind) == (STOPPED, START)
    assert conversation.answer("go 1000 50000 10 -", 0)
    assert conversation.next == 50000  # a guest that has printed nothing is not quiet
    conversation.prints(1, 100)
    assert conversation.next == 1100
    conversation.prints(4, 900)
    assert conversation.stop(1100) == NONE
    assert conversation.next == 1900
    assert conversation.stop(1900) == QUIET
    assert conversation.talk.state == STOPPED


def check_quiet_once(conversation: Conversation) -> None:
    """After a stop for quiet, only news makes it quiet again."""
    check_quiet(conversation)
    conversation.answer("go 1000 50000 10 -", 1900)
    assert conversation.next == 50000
    assert conversation.stop(40000) == NONE
    assert conversation.stop(50000) == LATE
    conversation.answer("go 1000 90000 10 -", 50000)
    conversation.prints(1, 60000)
    assert conversation.next == 61000


def check_typing(conversation: Conversation) -> None:
    """Three bytes, 200 ns apart; the guest is quiet only after the last, whatever it printed before."""
    check_quiet(conversation)
    assert conversation.answer("go 1000 50000 200 6c730a", 1900)
    assert conversation.stop(1900) == NONE
    assert conversation.arrivals(10_000) == [(ord("l"), 1900), (ord("s"), 2100), (ord("\n"), 2300)]
    assert conversation.next == 3300
    conversation.prints(3, 2350)
    assert conversation.next == 3350
    assert conversation.stop(3350) == QUIET


def check_limit_while_typing(conversation: Conversation) -> None:
    """A limit stops it in the middle of the input, and the rest arrives at its own time."""
    conversation.answer("go 1000 150 100 616263", 0)
    assert conversation.arrivals(150) == [(ord("a"), 0), (ord("b"), 100)]
    assert conversation.stop(150) == LATE
    assert conversation.talk.waiting == 1
    assert conversation.arrivals(NEVER) == []  # while it is stopped nothing arrives
    conversation.answer("go 1000 900 100 64", 150)
    assert conversation.arrivals(900) == [(ord("c"), 200), (ord("d"), 300)]


def check_free(conversation: Conversation) -> None:
    conversation.answer("go 1000 150 100 6161", 0)
    conversation.arrivals(0)
    conversation.prints(1, 120)
    conversation.stop(150)
    assert conversation.answer("free", 150)
    assert (conversation.talk.state, conversation.arrivals(NEVER - 1)) == (FREE, [(ord("a"), 100)])
    assert (conversation.next, conversation.stop(10**9)) == (NEVER, NONE)


def check_full(conversation: Conversation) -> None:
    """A guest that never falls silent is stopped, too; then it may print as much again."""
    conversation.answer("go 1000 50000 10 -", 0)
    conversation.prints(PRINTED - 1, 300)
    assert (conversation.next, conversation.stop(300)) == (1300, NONE)
    conversation.prints(1, 310)
    assert (conversation.next, conversation.stop(310)) == (310, FULL)
    conversation.answer("go 1000 50000 10 -", 310)
    assert (conversation.next, conversation.stop(310)) == (50000, NONE)


def check_pause(conversation: Conversation) -> None:
    """A paused guest gets no byte; it stands at the same stop when it begins again (typist.c sets that)."""
    conversation.answer("go 1000 150 100 6161", 0)
    conversation.arrivals(0)
    assert conversation.stop(150) == LATE
    assert conversation.answer("pause", 150)
    assert (conversation.talk.state, conversation.talk.kind, conversation.arrivals(NEVER)) == (
        PAUSED,
        LATE,
        [],
    )
    conversation.talk.state = STOPPED
    assert conversation.answer("go 1000 900 100 -", 150)
    assert conversation.arrivals(900) == [(ord("a"), 100)]


def check_restored(conversation: Conversation) -> None:
    """A guest from a snapshot is quiet where it begins, once, and may print as much as another one."""
    conversation.begin(70, 9000)
    assert (conversation.talk.state, conversation.talk.kind) == (STOPPED, QUIET)
    assert conversation.answer("go 1000 50000 200 6c73", 9000)
    assert conversation.stop(9000) == NONE
    assert conversation.arrivals(20_000) == [(ord("l"), 9000), (ord("s"), 9200)]
    assert conversation.next == 10_200
    conversation.begin(70, 9000)
    conversation.answer("go 1000 50000 10 -", 9000)
    assert conversation.next == 50000
    conversation.prints(PRINTED - 1, 9100)
    assert conversation.stop(9100) == NONE
    conversation.prints(1, 9200)
    assert conversation.stop(9200) == FULL


CHECKS = (
    check_full,
    check_quiet,
    check_quiet_once,
    check_typing,
    check_limit_while_typing,
    check_free,
    check_pause,
    check_restored,
)


@pytest.mark.parametrize("check", CHECKS)
def test_it_stops_and_types_on_time(check: object, one: Conversation) -> None:
    assert callable(check)
    check(one)


BROKEN = {
    "quiet from the first byte": ("t->since < last", "!t->since"),
    "quiet without news": ("!talk_has_news(t, bytes) ||", ""),
    "quiet for ever after a stop": ("t->heard = bytes;", ""),
    "quiet while bytes wait": ("t->waiting ? t->next_byte : quiet_from", "quiet_from"),
    "no pace": ("t->next_byte += t->pace;", ""),
    "no end of output": (">= TALK_PRINTED", "> TALK_PRINTED"),
    "no limit": ("now >= t->limit", "false"),
    "input while it is stopped": ("t->state == TALK_STOPPED ||", ""),
    "a second line replaces the first": ("if (t->waiting == 0)\n", ""),
    "input is no news": ("t->news = true;", ""),
    "input while it is paused": ("t->state == TALK_PAUSED ||", ""),
    "no pause": ("t->state = TALK_PAUSED;", ""),
    "a restored guest has executed nothing": ("bytes ? TALK_QUIET : TALK_START", "TALK_START"),
    "a restored guest has news": (".heard = bytes,", ""),
    "stops for ever": ("t->state = TALK_FREE;", "t->state = TALK_RUNS;"),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_talk_is_noticed(fault: str, tmp_path: Path) -> None:
    library = build(tmp_path, BROKEN[fault])

    def check_all() -> None:
        for check in CHECKS:
            check(Conversation(library))

    with pytest.raises(AssertionError):
        check_all()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "go",
        "go 1 2 3",
        "go 1 2 -",
        "go 1 2 3 ",
        "go 1 2 3 6",
        "go 1 2 3 6x",
        "go 1 2 3 6A",
        "go -1 2 3 -",
        "go 1 2 3 " + "00" * (MOST + 1),
        "free now",
        "pause now",
        "begin",
    ],
)
def test_an_invalid_message_is_refused(text: str, one: Conversation) -> None:
    assert not one.answer(text, 0)
    assert (one.talk.state, one.talk.waiting) == (STOPPED, 0)
