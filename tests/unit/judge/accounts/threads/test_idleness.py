"""Which idle time is wasted: what follows by hand from the rule."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from benchgate.insn.threads_log import read_thread_events
from benchgate.judge.accounts.threads import idleness
from benchgate.judge.accounts.threads.accounting import books_of_run
from benchgate.judge.accounts.threads.books import WastedStretch
from benchgate.judge.accounts.threads.idleness import find_idleness
from benchgate.judge.accounts.threads.repeating import repeat_schedule
from benchgate.judge.run_files import THREAD_EVENTS, RunFiles
from tests.unit.factories import cell, raw_run

HEAD = """insn-threads 2
vcpus {vcpus}
fork 0 10 1 0 61
fork 0 20 2 0 62
wake 0 30 1 0 - -
switch 0 40 0 r 1 -
open 100
"""


def found(body: str, folder: Path, vcpus: int = 2) -> tuple[list[WastedStretch], list[WastedStretch]]:
    path = folder / "threads.txt"
    path.write_text(HEAD.format(vcpus=vcpus) + body + "close 1000000\nend 1000000\n", encoding="ascii")
    idleness = find_idleness(repeat_schedule(read_thread_events(path)))
    return list(idleness.wasted), list(idleness.excused)


def spans(stretches: list[WastedStretch]) -> list[tuple[int, int, int]]:
    return [(stretch.cpu, stretch.begin, stretch.end) for stretch in stretches]


def test_each_free_cpu_counts_while_one_thread_waits(tmp_path: Path) -> None:
    wasted, _ = found("wake 0 1000 2 0 - -\nmigrate 1 3000 2 0 1\nswitch 1 3500 0 r 2 -\n", tmp_path, vcpus=4)
    assert spans(wasted) == [(1, 1000, 3000), (2, 1000, 3000), (3, 1000, 3000)]
    assert all(stretch.threads == (2,) and stretch.wake and stretch.wake.time == 1000 for stretch in wasted)


def test_a_stretch_goes_on_while_another_thread_waits(tmp_path: Path) -> None:
    body = "fork 0 900 3 1 63\nwake 0 1000 2 0 - -\n"
    body += "wake 0 1500 3 0 - -\nswitch 0 2000 1 b 2 -\nswitch 0 2500 2 b 3 -\n"
    wasted, _ = found(body, tmp_path)
    assert spans(wasted) == [(1, 1000, 2500)]
    assert wasted[0].threads == (2, 3)


def test_a_thread_on_an_idle_cpu_has_time_to_settle(tmp_path: Path) -> None:
    soon = f"wake 0 1000 2 1 - -\nswitch 1 {1000 + idleness.SETTLE} 0 r 2 -\n"
    assert found(soon, tmp_path, vcpus=3) == ([], [])


SETTLED = HEAD.replace("insn-threads 2", "insn-threads 4")


def waits_here(body: str, folder: Path) -> list[tuple[int, int, int]]:
    path = folder / "threads.txt"
    path.write_text(SETTLED.format(vcpus=3) + body + "close 1000000\nend 1000000\n", encoding="ascii")
    return spans(list(find_idleness(repeat_schedule(read_thread_events(path))).wasted))


def test_a_thread_that_is_moved_between_idle_cpus_has_no_more_time(tmp_path: Path) -> None:
    """8 us on CPU 1, 8 on 2, 8 on 1 again: from 11,000 on it waits, and both CPUs might have run it."""
    body = "wake 0 1000 2 1 - -\nmigrate 0 9000 2 1 2\nmigrate 0 17000 2 2 1\nswitch 1 25000 0 r 2 -\n"
    assert waits_here(body, tmp_path) == [(1, 11_000, 25_000), (2, 11_000, 25_000)]


RAN = "wake 0 500 2 1 - -\nswitch 1 600 0 r 2 -\nswitch 1 700 2 b 0 -\n"


@pytest.mark.parametrize("before", ["", RAN], ids=["first wait", "later wait"])
def test_a_thread_that_is_asked_for_and_queued_in_one_ns_has_its_time_to_settle(
    before: str, tmp_path: Path
) -> None:
    asked = before + "ask 0 50000 2\nwake 0 50000 2 1 - -\n"
    assert waits_here(asked + "switch 1 60000 0 r 2 -\n", tmp_path) == []
    assert waits_here(asked + "switch 1 61000 0 r 2 -\n", tmp_path) == [
        (1, 60_000, 61_000),
        (2, 60_000, 61_000),
    ]


def test_a_thread_that_is_queued_as_the_window_opens_has_time_to_settle(tmp_path: Path) -> None:
    body = "switch 1 8000 0 r 2 -\n"
    path = tmp_path / "threads.txt"
    opened = SETTLED.replace("open 100", "ask 0 90 2\nwake 0 100 2 1 - -\nopen 100")
    path.write_text(opened.format(vcpus=3) + body + "close 1000000\nend 1000000\n", encoding="ascii")
    assert find_idleness(repeat_schedule(read_thread_events(path))).wasted == ()


def test_moves_without_a_length_give_no_more_time(tmp_path: Path) -> None:
    there_and_back = "migrate 0 9000 2 1 2\nmigrate 0 9000 2 2 1\n"
    body = f"ask 0 1000 2\nwake 0 1000 2 1 - -\n{there_and_back}switch 1 25000 0 r 2 -\n"
    assert waits_here(body, tmp_path) == [(1, 11_000, 25_000), (2, 11_000, 25_000)]


def test_a_thread_that_nobody_woke_has_no_time_to_settle(tmp_path: Path) -> None:
    """It gave way, and its CPU idles for 8 us. So does one that is halted with its thread."""
    body = "switch 0 1000 1 r 0 -\nswitch 0 9000 0 r 1 -\n"
    assert waits_here(body, tmp_path) == [(cpu, 1000, 9000) for cpu in range(3)]
    assert waits_here("halt 0 1000\nresume 0 9000\n", tmp_path) == [(cpu, 1000, 9000) for cpu in range(3)]


def test_a_wake_up_that_is_lost_wastes_its_own_cpu_too(tmp_path: Path) -> None:
    late = f"wake 0 1000 2 1 - -\nswitch 1 {1000 + idleness.SETTLE + 70} 0 r 2 -\n"
    begin = 1000 + idleness.SETTLE
    wasted, _ = found(late, tmp_path, vcpus=3)
    assert spans(wasted) == [(1, begin, begin + 70), (2, begin, begin + 70)]


def test_a_halted_cpu_is_idle_whatever_thread_it_has(tmp_path: Path) -> None:
    """It is charged after the time to settle, with the other CPU that might have run the thread."""
    late = idleness.SETTLE + 500
    body = f"halt 0 1000\nresume 0 {1000 + late}\nhalt 0 50000\nresume 0 {50000 + idleness.SETTLE}\n"
    wasted, _ = found(body, tmp_path)
    begin = 1000 + idleness.SETTLE
    assert spans(wasted) == [(0, begin, 1000 + late), (1, begin, 1000 + late)]
    assert all(stretch.threads == (1,) for stretch in wasted)


def test_a_thread_waits_from_the_call_that_wakes_it(tmp_path: Path) -> None:
    """On no queue: the idle CPU is charged with all but the time to settle."""
    wasted, _ = found("ask 0 1000 2\nwake 0 41000 2 1 - -\nswitch 1 41500 0 r 2 -\n", tmp_path)
    assert spans(wasted) == [(1, 1000 + idleness.SETTLE, 41000)]
    path = tmp_path / "threads.txt"
    settles = find_idleness(repeat_schedule(read_thread_events(path))).settles
    assert settles == (idleness.SETTLE, 500)


def test_a_thread_that_is_asked_for_before_it_blocks_waits_from_then_on(tmp_path: Path) -> None:
    body = "wake 0 900 2 0 - -\nask 1 1000 1\nswitch 0 1500 1 b 2 -\nwake 0 61500 1 0 - -\n"
    wasted, _ = found(body + "switch 0 61600 2 b 1 -\n", tmp_path)
    assert spans(wasted)[0] == (1, 900, 1500)  # thread 2 behind 1
    assert spans(wasted)[1:] == [(1, 1500 + idleness.SETTLE, 61600)]


def test_a_thread_that_does_not_block_was_not_asked_for(tmp_path: Path) -> None:
    body = "wake 0 900 2 0 - -\nask 1 1000 1\nswitch 0 1500 1 r 2 -\nswitch 0 2000 2 b 1 -\n"
    wasted, _ = found(body + "switch 0 3000 1 b 0 -\n", tmp_path)
    assert spans(wasted) == [(1, 900, 2000)]


def test_an_earlier_record_is_judged_by_the_time_that_it_was(tmp_path: Path) -> None:
    path = tmp_path / "threads.txt"
    body = "wake 0 1000 2 1 - -\nswitch 1 91000 0 r 2 -\nclose 200000\n"
    path.write_text(HEAD.format(vcpus=2).replace("threads 2", "threads 1") + body, encoding="ascii")
    assert not find_idleness(repeat_schedule(read_thread_events(path))).wasted


def test_a_cpu_with_a_thread_on_its_queue_is_not_free(tmp_path: Path) -> None:
    body = "fork 0 900 3 1 63\nwake 0 1000 2 0 - -\n"
    body += "wake 0 1200 3 1 - -\nswitch 1 1300 0 r 3 -\nswitch 1 1400 3 b 0 -\n"
    wasted, _ = found(body + "switch 0 1600 1 b 2 -\n", tmp_path)
    assert spans(wasted) == [(1, 1000, 1200), (1, 1400, 1600)]


def test_a_mask_decides_between_wasted_and_excused(tmp_path: Path) -> None:
    body = "allow 0 900 2 1\nwake 0 1000 2 0 - -\nallow 0 2000 2 5\nallow 0 3000 2 1\nswitch 0 4000 1 b 2 -\n"
    wasted, excused = found(body, tmp_path, vcpus=3)
    assert spans(wasted) == [(2, 2000, 3000)]
    assert spans(excused) == [(1, 1000, 4000), (2, 1000, 2000), (2, 3000, 4000)]
    assert [stretch.is_pinned for stretch in (*wasted, *excused)] == [False, True, True, True]


def test_a_cpu_that_is_not_up_yet_wastes_nothing(tmp_path: Path) -> None:
    """Without marks the window is the whole run, and a CPU is up from its first event on."""
    body = "wake 0 1000 2 0 - -\nfork 0 1100 3 1 63\n"
    body += "wake 0 1200 3 1 - -\nswitch 1 1300 0 r 3 -\nswitch 1 1400 3 b 0 -\n"
    path = tmp_path / "threads.txt"
    text = HEAD.format(vcpus=2).replace("open 100\n", "") + body + "switch 0 1600 1 b 2 -\nend 2000\n"
    path.write_text(text, encoding="ascii")
    wasted = find_idleness(repeat_schedule(read_thread_events(path))).wasted
    assert spans(list(wasted)) == [(1, 1400, 1600)]


def test_a_stretch_names_a_limited_number_of_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idleness, "MOST_THREADS", 2)
    forks = "".join(f"fork 0 50{n} {n} 1 63\nwake 0 60{n} {n} 0 - -\n" for n in range(3, 8))
    ((stretch,), _) = found(forks.replace("wake 0 60", "wake 0 50"), tmp_path)
    assert stretch.threads == (3, 4)


EVENTS = """insn-threads 1
vcpus 2
fork 0 10 1 0 61
fork 0 20 2 0 62
wake 0 30 1 0 - -
switch 0 40 0 r 1 -
open 100
wake 0 1000 2 0 - -
switch 0 3000 1 b 2 -
close 9000
end 9000
"""


@pytest.fixture
def files(tmp_path: Path) -> RunFiles:
    (tmp_path / THREAD_EVENTS).write_text(EVENTS, encoding="ascii")
    return RunFiles(raw_run(cell(2), folder=tmp_path))


def test_books_and_checks_of_one_run_share_them(files: RunFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    made: Counter[str] = Counter()

    def counted(name: str) -> None:
        real = getattr(idleness, name)

        def work_out(schedule: Any) -> Any:
            made[name] += 1
            return real(schedule)

        monkeypatch.setattr(idleness, name, work_out)

    counted("find_waits")
    counted("find_idleness")
    books, pauses = books_of_run(files), files.pauses
    assert books is not None
    assert pauses is not None
    for _ in range(2):
        assert [(wait.begin, wait.end) for wait in pauses.waits] == [(1000, 3000)]
        assert [(stretch.cpu, stretch.begin, stretch.end) for stretch in pauses.wasted] == [(1, 1000, 3000)]
        assert pauses.excused == ()
    assert (books.wait_lengths, books.wasted) == ((2000,), pauses.wasted)
    assert made == {"find_waits": 1, "find_idleness": 1}
