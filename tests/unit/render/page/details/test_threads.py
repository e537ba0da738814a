"""The part of the page with the guest's threads: what it says, its colours, and that it is bounded."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from benchgate.insn.symbols import sorted_symbols
from benchgate.judge.accounts.thread_timeline import NamedThread, ThreadTimeline
from benchgate.judge.accounts.threads.books import CpuBook, SwitchCause, ThreadWait, ThreadWake, WastedTime
from benchgate.judge.accounts.threads.wasted_causes import WastedAccount, WastedCause
from benchgate.render.page.details import threads
from benchgate.render.page.page import session_page
from benchgate.render.page.page_view import narrowed, page_view
from benchgate.render.page.pictures.thread_lanes import MOST_COLOURS, by_cpu
from tests import pagekit
from tests.pageviews import threads_view
from tests.unit.factories import scaled_view
from tests.unit.judge.accounts.test_thread_sketch import book
from tests.unit.render.page.pictures.test_thread_lanes import seen

WORKER = NamedThread(
    "bench #1", book(7, 6_000, 2_000, blocked=880, switches=3, wakeups=2, migrations=1), 1_500
)
SERVICE = NamedThread("<i>x</i>", book(8, 10), 0)
MEDIAN = ThreadTimeline(
    cell="primes-linux-smp2",
    cpus=2,
    run=3,
    folder="runs/0003-primes-linux-smp2",
    seed=5,
    which="median",
    work=8_000,
    unit="insn",
    threads=(WORKER, SERVICE),
    count=9,
    by_cpu=(CpuBook(0, 6_660, 2_220, 888, 600, 4, ()), CpuBook(1, 8_880, 0, 0, 0, 1, ())),
    conserved=WastedTime(17_760, 888, 600, 2, 50),
    longest_wait=1_500,
    is_cut=False,
    sketch=seen(crossing=900, queues=(((0, 3),), ())),
)
SLOWEST = replace(MEDIAN, run=4, which="slowest", work=9_000, conserved=WastedTime(17_760, 0, 0, 0, 0))


def page_of(*timelines: ThreadTimeline) -> pagekit.Page:
    return pagekit.read(session_page(replace(scaled_view(), threads=timelines)))


def test_without_a_record_there_is_no_such_part() -> None:
    assert threads.TITLE not in page_of().text
    assert threads.about(page_view(scaled_view())) == ""


def test_wasted_time_is_a_sentence_and_a_row_of_a_table() -> None:
    text = page_of(MEDIAN, SLOWEST).text
    assert threads.TITLE in text
    assert "idle for 888.0 ns, 5% of their time, while a thread that may run there waited elsewhere" in text
    assert "2 times, at most 600.0 ns; for another 50.00 ns the threads that waited may not run" in text
    assert "No CPU was idle while a thread that may run there waited elsewhere." in text
    assert "median 00035%600.0 ns250.00 ns1.500 us9" in text
    assert "primes-linux-smp2: wasted 5% in its worst shown run, 0003 (longest 600.0 ns)" in text


def test_all_of_the_wasted_time_is_told_by_how_it_began_and_who_waited() -> None:
    how = (WastedCause("a futex wake-up onto another CPU", 666, 0.75, 3, 333),)
    who = (WastedCause("message <i>thread</i>", 600, 0.68, 2, 333), WastedCause("worker", 400, 0.45, 1, 400))
    page = page_of(replace(MEDIAN, account=WastedAccount(888, how, who)), SLOWEST)
    rows = [
        "a futex wake-up onto another CPU666.0 ns75%3333.0 ns",
        "message <i>thread</i>600.0 ns68%2333.0 ns",
        "worker400.0 ns45%1400.0 ns",
    ]
    assert all(row in page.text for row in rows)
    assert page.text.count("Wasted time by who waited: median run 0003") == 1
    assert "Wasted time by who waited: slowest run" not in page.text  # it wasted none


def test_held_time_is_in_the_sentence() -> None:
    held = replace(MEDIAN, conserved=WastedTime(17_760, 0, 0, 0, 0, held=500))
    assert "; CPUs were held in the kernel for 500.0 ns while threads waited." in page_of(held).text


def test_the_pictures_say_what_they_leave_out_and_their_scale() -> None:
    text = page_of(MEDIAN).text
    assert "median run 0003, seed 5: work 8.000 us; queues up to 3; 0 of 900 wake-ups to another CPU" in text
    assert "those that ran or waited longest; 9 more are not drawn" in text
    assert "the record was full before the window closed" not in text
    assert "the record was full before the window closed" in page_of(replace(MEDIAN, is_cut=True)).text


def test_a_screen_reader_hears_the_figures() -> None:
    page = page_of(MEDIAN)
    labels = [str(attribute.get("aria-label")) for attribute in page.attributes("svg")]
    (lanes,) = (label for label in labels if "by CPU: " in label)
    assert "CPU 0 runs 75%, wastes 10%; CPU 1 runs 100%" in lanes
    (rows,) = (label for label in labels if "by thread: " in label)
    assert "bench #1 runs 6.000 us, waits 2.000 us" in rows


def test_each_thread_has_its_row_in_the_table() -> None:
    text = page_of(MEDIAN).text
    assert "the 2 of 9 that ran or waited longest" in text
    assert "bench #176.000 us2.000 us880.0 ns3211.500 us" in text
    assert "<i>x</i>" in text  # as text; pagekit refuses such markup


def test_the_longest_waits_have_their_chains() -> None:
    """As `benchgate threads` tells them, from the begin of the window; a guest's name is text."""
    wait = ThreadWait(
        *(
            8,
            0,
            5_000,
            6_500,
            ThreadWake(5_000, 7, 0, 8, 0, (0xFF10, 0x99)),
            None,
            ((7, 1_500),),
            ((1, 900),),
        ),
        SwitchCause("tick", 6_400, 7),
    )
    late = replace(
        MEDIAN,
        begin=4_000,
        late=(wait,),
        names={7: "bench", 8: "<i>x</i>"},
        symbols=sorted_symbols([(0xFF00, 0x20, "try_to_wake_up")]),
    )
    text = page_of(late).text
    assert "Why threads of median run 0003 were late" in text
    for told in (
        "<i>x</i> (8) waited 1.500 us on CPU 0, from 1.000 us to 2.500 us",
        "woken bybench (7) on CPU 0 at 1.000 us",
        "attry_to_wake_up < 0x99",
        "placed onCPU 0",
        "behindbench (7) 1.500 us",
        "idle thenCPU 1 900.0 ns",
        "ended bythe tick at 2.400 us, which preempted bench (7)",
    ):
        assert told in text
    assert "were late" not in page_of(MEDIAN).text


def test_the_worst_cell_is_open_and_so_is_each_that_wastes_time() -> None:
    def opened(*given: ThreadTimeline) -> list[bool]:
        body = str(threads.body(page_view(replace(scaled_view(), threads=given))))
        found = re.findall(r'<details( open="")?><summary>primes-linux-smp', body)
        return [bool(is_open) for is_open in found]

    other, third = (replace(SLOWEST, cell=f"primes-linux-smp{cpus}") for cpus in (4, 8))
    assert opened(MEDIAN, other) == [True, False]
    assert opened(MEDIAN, replace(MEDIAN, cell="primes-linux-smp16"), other) == [True, True, False]
    assert opened(other, third) == [True, False]


def test_a_thread_keeps_its_colour_and_the_busiest_have_one() -> None:
    many = [NamedThread(f"t{n}", book(n, running=1000 - n), 0) for n in range(1, 30)]
    few = many[:3]
    of_many = threads._colours([replace(MEDIAN, threads=tuple(many))])
    of_few = threads._colours([replace(MEDIAN, threads=tuple(few))])
    assert set(of_many) == {thread.name for thread in many[:MOST_COLOURS]}
    assert len(set(of_many.values())) == MOST_COLOURS
    assert all(of_many[name] == colour for name, colour in of_few.items())
    alone = {threads._colours([replace(MEDIAN, threads=(thread,))])[thread.name] for thread in many}
    assert len(alone) > 3  # so it is the name that chooses, and not the rank
    twice = [MEDIAN, replace(MEDIAN, threads=(SERVICE,))]
    assert threads._colours(twice)[SERVICE.name] == threads._colours(twice[:1])[SERVICE.name]


def test_cells_for_which_the_page_has_no_room_are_named() -> None:
    view = threads_view(8)
    wide = replace(view, threads=tuple(replace(view.threads[0], cell=f"cell{n}") for n in range(60)))
    text = str(threads.body(page_view(wide)))
    assert len(text) < threads.MOST_BYTES + 50_000
    assert "Not drawn, because the page would be too large: cell" in text


def test_a_large_cell_does_not_hide_a_small_one() -> None:
    big, small = threads_view(32).threads[0], replace(MEDIAN, cell="small")
    page = page_view(replace(scaled_view(), threads=(replace(big, cell="big"), small)))
    text = str(threads.body(replace(page, share=0.02)))
    assert "too large: big." in text
    assert "small: wasted 5%" in text


def test_a_row_has_its_own_cells_only() -> None:
    view = replace(scaled_view(), threads=(MEDIAN, replace(MEDIAN, cell="another-smp2")))
    page = page_view(view)
    narrow = narrowed(page, page.rows[0], 1.0)
    assert [thread.cell for thread in narrow.view.threads] == ["primes-linux-smp2"]


@pytest.mark.parametrize("cpus", [1, 2, 8, 32])
def test_simulated_schedules_of_all_sizes_make_a_page(cpus: int) -> None:
    view = threads_view(cpus)
    text = session_page(view)
    pagekit.read(text)
    assert len(by_cpu(view.threads[0].sketch, {}, "x")) < 150_000
    assert text == session_page(view)
