"""What the machine measured of a recorded run counts, and a forged histogram on its console is INVALID."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.cells import Lane
from benchgate.base.errors import VerifyError
from benchgate.base.system.arch import ARCHITECTURES, Architecture
from benchgate.base.workload.metrics import Metric, MetricDirection, MetricKind
from benchgate.base.workload.operations import SpanRule
from benchgate.base.workload.workloads import Workload
from benchgate.insn.log import ClockLog
from benchgate.insn.operations import ThreadOperations
from benchgate.judge import wire
from benchgate.judge.checks.measured import measured, threads_of_workers
from benchgate.judge.checks.thread_record import histogram_of
from benchgate.judge.metrics import MetricSource, computed
from benchgate.judge.run_files import RunFiles
from tests.wirekit import NONCE, PRIMES, primes_run, recorded, version_2

CALLS = SpanRule(("syscalls.write",), ("syscalls.read",))
WAKE = SpanRule(("wake",), ("syscalls.futex",))
INNER = [10_000 + 50 * number for number in range(100)]
OUTER = [length + 116 for length in INNER]
AHEAD = 1_000_000
"""By so much the guest's clock is ahead of the machine's."""


def workload(operation: SpanRule = CALLS) -> Workload:
    return replace(PRIMES, machine={"latency": operation})


def files(folder: Path, said: Sequence[Sequence[int]], lane: Lane = Lane.INSN) -> RunFiles:
    """A run of two workers whose console has these values of each."""
    console = version_2(recorded("good-linux-primes-smp2"), latency=said)
    return RunFiles(replace(primes_run(folder, console), lane=lane))


def seen(
    folder: Path,
    said: Sequence[Sequence[int]],
    spans: Mapping[int, Sequence[int]],
    operation: SpanRule = CALLS,
    lane: Lane = Lane.INSN,
    *,
    step_ns: int = 1,
) -> Mapping[str, object]:
    """`spans`: by worker, from call to call. The threads are logged in the other order."""
    of_run = files(folder, said, lane)
    reports = {report.id: report for report in of_run.transcript.reports}
    threads = [
        ThreadOperations(
            thread=70 + worker,
            worker=None,
            inner=histogram_of(lengths),
            outer=histogram_of([length + 116 for length in lengths]),
            started=reports[worker].start - AHEAD,
            ended=reports[worker].end - AHEAD,
        )
        for worker, lengths in reversed(list(spans.items()))
    ]
    log = ClockLog(7, 5000, 100, 25, 2, (4, 4, 4), (), operations={"latency": tuple(threads)})
    of_run.__dict__["clock"] = log
    return measured(of_run, workload(operation), of_run.transcript, step_ns)


def test_an_honest_histogram_gives_way_to_the_machines(tmp_path: Path) -> None:
    assert seen(tmp_path, [OUTER, []], {0: INNER, 1: []}) == {"latency": histogram_of(OUTER)}
    # nearer to the calls is honest, too; the machine's own counts
    assert seen(tmp_path, [INNER, []], {0: INNER, 1: []}) == {"latency": histogram_of(OUTER)}


def test_each_worker_has_its_own_threads_values(tmp_path: Path) -> None:
    spans = {0: INNER, 1: [2 * length for length in INNER]}
    slow = [length + 116 for length in spans[1]]
    assert seen(tmp_path, [OUTER, slow], spans) == {"latency": histogram_of([*OUTER, *slow])}
    with pytest.raises(VerifyError, match=r"histogram latency of worker 0 .*: value 1 of 100 is at least"):
        seen(tmp_path, [slow, OUTER], spans)


def test_workers_that_began_and_ended_at_once_are_not_told_apart(tmp_path: Path) -> None:
    spans = {0: INNER, 1: [2 * length for length in INNER]}
    slow = [length + 116 for length in spans[1]]
    assert seen(tmp_path, [slow, OUTER], spans, step_ns=10**9)


def test_calls_that_never_happen_measure_nothing(tmp_path: Path) -> None:
    """A workload's YAML may name any; its values are then none that the machine has."""
    with pytest.raises(VerifyError, match="100 values, but the machine measured 0"):
        seen(tmp_path, [OUTER, []], {0: [], 1: []}, SpanRule(("syscalls.sendto",), ("syscalls.recvfrom",)))


def test_values_of_another_thread_are_not_the_workers(tmp_path: Path) -> None:
    with pytest.raises(VerifyError, match="100 values, but the machine measured 0"):
        seen(tmp_path, [OUTER, []], {0: [], 1: INNER})


def test_threads_that_report_no_value_do_not_count(tmp_path: Path) -> None:
    """A server makes the same calls as its client."""
    assert seen(tmp_path, [[], OUTER], {0: [7] * 40, 1: INNER}) == {"latency": histogram_of(OUTER)}


@pytest.mark.parametrize(
    "said",
    [
        [1001] * 99 + [sum(OUTER) - 99 * 1001],
        [value // 2 for value in OUTER],
        [2 * value for value in OUTER],
        [min(value, 12_000) for value in OUTER],
        [0, *OUTER[1:]],
        OUTER[::2],
        [*OUTER, *OUTER],
    ],
)
def test_a_forged_one_is_invalid_with_both_sides(tmp_path: Path, said: list[int]) -> None:
    with pytest.raises(
        VerifyError,
        match=r"the machine contradicts the guest: histogram latency "
        r"\(from syscalls.write to syscalls.read\): .* but the machine measured ",
    ):
        seen(tmp_path, [said, []], {0: INNER, 1: []})


@pytest.mark.parametrize("guest", ARCHITECTURES.values(), ids=str)
def test_an_honest_guest_reads_a_clock_that_goes_in_steps(tmp_path: Path, guest: Architecture) -> None:
    """Linux says ns although RISC-V's clock in QEMU has steps of 100 of them, so each of its lengths is the
    number of steps in it, or one more."""
    step = guest.clock_step_ns
    longer = [-(-length // step) * step for length in OUTER]
    shorter = [length // step * step for length in INNER]
    for said in (longer, shorter):
        assert seen(tmp_path, [said, []], {0: INNER, 1: []}, step_ns=step) == {"latency": histogram_of(OUTER)}
    for lie in ([value + 2 * step + 4 for value in longer], [value - 2 * step - 4 for value in shorter]):
        with pytest.raises(VerifyError, match="the machine contradicts the guest"):
            seen(tmp_path, [lie, []], {0: INNER, 1: []}, step_ns=step)


def test_a_clock_of_ns_excuses_no_steps(tmp_path: Path) -> None:
    said = [-(-length // 100) * 100 for length in OUTER]
    with pytest.raises(VerifyError, match="the machine contradicts the guest"):
        seen(tmp_path, [said, []], {0: INNER, 1: []})


def test_waits_without_a_wake_up_leave_the_figures_to_the_guest(tmp_path: Path) -> None:
    assert seen(tmp_path, [[*OUTER, 90], []], {0: INNER, 1: []}, WAKE) == {}
    assert seen(tmp_path, [OUTER, []], {0: INNER, 1: []}, WAKE) == {"latency": histogram_of(OUTER)}
    with pytest.raises(VerifyError, match="value 2 of 101 is at most"):
        seen(tmp_path, [[90, *(value // 3 for value in OUTER)], []], {0: INNER, 1: []}, WAKE)


def test_without_operations_nothing_is_measured(tmp_path: Path) -> None:
    assert seen(tmp_path, [OUTER, []], {0: INNER, 1: []}, lane=Lane.TCG) == {}
    of_run = files(tmp_path, [OUTER, []])
    of_run.__dict__["clock"] = ClockLog(7, 5000, 100, 25, 2, (4, 4, 4), ())  # an earlier version
    assert measured(of_run, workload(), of_run.transcript, 1) == {}


def test_metrics_take_what_the_machine_measured() -> None:
    said, own = histogram_of([1001] * 100), histogram_of(OUTER)
    metrics = {
        name: Metric(name, kind, MetricDirection.LESS, "ns", of=of, per=per, at=at)
        for name, kind, of, per, at in (
            ("p50", MetricKind.PERCENTILE, "latency", "", 50),
            ("max", MetricKind.PERCENTILE, "latency", "", 100),
            ("mean", MetricKind.TIME, "latency.sum", "latency.count", 0),
            ("rate", MetricKind.RATE, "latency.count", "latency.sum", 0),
        )
    }
    source = MetricSource((), {}, {"latency": said}, 3_000_000_000, None, {"latency": own})
    values = computed(metrics, source)
    assert values["p50"] == own.percentile(50) == pytest.approx(12_566, rel=0.01)
    assert values["max"] == 15_066
    assert values["mean"] == sum(OUTER) / 100
    assert values["rate"] == 100 / (sum(OUTER) / 1e9)


def test_a_worker_is_the_thread_that_read_the_times_that_it_reports(tmp_path: Path) -> None:
    reports = wire.parse(version_2(recorded("good-linux-primes-smp2")), nonce=NONCE).reports
    none = histogram_of([])
    threads = [
        ThreadOperations(number, None, none, none, started=start, ended=end)
        for number, start, end in (
            (5, reports[1].start - 77, reports[1].end - 77),
            (6, reports[0].start - 77, reports[0].end - 77),
        )
    ]
    found = threads_of_workers(threads, reports, 1_000_000_000)
    assert {worker: thread.thread for worker, thread in found.items()} == {0: 6, 1: 5}
    unread = [replace(thread, started=None) for thread in threads]
    assert threads_of_workers(unread, reports, 1_000_000_000) == {}
