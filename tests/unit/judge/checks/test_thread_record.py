"""What a verified run gets from its record of threads, by figures told by hand, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.cells import Lane, Placement
from benchgate.base.errors import VerifyError
from benchgate.base.runs import VerifiedRun
from benchgate.base.workload.metrics import OF_THREADS
from benchgate.judge.accounts.threads.books import CpuBook, ThreadBooks
from benchgate.judge.checks.thread_record import histogram_of, thread_metrics, wake_ups, with_threads
from benchgate.judge.run_files import RunFiles
from benchgate.plan import catalog
from tests.unit.factories import cell, raw_run, verified
from tests.unit.judge.accounts.threads.test_accounting import FILE

CLOCK = (
    "insn-clock 1\nlevel full\nmode serial\nseed 7\nquantum 5000\nfine 100\nrush 25\nvcpus 2\napi 4 2 4\n"
    "mark 03 0 1000\nmark 04 0 4000\n"
    "vcpu 0 time 5000 executed 5000 paused 0 skipped 0 halted 0\n"
    "vcpu 1 time 5000 executed 5000 paused 0 skipped 0 halted 0\n"
    "columns 1 3000 {window}\nworked 0 ff\nspun 0 00\nworked 1 ff\nspun 1 00\nend 5000\nclosed\n"
)


def judged(
    folder: Path,
    threads: str | None,
    *,
    lane: Lane = Lane.INSN,
    window: str = "1000 4000",
    workload: str = "primes",
) -> VerifiedRun:
    log = folder / "clock.log"
    log.write_text(CLOCK.format(window=window), encoding="ascii")
    if threads is not None:
        (folder / "threads.txt").write_text(threads, encoding="ascii")
    placement = Placement.VIRTUAL if lane is Lane.INSN else Placement.PHYSICAL
    raw = raw_run(cell(2), lane=lane, placement=placement, folder=folder)
    raw = replace(raw, clock_log=log if lane is Lane.INSN else None)
    return with_threads(verified(raw, 3000), RunFiles(raw), catalog.load_workload(workload))


def test_an_observed_run_has_the_metrics_and_the_histogram(tmp_path: Path) -> None:
    run = judged(tmp_path, FILE)
    result = {name: run.metrics[name] for name in OF_THREADS if name in run.metrics}
    # CPU 1 wastes 1300 of 2 times 3000 ns; threads waited 100, 700 and 1200 ns
    assert result == {
        "wasted": pytest.approx(1300 / 6000),
        "wasted_longest": 1200.0,
        "sched_wait_p99": 1200.0,
        "sched_wait_max": 1200.0,
    }
    assert run.histograms["sched_wait"].sum == 2000
    assert (run.metrics["work"], run.skipped, run.absent) == (3000.0, {}, {})


@pytest.mark.parametrize(
    ("threads", "lane", "why"), [(None, Lane.INSN, "no record"), (None, Lane.TCG, "lane tcg")]
)
def test_a_run_that_was_not_observed_says_why(threads: None, lane: Lane, why: str, tmp_path: Path) -> None:
    run = judged(tmp_path, threads, lane=lane)
    assert set(run.skipped) == set(OF_THREADS)
    assert all(why in value for value in run.skipped.values())
    assert not set(OF_THREADS) & set(run.metrics)


def test_the_reason_of_the_session_is_told_and_made_visible(tmp_path: Path) -> None:
    (tmp_path / "unobserved.txt").write_text("no BTF in this\x1b image\n", encoding="ascii")
    assert judged(tmp_path, None).skipped["wasted"] == "no BTF in this\\x1b image"


def test_a_record_that_became_full_has_no_figures(tmp_path: Path) -> None:
    run = judged(tmp_path, FILE.replace("exit 0 3500 11\nswitch 0 3600 11 d 0 0", "full 3400"))
    assert set(run.absent) == set(OF_THREADS)
    assert "3400" in run.absent["wasted"]
    assert "wasted" not in run.metrics


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("vcpus 2", "vcpus 3", "3 vCPUs, but the cell has 2"),
        (
            "open 1000",
            "open 999",
            "a window from 999 to 4000, but the marks in the clock's log are at 1000 and 4000",
        ),
        ("wake 0 1300 11 0 2 -\n", "", r"threads.txt:8: .*thread 11, which is blocked"),
    ],
)
def test_a_record_of_another_run_or_a_wrong_one_is_refused(
    old: str, new: str, why: str, tmp_path: Path
) -> None:
    with pytest.raises(VerifyError, match=why):
        judged(tmp_path, FILE.replace(old, new))


HALTS = FILE.replace("threads 1", "threads 2").replace(
    "close", "halt 0 3610\nresume 0 3700\nhalt 1 3990\nclose"
)


def test_the_halts_of_the_record_are_those_of_the_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CPU 1 is still halted at the end, 5000. It has thread 10, which waits from then on: 10 ns of the
    window, beside two times 100 ns until a woken thread ran."""
    exact = CLOCK.replace(
        "executed 5000 paused 0 skipped 0 halted 0", "executed 4910 paused 0 skipped 0 halted 90", 1
    )
    monkeypatch.setattr(f"{__name__}.CLOCK", exact.replace("halted 0\n", "halted 1010\n"))
    run = judged(tmp_path, HALTS)
    assert run.metrics["settling"] == pytest.approx(70)
    monkeypatch.setattr(f"{__name__}.CLOCK", exact)
    with pytest.raises(VerifyError, match="CPU 1 halted for 1010 ns, but the clock's log for 0"):
        judged(tmp_path, HALTS)
    with pytest.raises(VerifyError, match="CPU 0 halted for 80 ns, but the clock's log for 90"):
        judged(tmp_path, HALTS.replace("resume 0 3700", "resume 0 3690"))


@pytest.mark.parametrize("what", ["halt 1 3995", "resume 0 3995", "wake 1 3995 10 0 1 -"])
def test_a_halted_cpu_that_does_something_is_refused(what: str, tmp_path: Path) -> None:
    with pytest.raises(
        VerifyError, match=r"threads\.txt:\d+: .*(halts twice|goes on twice|clock says that it is halted)"
    ):
        judged(tmp_path, HALTS.replace("close", f"{what}\nclose"))


def test_a_wake_up_that_the_guest_timed_is_no_longer_than_the_waits(tmp_path: Path) -> None:
    """Three waits of 1200 ns, a thread that ran for 1600, and 100 us for the calls."""
    schbench = catalog.load_workload("schbench")
    for told, good in ((105_200.0, True), (105_300.0, False)):
        log = tmp_path / "clock.log"
        log.write_text(CLOCK.format(window="1000 4000"), encoding="ascii")
        (tmp_path / "threads.txt").write_text(FILE, encoding="ascii")
        raw = raw_run(cell(2), lane=Lane.INSN, placement=Placement.VIRTUAL, folder=tmp_path)
        raw = replace(raw, clock_log=log)
        timed = verified(raw, 3000)
        timed = replace(timed, metrics={**timed.metrics, "wakeup_p99": told})
        if good:
            assert with_threads(timed, RunFiles(raw), schbench).metrics["sched_wait_max"] == 1200.0
            continue
        with pytest.raises(VerifyError, match=r"wakeup_p99 is 105300 ns, but .* longer than 1200 ns"):
            with_threads(timed, RunFiles(raw), schbench)


def test_a_record_on_wall_time_is_refused(tmp_path: Path) -> None:
    with pytest.raises(VerifyError, match="instruction clock only"):
        judged(tmp_path, FILE, lane=Lane.TCG)


def books(*waits: int, end: int = 1100, cpus: tuple[CpuBook, ...] = ()) -> ThreadBooks:
    return ThreadBooks(len(cpus), 100, end, False, (), (), cpus, (), (), (), (), (), (), waits)


CPUS = (CpuBook(0, 1000, 0, 0, 0, 1, ()), CpuBook(1, 200, 800, 300, 200, 2, ()))


def test_the_share_is_of_all_cpus_time() -> None:
    assert thread_metrics(books(5, 7, cpus=CPUS)) == {
        "wasted": 0.15,
        "wasted_longest": 200.0,
        "settling": 0.0,
        "held": 0.0,
        "sched_wait_p99": 7.0,
        "sched_wait_max": 7.0,
    }


def test_the_percentile_is_one_of_the_waits() -> None:
    waits = (*range(1, 101),)
    result = thread_metrics(books(*waits, cpus=CPUS))
    assert (result["sched_wait_p99"], result["sched_wait_max"]) == (99.0, 100.0)


def test_if_nobody_waited_the_waits_are_nothing() -> None:
    assert thread_metrics(books(cpus=CPUS, end=100)) == dict.fromkeys(
        ("wasted", "settling", "held", "sched_wait_p99", "sched_wait_max"), 0.0
    ) | {"wasted_longest": 200.0}


def test_a_histogram_has_every_wait() -> None:
    seen = histogram_of((3, 3, 1000))
    assert (seen.count, seen.sum, seen.min, seen.max) == (3, 1006, 3, 1000)
    assert list(seen.buckets.values()) == [2, 1]
    assert histogram_of(()).count == 0


@pytest.mark.parametrize(
    ("params", "named"),
    [
        ({"rps": 0, "auto_rps": 0, "pipe": 0, "calibrate": "off"}, {"wakeup"}),
        ({"rps": 2000, "auto_rps": 0, "pipe": 0, "calibrate": "off"}, {"wakeup"}),
    ],
)
def test_a_request_is_no_wake_up(params: dict[str, object], named: set[str]) -> None:
    """It lasts from the same wake-up, but its worker sleeps in it; and with `rps` no machine measures it."""
    assert wake_ups(catalog.load_workload("schbench"), params) == named
