"""CPUs that were held in the kernel: figures of small schedules, by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.base.errors import VerifyError
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
END = "close 1001000\nend 1100000\n"


def books_of(folder: Path, events: str, head: str = HEAD) -> ThreadBooks:
    path = folder / "threads.txt"
    path.write_text(head + events + END, encoding="ascii")
    return thread_books(read_thread_events(path))


def test_what_exceeds_50_us_of_a_stay_is_held_while_a_thread_waits(tmp_path: Path) -> None:
    books = books_of(
        tmp_path, TWO + "stay 1 400000 300000\nswitch 1 500000 10 b 11 -\nstay 1 900000 390000\n"
    )
    assert books.held == (HeldStretch(1, 150_000, 400_000, 10, 300_000, (11,)),)
    assert conserved(books).held == 250_000
    assert thread_metrics(books)["held"] == 250_000 / 2_000_000


@pytest.mark.parametrize(
    ("events", "held"),
    [
        (TWO + "stay 1 61100 50000\n", []),
        (TWO + "stay 1 61100 50001\n", [(61_099, 61_100, (11,))]),
        # until the one that waits runs on the other CPU
        (
            TWO + "switch 0 201200 1 b 0 -\nmigrate 0 201200 11 1 0\nswitch 0 201200 0 r 11 -\n"
            "stay 1 401100 400000\n",
            [(51_100, 201_200, (11,))],
        ),
        # before the window and behind its end
        (TWO + "stay 1 1090000 200000\n", [(940_000, 1_001_000, (11,))]),
        # nobody may run there
        ("allow 0 1050 11 1\n" + TWO.replace("11 1 - -", "11 0 - -") + "stay 1 401100 400000\n", []),
        # two that wait, one behind the other, and then two at once
        (
            TWO
            + "switch 0 201200 1 r 11 -\nswitch 0 301200 11 b 1 -\nwake 0 311200 11 1 - -\n"
            + "wake 0 312200 12 1 - -\nstay 1 401100 400000\n",
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
    often = "".join(f"interrupt 1 {50_000 * n} 40000\n" for n in range(1, 11))
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
    """The last one: each second microsecond. 1000 + 65 * 750 ns of 50,000 are used by 66, so 500 ns of the next one are
    not free, and 750 of each of the other 33."""
    lines = "".join(f"interrupt 1 {end} {length}\n" for end, length in interruptions)
    assert conserved(books_of(tmp_path, TWO + lines)).held == held


def test_interruptions_of_two_cpus_are_counted_apart(tmp_path: Path) -> None:
    lines = "interrupt 0 50000 40000\ninterrupt 1 50000 40000\n"
    assert books_of(tmp_path, TWO + lines).held == ()


def test_the_stay_of_another_thread_or_of_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(VerifyError, match=r"threads\.txt:10: .*longer than it has had thread 10"):
        books_of(tmp_path, TWO + "stay 1 2000 901\n")
    with pytest.raises(VerifyError, match="longer than it has had the idle thread"):
        books_of(tmp_path, "stay 1 2000 100\n")


def test_earlier_versions_recorded_no_stays(tmp_path: Path) -> None:
    books = books_of(tmp_path, TWO, HEAD.replace("threads 4", "threads 2"))
    assert not books.has_stays
    assert "held" not in thread_metrics(books)
    assert thread_metrics(books_of(tmp_path, TWO))["held"] == 0
