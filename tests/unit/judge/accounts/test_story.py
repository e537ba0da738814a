"""The story of a run, from its files alone: on the instruction clock, on wall time, of a run that failed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from benchgate.base.cells import Lane
from benchgate.base.runs import RawRun
from benchgate.judge.accounts.story import story
from benchgate.judge.accounts.story.words import Instant, Story, StorySpan, Track
from benchgate.render.trace import trace
from benchgate.run.record import clock_log
from tests import traceformat
from tests.unit.insn.test_activity import LINES, with_lines
from tests.unit.insn.test_events import FILE
from tests.wirekit import field, primes_run, recorded

CONSOLE = recorded("good-linux-primes-smp2")
SECOND = 1_000_000_000


def on_the_clock(folder: Path, log: str = "") -> RawRun:
    raw = primes_run(folder, CONSOLE)
    clock_log(folder).write_text(log or with_lines(LINES), encoding="ascii")
    return replace(raw, lane=Lane.INSN, clock_log=clock_log(folder))


def checked(run: RawRun) -> Story:
    """The story; its trace keeps the rules."""
    seen = story(run)
    traceformat.check(trace(seen))
    return seen


def spans(seen: Story, group: str) -> list[StorySpan]:
    return [span for span in seen.spans if span.track.group == group]


def test_workers_lie_between_the_marks_of_the_total_window(tmp_path: Path) -> None:
    """The log's total window is from 1,000 to 9,200."""
    seen = checked(on_the_clock(tmp_path))
    total, _ = spans(seen, "window")
    assert (total.begin, total.end) == (1_000, 9_200)
    workers = spans(seen, "workers")
    assert [worker.track.name for worker in workers] == ["worker 0", "worker 1"]
    assert all(1_000 <= worker.begin < worker.end <= 9_200 for worker in workers)
    assert workers[0].name == f"worker 0 on CPU {field(CONSOLE, 'worker0', 'cpu')}"
    marks = [instant for instant in seen.instants if instant.track == Track("vCPUs", "vCPU 1")]
    assert marks == [
        Instant(Track("vCPUs", "vCPU 1"), "work begins", 1_100),
        Instant(Track("vCPUs", "vCPU 1"), "work ends", 9_100),
    ]


def test_without_events_each_vcpu_has_its_columns(tmp_path: Path) -> None:
    seen = checked(on_the_clock(tmp_path))
    mine = [counter for counter in seen.counters if counter.track.name == "vCPU 0"]
    assert [counter.time for counter in mine] == [1_000, 2_000, 2_500]
    assert mine[0].values == {"works": 100.0, "spins": 0.0, "halted": 0.0}
    assert any("replay RUN --timeline" in note for note in seen.notes)


def test_events_of_a_replay_say_who_woke_whom(tmp_path: Path) -> None:
    run = on_the_clock(tmp_path)
    (tmp_path / "events.txt").write_text(FILE, encoding="ascii")
    seen = checked(run)
    states = [(span.track.name, span.name, span.begin, span.end) for span in spans(seen, "vCPUs")]
    assert states == [
        ("vCPU 1", "halted", 90, 150),
        ("vCPU 0", "works", 100, 180),
        ("vCPU 0", "spins", 180, 250),
        ("vCPU 1", "halted", 220, 300),
    ]
    (arrow,) = seen.arrows
    assert (arrow.source.name, arrow.time, arrow.target.name) == ("vCPU 0", 150, "vCPU 1")
    assert Instant(Track("vCPUs", "vCPU 0"), "interrupted by a timer or device", 200) in seen.instants
    assert seen.counters == ()


def test_lines_of_the_console_have_their_times(tmp_path: Path) -> None:
    log = with_lines("").replace("mark 03", "line 8 900\nline 15 950\nline 16 951\nmark 03")
    run = on_the_clock(tmp_path, log)
    (tmp_path / "serial.log").write_bytes(b"hello \r\n\x1b[2Jtw\n\n")
    track = Track("console", "printed")
    lines = [instant for instant in checked(run).instants if instant.track == track]
    assert lines == [Instant(track, "hello", 900), Instant(track, "\\x1b[2Jtw", 950)]


def test_a_run_that_failed_has_the_story_of_what_is_left(tmp_path: Path) -> None:
    run = on_the_clock(tmp_path, with_lines("")[: with_lines("").index("vcpu 0")] + "stuck no progress\n")
    (tmp_path / "serial.log").write_bytes(CONSOLE[:100])
    seen = checked(run)
    assert len(seen.instants) == 4
    assert any("the lockstep was stuck" in note for note in seen.notes)
    assert any(note.startswith("no workers: ") for note in seen.notes)
    clock_log(tmp_path).write_text("nonsense")
    assert checked(run).instants == ()
    assert story(run).notes


def moment(name: str, t_ns: int, ran: int) -> dict[str, object]:
    thread = {"thread": 5, "name": "CPU 0/TCG", "vcpu": 0, "run_ns": ran, "delay_ns": 2_000_000}
    counters = dict.fromkeys(("timeslices", "voluntary", "involuntary", "migrations", "cpu"), 3)
    return {"moment": name, "t_ns": t_ns, "threads": [{**thread, **counters}]}


def test_on_wall_time_the_host_has_the_axis(tmp_path: Path) -> None:
    run = primes_run(tmp_path, CONSOLE)
    moments = [moment("start", 5 * SECOND, 0), moment("result", 9 * SECOND, 3 * SECOND)]
    (tmp_path / "threads.json").write_text(json.dumps(moments))
    seen = checked(run)
    assert [(span.name, span.begin, span.end) for span in spans(seen, "run")] == [
        ("start to result", 0, 4 * SECOND)
    ]
    total = spans(seen, "window")[0]
    length = field(CONSOLE, "window", "total_end") - field(CONSOLE, "window", "total_start")
    assert (total.end, total.end - total.begin) == (4 * SECOND, length)
    assert [counter.values["ran ms"] for counter in seen.counters] == [0, 3_000]
    assert any("another zero" in note for note in seen.notes)


def test_a_run_on_wall_time_without_any_file_has_an_empty_story(tmp_path: Path) -> None:
    run = primes_run(tmp_path, b"")
    seen = checked(run)
    assert seen.spans == ()
    assert seen.notes


THREADS = """\
insn-threads 1
vcpus 2
fork 0 0 7 0 776f726b
fork 0 0 8 0 776f726b
wake 0 10 7 0 1 -
switch 0 20 0 r 7 1
open 1000
wake 0 2000 8 0 2 -
migrate 1 2500 8 0 1
switch 1 2500 0 r 8 1
switch 1 3000 8 b 0 0
wake 1 3100 8 1 1 -
switch 1 3200 0 r 8 1
close 9200
end 9300
"""
"""Thread 7 runs on CPU 0 and wakes 8 at 2,000; CPU 1 is idle meanwhile, and takes it at 2,500. An interrupt
wakes it there at 3,100."""


def with_threads(folder: Path, text: str = THREADS) -> Story:
    run = on_the_clock(folder)
    (folder / "threads.txt").write_text(text, encoding="ascii")
    return checked(run)


def test_threads_are_slices_on_the_cpus_and_states_on_tracks_of_their_own(tmp_path: Path) -> None:
    seen = with_threads(tmp_path)
    runs = [(span.track.name, span.name, span.begin, span.end) for span in spans(seen, "CPUs")]
    assert runs == [
        ("CPU 0", "work #1", 1_000, 9_200),
        ("CPU 1", "work #2", 2_500, 3_000),
        ("CPU 1", "work #2", 3_200, 9_200),
    ]
    states = [
        (span.name, span.begin, span.end)
        for span in spans(seen, "threads")
        if span.track.name == "work #2 [8]"
    ]
    assert states == [
        ("blocked", 1_000, 2_000),
        ("runnable", 2_000, 2_500),
        ("running", 2_500, 3_000),
        ("blocked", 3_000, 3_100),
        ("runnable", 3_100, 3_200),
        ("running", 3_200, 9_200),
    ]
    waits = [span.more.get("woken by") for span in spans(seen, "threads") if span.name == "runnable"]
    assert waits == ["work #1 on CPU 0", "an interrupt on CPU 1"]


def test_a_wake_up_by_a_thread_is_an_arrow_to_where_the_other_one_runs(tmp_path: Path) -> None:
    """The interrupt met an idle CPU, where no slice is from which an arrow could lead."""
    (arrow,) = with_threads(tmp_path).arrows
    places = (arrow.source.name, arrow.time, arrow.target.name, arrow.arrives)
    assert places == ("CPU 0", 2_000, "CPU 1", 2_500)


def test_queues_are_counters_and_wasted_time_has_its_track(tmp_path: Path) -> None:
    seen = with_threads(tmp_path)
    first = [
        (counter.time, counter.values["threads"])
        for counter in seen.counters
        if counter.track == Track("queue lengths", "CPU 0")
    ]
    assert first == [(1_000, 1), (2_000, 2), (2_500, 1)]
    (wasted,) = spans(seen, "idle CPUs while threads wait")
    assert (wasted.track.name, wasted.name) == ("CPU 1", "wasted: work #2")
    assert (wasted.begin, wasted.end) == (2_000, 2_500)


def test_times_of_two_cpus_may_cross_and_spans_of_a_cpu_do_not_overlap(tmp_path: Path) -> None:
    """CPU 1 is ahead: it leaves thread 8 at 5,000 by its clock. CPU 0 takes 8 at 4,900, and goes on with 7 at
    5,100. `checked` refuses spans that overlap."""
    crossed = THREADS.replace(
        "close 9200\n",
        "switch 1 5000 8 r 0 0\nmigrate 0 4900 8 1 0\n"
        "switch 0 4900 7 r 8 2\nswitch 0 5100 8 b 7 1\nclose 9200\n",
    )
    seen = with_threads(tmp_path, crossed)
    on_zero = [(span.begin, span.end) for span in spans(seen, "CPUs") if span.track.name == "CPU 0"]
    assert on_zero == [(1_000, 4_900), (5_000, 5_100), (5_100, 9_200)]
    tracks = [span.track.name for span in spans(seen, "CPUs")]
    assert tracks == sorted(tracks)  # so a viewer shows them in this order


def test_a_full_record_and_one_that_contradicts_itself_are_notes(tmp_path: Path) -> None:
    full = with_threads(tmp_path, THREADS.replace("close", "full 8000\nclose"))
    assert any("record of threads was full at 8000 ns" in note for note in full.notes)
    bad = with_threads(tmp_path, THREADS.replace("switch 1 3000 8", "switch 1 3000 5"))
    assert any("contradict" in note for note in bad.notes)
    assert spans(bad, "CPUs") == []
    assert spans(bad, "window")
