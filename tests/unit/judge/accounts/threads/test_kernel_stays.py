"""CPUs that were held in the kernel: figures of small schedules, by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.base.errors import VerifyError
from benchgate.insn.threads_log import read_thread_events
from benchgate.judge.accounts.threads.accounting import conserved, thread_books
from benchgate.judge.accounts.threads.books import HeldStretch, ThreadBooks
from benchgate.judge.checks.thread_record import thread_metrics

HEAD = """insn-threads 3
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


def test_the_stay_of_another_thread_or_of_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(VerifyError, match=r"threads\.txt:10: .*longer than it has had thread 10"):
        books_of(tmp_path, TWO + "stay 1 2000 901\n")
    with pytest.raises(VerifyError, match="longer than it has had the idle thread"):
        books_of(tmp_path, "stay 1 2000 100\n")


def test_earlier_versions_recorded_no_stays(tmp_path: Path) -> None:
    books = books_of(tmp_path, TWO, HEAD.replace("threads 3", "threads 2"))
    assert not books.has_stays
    assert "held" not in thread_metrics(books)
    assert thread_metrics(books_of(tmp_path, TWO))["held"] == 0
