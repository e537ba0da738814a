"""The books of threads as text and as JSON, and what reports say of wasted time."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.jsonfields import read
from benchgate.insn.machine_shape import CpuPlace
from benchgate.insn.symbols import NO_SYMBOLS, sorted_symbols
from benchgate.insn.threads_log import read_thread_events
from benchgate.judge.accounts.threads.accounting import thread_books
from benchgate.judge.accounts.threads.books import WastedTime
from benchgate.judge.accounts.threads.wasted_causes import wasted_account
from benchgate.render.files import summary
from benchgate.render.tables import terminal, threads
from benchgate.render.tables.threads import ThreadReport, chain, plain, text, view_of
from tests.unit.factories import scaled_view
from tests.unit.judge.accounts.threads.test_accounting import FILE, MARKS, books_of
from tests.unit.judge.accounts.threads.test_kernel_stays import END, HEAD, TWO, stay
from tests.unit.judge.accounts.threads.test_kernel_stays import MARKS as WORK_MARKS
from tests.unit.render.page.details.test_threads import MEDIAN, SLOWEST

NONE = wasted_account([])

SYMBOLS = sorted_symbols([(0xFF00, 0x20, "try_to_wake_up"), (0xFF20, 0x20, "do\x1bfork")])


def shown(folder: Path, record: str = FILE, most: int = 1, *, phases: bool = False) -> list[str]:
    books = books_of(record, folder, MARKS if phases else ())
    return text(view_of(books, SYMBOLS), books, books.waits[:most], phases=phases)


def test_the_tables_have_every_thread_and_cpu(tmp_path: Path) -> None:
    lines = shown(tmp_path)
    assert lines[0] == "3 of 3 threads ran or waited, on 2 CPUs in 3.000 us"
    rows = [" ".join(line.split()) for line in lines]
    assert "thread id ran waited blocked switches wake-ups preempted moved longest wait" in rows
    assert "work 11 1.600 us 700.0 ns 100.0 ns 1 1 - - 700.0 ns" in rows
    assert "1 1.200 us 1.800 us 1.300 us 1.200 us 3" in rows


def test_columns_that_say_something_are_added(tmp_path: Path) -> None:
    record = FILE.replace("switch 0 2000", "yield 0 1990\nswitch 0 2000")
    books = books_of(record, tmp_path, (), (CpuPlace(0, 0, 0), CpuPlace(1, 1, 1)))
    rows = [" ".join(line.split()) for line in text(view_of(books, SYMBOLS), books, (), phases=False)]
    heads = "thread id ran waited blocked switches wake-ups preempted yields moved to sockets longest wait"
    assert heads in rows
    assert "main 10 1.800 us 1.200 us 0.000 ns 1 - - 1 1 1 1.200 us" in rows


def test_phases_are_told_for_all_and_for_each_thread(tmp_path: Path) -> None:
    rows = [" ".join(line.split()) for line in shown(tmp_path, phases=True)]
    assert "work 1.650 us 2.050 us 1.250 us 1.100 us 1.750 us" in rows
    assert "main 10 work 500.0 ns 1.150 us - 0: 500.0 ns 0: 1.100 us, 1: 50.00 ns" in rows


def test_work_conservation_is_one_sentence_and_the_longest_stretches(tmp_path: Path) -> None:
    lines = shown(tmp_path)
    at = next(number for number, line in enumerate(lines) if line.startswith("wasted:"))
    assert "for 1.300 us (22% of the CPUs' time)" in lines[at]
    assert "2 times, the longest 1.200 us" in lines[at]
    assert (
        "CPU 1 idle while work (11), main (10) waited, from the wake-up by main (10) on CPU 0"
        in lines[at + 1]
    )


def test_what_is_held_is_told_as_the_gate_judges_it(tmp_path: Path) -> None:
    """40.2 us of 190 lie in the work, which has 200 us of CPU time; the stretch is told whole."""
    path = tmp_path / "threads.txt"
    path.write_text(HEAD + TWO + stay(1, 241_200, 240_000) + END, encoding="ascii")
    books = thread_books(read_thread_events(path), WORK_MARKS)
    lines = text(view_of(books, SYMBOLS), books, (), phases=False)
    at = next(number for number, line in enumerate(lines) if line.startswith("held:"))
    assert "40.20 us (during the work, 20% of the CPUs' time)" in lines[at]
    assert "1 time in the window" in lines[at]
    assert lines[at + 1].startswith("  190.0 us at ")


def test_the_chain_of_a_late_thread(tmp_path: Path) -> None:
    record = FILE.replace("wake 0 1300 11 0 2 -", "wake 0 1300 11 0 2 ff10,ff30,99")
    lines = shown(tmp_path, record, most=2)
    at = next(
        number for number, line in enumerate(lines) if line.startswith("work (11) waited 700.0 ns on CPU 0")
    )
    assert [line.split(maxsplit=2)[2] for line in lines[at + 1 : at + 2]] == [
        "main (10) on CPU 0 at 300.0 ns"
    ]
    told = "\n".join(lines[at:])
    assert "try_to_wake_up < do\\x1bfork < 0x99" in told
    for part in ("CPU 0", "main (10) 700.0 ns", "CPU 1 700.0 ns", "main (10) was preempted, or yielded"):
        assert part in told


@pytest.mark.parametrize(
    ("old", "new", "thread", "told"),
    [
        (
            "switch 0 2000",
            "tick 0 1990\nswitch 0 2000",
            11,
            "the tick at 990.0 ns, which preempted main (10)",
        ),
        (
            *("switch 0 2000", "tick 1 1990\nswitch 0 2000", 11),
            "its own wake-up at 300.0 ns, which preempted main (10)",
        ),
        ("switch 0 2000", "yield 0 1990\nswitch 0 2000", 11, "main (10) gave way at 990.0 ns"),
        ("migrate 1", "migrate 1", 10, "CPU 1 took it from CPU 0 at 2.100 us; it was idle"),
        ("migrate 1", "migrate 0", 10, "CPU 0 moved it from CPU 0 at 2.100 us; CPU 1 was idle"),
        ("migrate 1", "migrate 1", 1, "CPU 1 was idle; only the switch took time"),
    ],
)
def test_what_ended_a_wait(old: str, new: str, thread: int, told: str, tmp_path: Path) -> None:
    books = books_of(FILE.replace(old, new), tmp_path)
    (wait,) = (thread_wait for thread_wait in books.waits if thread_wait.thread == thread)
    assert chain(view_of(books, SYMBOLS), wait).links[-1] == ("ended by", told)


@pytest.mark.parametrize(
    ("before", "told"),
    [
        ("tick 0 1990\n", "the tick at 990.0 ns took its CPU"),
        ("yield 0 1990\n", "it gave way at 990.0 ns"),
        ("tick 1 1990\n", "the wake-up of work (11) at 300.0 ns took its CPU"),
        ("", "it was preempted, or yielded"),
    ],
)
def test_how_a_thread_lost_its_cpu(before: str, told: str, tmp_path: Path) -> None:
    books = books_of(FILE.replace("switch 0 2000", f"{before}switch 0 2000"), tmp_path)
    (wait,) = (thread_wait for thread_wait in books.waits if thread_wait.thread == 10)
    assert chain(view_of(books, SYMBOLS), wait).links[0] == ("cause", told)


def test_a_guest_s_names_cannot_control_the_terminal(tmp_path: Path) -> None:
    lines = shown(tmp_path, FILE.replace("776f726b", "1b5b324a"))
    assert "\\x1b[2J (11)" in "\n".join(lines)
    assert not any("\x1b" in line for line in lines)


def test_json_has_the_same_figures_and_named_trails(tmp_path: Path) -> None:
    books = books_of(FILE.replace("11 0 2 -", "11 0 2 ff10,99"), tmp_path, MARKS)
    view = view_of(books, SYMBOLS)
    result = json.loads(json.dumps(plain(view, "0001-primes", books, books.waits, NONE)))
    assert read(ThreadReport, result, "it").threads == books.threads
    assert result["metrics"]["wasted"] == 1300 / 6000
    assert [one["running"] for one in result["threads"]] == [400, 1800, 1600]
    assert result["waits"][1]["wake"]["trail"] == ["0xff10", "0x99"]
    assert result["symbols"] == {"0xff10": "try_to_wake_up"}
    assert result["waits"][0]["wake"] is None
    assert plain(view_of(books, NO_SYMBOLS), "", books, (), NONE)["waits"] == []


def test_json_has_the_words_of_the_terminal(tmp_path: Path) -> None:
    books = books_of(FILE, tmp_path)
    view = view_of(books, SYMBOLS)
    lines = text(view, books, books.waits, phases=False)
    for one in plain(view, "", books, books.waits, NONE)["waits"]:
        at = lines.index(one["told"]["head"]) + 1
        links = one["told"]["links"]
        assert [line.split() for line in lines[at : at + len(links)]] == [
            " ".join(link).split() for link in links
        ]


SOME = WastedTime(time=1_000_000_000, wasted=8_000_000, longest=1_200_000, stretches=9, excused=0)


def test_the_line_of_a_cell_is_of_the_run_that_wasted_most() -> None:
    view = replace(scaled_view(), threads=(MEDIAN, replace(SLOWEST, conserved=SOME)))
    assert threads.sentences(view) == [
        "primes-linux-smp2: wasted 5% in its worst shown run, 0003 (longest 600.0 ns)"
    ]
    assert (
        "primes-linux-smp2: wasted 5% in its worst shown run, 0003 (longest 600.0 ns)\n"
        in terminal.render(view)
    )
    assert (
        "- primes-linux-smp2: wasted 5% in its worst shown run, 0003 (longest 600.0 ns)\n"
        in summary.render(view)
    )


def test_without_a_record_nothing_is_said_of_it() -> None:
    assert "wasted" not in terminal.render(scaled_view())
    assert "wasted" not in summary.render(scaled_view()).lower()


def test_shares_are_short_and_what_is_nothing_is_said() -> None:
    assert threads.wasted(SOME, 7) == "wasted 0.8% in its worst shown run, 0007 (longest 1.200 ms)"
    assert threads.wasted(replace(SOME, wasted=0, longest=0), 7) == "wasted 0%"
    assert (
        threads.wasted(replace(SOME, wasted=10, longest=10), 7)
        == "wasted <0.01% in its worst shown run, 0007 (longest 10.00 ns)"
    )


def test_each_cell_has_one_line() -> None:
    view = replace(scaled_view(), threads=(MEDIAN, SLOWEST, replace(SLOWEST, cell="another-smp4")))
    assert threads.sentences(view)[1:] == ["another-smp4: wasted 0%"]
