"""Threads: who ran where and who waited, in the median and the slowest recorded run of each cell.

Takes a PageView; gives the part, or None if no run's threads were recorded. Cells for which the page has no
room are named. Does not fail.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby

from benchgate.base.text import counted
from benchgate.judge.accounts.thread_timeline import ThreadTimeline
from benchgate.render.page.html import Html, join, rect, tag
from benchgate.render.page.look import entry
from benchgate.render.page.page_view import PageView
from benchgate.render.page.pictures import thread_lanes
from benchgate.render.page.pictures.thread_lanes import HUES, MOST_COLOURS, ThreadPaint
from benchgate.render.page.tables import NOTHING, broad, commands, cut_of, more, run_folder, table, used
from benchgate.render.tables import thread_account, threads, units
from benchgate.render.tables.threads import ThreadView
from benchgate.render.view import SessionView

TITLE = "Threads, by CPU and one by one"
ORDER = 10
IS_WHY = True
MOST_BYTES, LEAST_BYTES, BYTES_PER_CELL = 700_000, 115_000, 3_000
"""The bytes of this part for all rows: what each cell of the session has elsewhere leaves less of them."""
LATE_HEADS = ("what", "how it was")
MOST_THREADS = 24
MOST_SAID = 8
APART = 0.001
"""A cell is open at once if a larger share of its CPUs' time was wasted, or if it is the worst one."""

Colours = Mapping[str, int]
"""By the name of a thread."""

TOLD = (
    "What the guest's scheduler did in the window, as the instruction clock saw it from outside. By CPU: "
    "a box is a thread, with its name where it fits. A column of time shows the thread that ran longest "
    "in it, and is as high as the share in which the CPU was busy; what is free is idle. The skyline "
    "below is the number of threads in the CPU's queue, with the running one. A red bar is wasted time: "
    "the CPU was idle while a thread that may run there waited elsewhere. An arrow is a wake-up that puts "
    "a thread on the queue of another CPU. By thread: a full box runs, a framed one waits for a CPU, and "
    "on the line it is blocked; a number is the CPU. Threads of one name are numbered in the order of "
    "their ids."
)


def about(page: PageView) -> str:
    return TOLD if page.view.threads else ""


def body(page: PageView) -> Html | None:
    every = page.view.threads
    if not every:
        return None
    colours = _colours(every)
    heads, rows = used(threads.CELL_HEADS, [threads.cell_row(timeline) for timeline in every])
    whole = table("Wasted time and waits, by recorded run", heads, rows, texts=2)
    cells = [list(of) for _, of in groupby(every, key=lambda timeline: timeline.cell)]
    cells.sort(key=lambda of: -max(timeline.conserved.share for timeline in of))
    shown = [(of[0].cell, _cell(page.view, of, colours, is_open=of is cells[0])) for of in cells]
    room = _room(page)
    shown.sort(key=lambda piece: len(piece[1]) > room * page.share)  # what does not fit alone comes last
    drawn, cut = page.fitting(shown, room)
    return join([whole, _legend(every, colours) if drawn else None, *map(Html, drawn), cut_of(cut)])


def _room(page: PageView) -> int:
    """`fitting` takes this row's share of it."""
    cells = sum(len(series.arms) for series in page.every)
    return max(MOST_BYTES - BYTES_PER_CELL * cells, LEAST_BYTES)


def _colours(every: Sequence[ThreadTimeline]) -> Colours:
    """Of the threads that ran longest. A thread has the same colour in each run and session, unless one that
    ran longer has it already."""
    ran: Counter[str] = Counter()
    for timeline in every:
        for thread in timeline.threads:
            ran[thread.name] += thread.book.running
    result: dict[str, int] = {}
    longest = sorted(ran, key=lambda name: (-ran[name], name))
    for place, name in enumerate(longest[:MOST_COLOURS]):
        first, count = (0, len(HUES)) if place < len(HUES) else (len(HUES), MOST_COLOURS - len(HUES))
        wanted = zlib.crc32(name.encode()) % count
        free = (first + (wanted + step) % count for step in range(count))
        result[name] = next(colour for colour in free if colour not in result.values())
    return result


def _legend(every: Sequence[ThreadTimeline], colours: Colours) -> Html:
    entries = [_key(ThreadPaint(name, colour), name) for name, colour in colours.items()]
    if any(named.name not in colours for timeline in every for named in timeline.threads):
        entries.append(_key(thread_lanes.UNNAMED, "other threads"))
    if any(timeline.conserved.wasted for timeline in every):
        bar = rect(1, 10, 14, 4, fill="currentColor")
        entries.append(entry(bar, "bad", "wasted"))
    return tag("ul", *entries, class_="legend")


def _key(paint: ThreadPaint, name: str) -> Html:
    box = rect(1, 3, 14, 10, fill="currentColor", fill_opacity=paint.opacity)
    return entry(box, paint.kind, name)


def _cell(view: SessionView, of: Sequence[ThreadTimeline], colours: Colours, *, is_open: bool) -> Html:
    worst = max(of, key=lambda timeline: timeline.conserved.share)
    runs = [part for timeline in of for part in _run(timeline, colours)]
    paste = [f"benchgate timeline {run_folder(view, timeline.folder)}" for timeline in of]
    summary = f"{worst.cell}: {threads.wasted(worst.conserved, worst.run)}"
    return more(summary, *runs, commands(*paste), is_open=is_open or worst.conserved.share > APART)


def _run(timeline: ThreadTimeline, colours: Colours) -> list[Html]:
    run = f"{timeline.which} run {timeline.run:04}"
    name = f"{timeline.cell}, {run}"
    work = units.shown(timeline.work, "ns" if timeline.unit == "insn" else timeline.unit)
    paints = {of.book.thread: ThreadPaint(of.name, colours.get(of.name)) for of in timeline.threads}
    lanes = thread_lanes.by_cpu(timeline.sketch, paints, f"{name}, by CPU: {_cpus_told(timeline)}")
    rows = thread_lanes.by_thread(timeline.sketch, paints, f"{name}, by thread: {_threads_told(timeline)}")
    return [
        tag("p", threads.conserved_sentence(timeline.conserved)),
        *_account(timeline, run),
        broad(f"{name} by CPU", lanes, f"{run}, seed {timeline.seed}: work {work}{_said(timeline)}"),
        broad(f"{name} by thread", rows, f"{run} by thread{_rows_said(timeline)}"),
        _threads(timeline, name),
        *_late(timeline),
    ]


def _account(timeline: ThreadTimeline, run: str) -> list[Html]:
    """How all of the wasted time began, and who waited in it."""
    of = timeline.account
    heads = thread_account.HEADS
    return [
        table(f"{told}: {run}", (what, *heads), thread_account.cause_rows(rows), texts=1)
        for told, what, rows in (
            ("Wasted time by how the wait began", "how it began", of.how),
            ("Wasted time by who waited", "who", of.who),
        )
        if rows
    ]


def _late(timeline: ThreadTimeline) -> list[Html]:
    """Why the longest waits were so long, one table each."""
    view = ThreadView(timeline.begin, timeline.names, timeline.symbols)
    chains = [threads.chain(view, wait) for wait in timeline.late]
    if not chains:
        return []
    told = [table(chain.head, LATE_HEADS, chain.links, texts=1, prose=1) for chain in chains]
    return [more(f"Why threads of {timeline.which} run {timeline.run:04} were late", *told)]


def _said(timeline: ThreadTimeline) -> str:
    """What the picture has less of than the run had, and its scale."""
    seen = timeline.sketch
    told = "; the record was full before the window closed" if timeline.is_cut else ""
    if len(seen.lanes) < len(timeline.by_cpu):
        told += f"; the first {len(seen.lanes)} of {len(timeline.by_cpu)} CPUs"
    told += f"; queues up to {seen.longest_queue}" if seen.longest_queue else ""
    wakes = counted(seen.crossing, "wake-up")
    if len(seen.arrows) < seen.crossing:
        return f"{told}; {len(seen.arrows)} of {wakes} to another CPU are drawn"
    return f"{told}; {wakes} to another CPU" if seen.crossing else told


def _rows_said(timeline: ThreadTimeline) -> str:
    left = timeline.count - len(timeline.sketch.rows)
    return f": those that ran or waited longest; {left:,} more are not drawn" if left else ""


def _cpus_told(timeline: ThreadTimeline) -> str:
    told = [
        f"CPU {cpu.cpu} runs {_part(cpu.running, cpu.running + cpu.idle)}"
        + (f", wastes {_part(cpu.wasted, cpu.running + cpu.idle)}" if cpu.wasted else "")
        for cpu in timeline.by_cpu[:MOST_SAID]
    ]
    left = len(timeline.by_cpu) - len(told)
    return "; ".join([*told, f"{left} more CPUs"] if left > 0 else told)


def _threads_told(timeline: ThreadTimeline) -> str:
    shown = sorted(timeline.threads, key=lambda named: -named.book.running)[:MOST_SAID]
    times = [[units.shown(ns, "ns") for ns in (named.book.running, named.book.runnable)] for named in shown]
    return "; ".join(
        f"{named.name} runs {ran}, waits {waited}" for named, (ran, waited) in zip(shown, times, strict=True)
    )


def _part(ns: int, whole: int) -> str:
    return f"{ns / whole:.0%}" if whole else NOTHING


def _threads(timeline: ThreadTimeline, name: str) -> Html:
    by_time = sorted(timeline.threads, key=lambda named: -(named.book.running + named.book.runnable))
    shown = by_time[:MOST_THREADS]
    caption = f"Threads of {name}"
    if len(shown) < timeline.count:
        caption += f": the {len(shown)} of {timeline.count:,} that ran or waited longest"
    heads, rows = used(threads.BOOK_HEADS, [threads.row(named) for named in shown])
    return more(f"Threads of {timeline.which} run {timeline.run:04}", table(caption, heads, rows, texts=1))
