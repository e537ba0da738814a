"""CPUs that were held in the kernel: figures of small schedules, by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.errors import VerifyError
from benchgate.insn.log import ClockMark, MarkKind
from benchgate.insn.threads_log import read_thread_events
from benchgate.judge.accounts.threads.accounting import conserved, thread_books
from benchgate.judge.accounts.threads.books import HeldStretch, ThreadBooks
from benchgate.judge.checks.thread_record import thread_metrics

HEAD = """insn-threads 4
vcpus 2
fork 0 100 10 1 61
fork 0 100 11 1 62
fork 0 100 12 1 63
open 1000
"""
TWO = "wake 0 1100 10 1 - -\nswitch 1 1100 0 r 10 -\nwake 0 1200 11 1 - -\n"
"""Thread 10 runs on CPU 1, and 11 waits there from 1200 on."""


def stay(cpu: int, end: int, length: int, *, spun: int = 0, count: int = 1, kind: str = "stay") -> str:
    return f"{kind} {cpu} {end} {length} {spun} {count}\n"


END = "close 1001000\nend 1100000\n"


def books_of(folder: Path, events: str, head: str = HEAD) -> ThreadBooks:
    path = folder / "threads.txt"
    path.write_text(head + events + END, encoding="ascii")
    return thread_books(read_thread_events(path))


def test_what_exceeds_50_us_of_a_stay_is_held_while_a_thread_waits(tmp_path: Path) -> None:
    books = books_of(
        tmp_path, TWO + stay(1, 400_000, 300_000) + "switch 1 500000 10 b 11 -\n" + stay(1, 900_000, 390_000)
    )
    assert books.held == (HeldStretch(1, 150_000, 400_000, 10, 300_000, (11,)),)
    assert conserved(books).held == 250_000
    assert thread_metrics(books)["held"] == 250_000 / 2_000_000


@pytest.mark.parametrize(
    ("events", "held"),
    [
        (TWO + stay(1, 61100, 50000), []),
        (TWO + stay(1, 61100, 50001), [(61_099, 61_100, (11,))]),
        # until the one that waits runs on the other CPU
        (
            TWO + "switch 0 201200 1 b 0 -\nmigrate 0 201200 11 1 0\nswitch 0 201200 0 r 11 -\n"
            + stay(1, 401_100, 400_000),
            [(51_100, 201_200, (11,))],
        ),
        # before the window and behind its end
        (TWO + stay(1, 1090000, 200000), [(940_000, 1_001_000, (11,))]),
        # nobody may run there
        ("allow 0 1050 11 1\n" + TWO.replace("11 1 - -", "11 0 - -") + stay(1, 401_100, 400_000), []),
        # two that wait, one behind the other, and then two at once
        (
            TWO
            + "switch 0 201200 1 r 11 -\nswitch 0 301200 11 b 1 -\nwake 0 311200 11 1 - -\n"
            + "wake 0 312200 12 1 - -\n"
            + stay(1, 401_100, 400_000),
            [(51_100, 301_200, (11, 1)), (311_200, 401_100, (11, 12))],
        ),
    ],
)  # fmt: skip
def test_only_while_somebody_waits_who_may_run_there(
    tmp_path: Path, events: str, held: list[tuple[int, int, tuple[int, ...]]]
) -> None:
    books = books_of(tmp_path, events)
    assert [(stretch.begin, stretch.end, stretch.threads) for stretch in books.held] == held


def test_interruptions_are_judged_in_sum(tmp_path: Path) -> None:
    """40 us of each 50: the first one is free, and of the second one what the 10 us of its program gave back,
    beside the 10 us that were left. From then on 40 - 2.5 us of each."""
    often = "".join(stay(1, 50_000 * n, 40_000, kind="interrupt") for n in range(1, 11))
    books = books_of(tmp_path, TWO + often)
    assert [(stretch.begin, stretch.end) for stretch in books.held][:2] == [
        (72_500, 100_000), (112_500, 150_000)
    ]  # fmt: skip
    assert conserved(books).held == 27_500 + 8 * 37_500
    assert books_of(tmp_path, TWO + often.replace("interrupt", "stay")).held == ()


@pytest.mark.parametrize(
    ("interruptions", "held"),
    [
        ([(n * 12_000 + 2000, 2000) for n in range(1, 50)], 0),  # a fifth of the time is given back
        ([(301_100, 300_000)], 250_000),  # one alone, as any other stay
        ([(n * 2000 + 2000, 1000) for n in range(1, 101)], 25_250),  # each one is short
    ],
)
def test_what_is_free_of_interruptions(
    tmp_path: Path, interruptions: list[tuple[int, int]], held: int
) -> None:
    """The last one: each second microsecond. 1000 + 65 * 750 ns of 50,000 are used by 66, so 500 ns of the
    next one are not free, and 750 of each of the other 33."""
    lines = "".join(stay(1, end, length, kind="interrupt") for end, length in interruptions)
    assert conserved(books_of(tmp_path, TWO + lines)).held == held


def test_interruptions_of_two_cpus_are_counted_apart(tmp_path: Path) -> None:
    lines = stay(0, 50_000, 40_000, kind="interrupt") + stay(1, 50_000, 40_000, kind="interrupt")
    assert books_of(tmp_path, TWO + lines).held == ()


@pytest.mark.parametrize(
    ("lines", "held"),
    [
        (stay(1, 41_200, 40_000, spun=40_000), 40_000),
        (stay(1, 41_200, 40_000, spun=15_000), 15_000),
        (stay(1, 101_200, 100_000, spun=30_000), 50_000),  # what exceeds what is free is more
        (stay(1, 101_200, 100_000, spun=80_000), 80_000),
        (stay(1, 41_200, 40_000, spun=15_000, kind="interrupt"), 15_000),
    ],
)
def test_what_a_stay_spun_is_not_free(tmp_path: Path, lines: str, held: int) -> None:
    assert conserved(books_of(tmp_path, TWO + lines)).held == held


def often(length: int, *, every: int = 1) -> str:
    """100 calls, each 2 us after the last one; one in `every` is long enough to be told."""
    return "".join(stay(1, 9_000 * n + length, length, count=n) for n in range(1, 101) if n % every == 0)


@pytest.mark.parametrize(
    ("lines", "held"),
    [
        (often(11_000 - 4_000), 0),
        ("".join(stay(1, 20_000 * n, 12_000, count=n) for n in range(1, 21)), 20 * 2_000),
        ("".join(stay(1, 20_000 * n, 12_000, count=n) for n in range(1, 20)), 0),  # too few to say
        ("".join(stay(1, 20_000 * n, 12_000, count=2 * n) for n in range(1, 40)), 39 * 2_000),  # of 77
        ("".join(stay(1, 20_000 * n, 12_000, count=2 * n) for n in range(1, 40) if n != 20), 0),  # 38 of 77
        ("".join(stay(1, 20_000 * n, 12_000, spun=2_001, count=n) for n in range(1, 21)), 20 * 2_001),
    ],
)
def test_where_most_calls_take_long_less_of_each_is_free(tmp_path: Path, lines: str, held: int) -> None:
    assert conserved(books_of(tmp_path, TWO + lines)).held == held


def test_an_exit_is_free_but_for_what_it_spun(tmp_path: Path) -> None:
    exits = TWO + "exit 1 5000 10\n"
    assert conserved(books_of(tmp_path, exits + stay(1, 301_200, 300_000))).held == 0
    assert conserved(books_of(tmp_path, exits + stay(1, 301_200, 300_000, spun=7))).held == 7
    before = TWO.replace("1200", "1100") + "exit 1 1150 10\n" + stay(1, 301_200, 300_000)
    assert conserved(books_of(tmp_path, before)).held == 250_000  # the exit was not in this stay


MARKS = (ClockMark(MarkKind.WORK_BEGIN, 1, 201_000), ClockMark(MarkKind.WORK_END, 1, 301_000))


def test_only_what_is_held_during_the_work_counts(tmp_path: Path) -> None:
    """100 us of 2 CPUs; earlier versions took the whole window. All of it is told, with its times."""
    path = tmp_path / "threads.txt"
    path.write_text(HEAD + TWO + stay(1, 241_200, 240_000) + END, encoding="ascii")
    events = read_thread_events(path)
    books = thread_books(events, MARKS)
    assert [(stretch.begin, stretch.end) for stretch in books.held] == [(51_200, 241_200)]
    assert thread_metrics(books)["held"] == 40_200 / 200_000
    earlier = thread_books(replace(events, has_interruptions=False), MARKS)
    assert thread_metrics(earlier)["held"] == 190_000 / 2_000_000


def test_the_stay_of_another_thread_or_of_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(VerifyError, match=r"threads\.txt:10: .*longer than it has had thread 10"):
        books_of(tmp_path, TWO + stay(1, 2000, 901))
    with pytest.raises(VerifyError, match="spun for longer than it was in the kernel"):
        books_of(tmp_path, TWO + stay(1, 2_000, 100, spun=101))
    with pytest.raises(VerifyError, match="longer than it has had the idle thread"):
        books_of(tmp_path, stay(1, 2_000, 100))


def test_earlier_versions_recorded_no_stays(tmp_path: Path) -> None:
    books = books_of(tmp_path, TWO, HEAD.replace("threads 4", "threads 2"))
    assert not books.has_stays
    assert "held" not in thread_metrics(books)
    assert thread_metrics(books_of(tmp_path, TWO))["held"] == 0
