"""A run is verified only if everything about it is right; the reason names what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchgate import hooks
from benchgate.base.cells import Cell, Lane, Placement, Window
from benchgate.base.errors import OracleError, VerifyError
from benchgate.base.runs import Ending, RawRun, WorkerReport
from benchgate.base.system.boots import ConsoleWords
from benchgate.base.system.results import ResultDefinition
from benchgate.base.void_rule import VoidRule
from benchgate.base.workload.metrics import Metric, MetricDirection, MetricKind
from benchgate.hooks import Feature, RunCheck
from benchgate.judge import run_files, verify, wire
from benchgate.judge.checks import foreign
from benchgate.judge.checks.transcript_checks import check_took_time
from benchgate.judge.noise import Disturbance
from benchgate.judge.oracles.oracle import ORACLES
from benchgate.judge.run_files import RunFiles
from benchgate.plan import catalog, systemfile
from benchgate.run.thread_use import keep_samples
from tests.unit.noise import counters
from tests.wirekit import (
    CHECKSUM,
    NONCE,
    PRIMES,
    altered,
    checksum_run,
    console,
    field,
    primes_run,
    recorded,
    unframed,
    version_2,
)

SYSTEMS = Path(__file__).parents[3] / "fixtures" / "systems"
GOOD = recorded("good-linux-primes-smp2")
SUMS = recorded("good-linux-checksum-smp2")
SECOND = 1_000_000_000


def test_a_good_primes_run(tmp_path: Path) -> None:
    run = primes_run(tmp_path, GOOD)
    verified = verify.verify(RunFiles(run), PRIMES)
    assert verified.run is run
    assert verified.unit == "ns"
    assert verified.work == field(GOOD, "window", "work_end") - field(GOOD, "window", "work_start")
    assert verified.total == field(GOOD, "window", "total_end") - field(GOOD, "window", "total_start")
    assert verified.lead == field(GOOD, "window", "work_start") - field(GOOD, "window", "total_start")
    assert verified.foreign == field(GOOD, "foreign", "time")
    assert [worker.id for worker in verified.workers] == [0, 1]


def test_a_good_checksum_run(tmp_path: Path) -> None:
    verified = verify.verify(RunFiles(checksum_run(tmp_path, SUMS)), CHECKSUM)
    assert sum(worker.values["blocks"] for worker in verified.workers) == 4096


# ---- metrics, histograms, workers of its own

HOW_LONG = Metric("p99", MetricKind.PERCENTILE, MetricDirection.LESS, "ns", "wakeup", at=99.0)
RATE = Metric("divisions", MetricKind.RATE, MetricDirection.MORE, "/s", "divs")
TIMED = replace(PRIMES, metrics={"p99": HOW_LONG, "divisions": RATE})


def test_metrics_are_the_windows_and_those_that_the_workload_declares(tmp_path: Path) -> None:
    text = version_2(GOOD, wakeup=[[100, 90], [110]])
    seen = verify.verify(RunFiles(primes_run(tmp_path, text)), TIMED)
    work = field(GOOD, "window", "work_end") - field(GOOD, "window", "work_start")
    divisions = field(GOOD, "worker0", "divs") + field(GOOD, "worker1", "divs")
    assert seen.metrics == {
        "p99": 110.0,
        "divisions": pytest.approx(divisions / (work / 1e9)),
        "work": work,
        "total": seen.total,
    }


def test_a_run_of_version_1_has_its_windows_as_metrics(tmp_path: Path) -> None:
    seen = verify.verify(RunFiles(primes_run(tmp_path, GOOD)), PRIMES)
    assert seen.metrics == {"work": seen.work, "total": seen.total}


def test_a_length_in_cycles_becomes_ns(tmp_path: Path) -> None:
    text = version_2(GOOD, hz=1_000_000_000, wakeup=[[100], [3000]])
    lines = [line.replace(" unit=ns hz=1000000000", " unit=cycles hz=1500000000") for line in unframed(text)]
    seen = verify.verify(RunFiles(primes_run(tmp_path, console(*lines))), TIMED)
    assert (seen.unit, seen.metrics["p99"]) == ("cycles", 2000.0)
    assert seen.metrics["work"] == seen.work


def test_a_metric_that_cannot_be_computed_refuses_the_run_by_its_name(tmp_path: Path) -> None:
    with pytest.raises(VerifyError, match="metric p99: the guest reported no histogram `wakeup`"):
        verify.verify(RunFiles(primes_run(tmp_path, version_2(GOOD))), TIMED)


def test_a_run_in_which_nothing_woke_is_verified_without_that_percentile(tmp_path: Path) -> None:
    seen = verify.verify(RunFiles(primes_run(tmp_path, version_2(GOOD, wakeup=[[], []]))), TIMED)
    assert seen.metrics.keys() == {"work", "total", "divisions"}
    assert seen.absent == {"p99": "its histogram `wakeup` is empty"}


def test_a_histogram_with_a_moved_sample_refuses_the_run(tmp_path: Path) -> None:
    text = version_2(GOOD, wakeup=[[100, 90], [110]])
    lines = [line.replace("b90=1 b100=1", "b91=1 b100=1") for line in unframed(text)]
    with pytest.raises(VerifyError, match=r"\(hist\): histogram wakeup of worker 0: places=190, but"):
        verify.verify(RunFiles(primes_run(tmp_path, console(*lines))), TIMED)


def on_one_cpu(folder: Path, text: bytes) -> RawRun:
    """Both workers of this console on one CPU."""
    text = altered(text, "begin", online=1)
    for worker in ("worker0", "worker1"):
        text = altered(text, worker, cpu=0, cpu_end=0)
    run = primes_run(folder, text)
    return replace(run, cell=replace(run.cell, cpus=1), pins=(0,))


CLOCK = "insn-clock 1\nlevel full\nmode serial\nseed 0\nquantum 5000\nfine 100\nrush 25\nvcpus 1\napi 4 2 4\n"


def on_the_clock(run: RawRun, times: list[tuple[int, int]]) -> RawRun:
    """The same run on the instruction clock, with these marks: time and kind."""
    log = run.folder / "clock.log"
    log.write_text(CLOCK + "".join(f"mark 0{kind} 0 {at}\n" for at, kind in times))
    return replace(run, lane=Lane.INSN, placement=Placement.VIRTUAL, pins=(), clock_log=log)


def test_on_the_instruction_clock_the_window_is_that_of_all_workers_marks(tmp_path: Path) -> None:
    """A guest that counts cycles at 1.5 GHz: its 1,500 are 1,000 ns. Its two workers share one CPU."""
    lines = unframed(version_2(GOOD, wakeup=[[100], [3000]]))
    lines = [line.replace(" unit=ns hz=1000000000", " unit=cycles hz=1500000000") for line in lines]
    text = altered(console(*lines), "foreign", time=0)
    first = field(text, "window", "total_start")
    marks = [(field(text, "window", "total_start"), 3), (field(text, "window", "total_end"), 4)]
    for worker in ("worker0", "worker1"):
        marks += [(field(text, worker, "start"), 1), (field(text, worker, "end"), 2)]
    times = sorted(((at - first) * 2 // 3, kind) for at, kind in marks)
    run = on_the_clock(on_one_cpu(tmp_path, text), times)
    seen = verify.verify(RunFiles(run), replace(TIMED, own_workers=True))
    begins, ends = ([at for at, kind in times if kind == one] for one in (1, 2))
    assert (seen.unit, seen.work) == ("insn", max(ends) - min(begins))
    assert seen.lead == min(begins)  # the total window begins at 0
    divisions = field(text, "worker0", "divs") + field(text, "worker1", "divs")
    assert seen.metrics["divisions"] == pytest.approx(divisions * SECOND / seen.work)
    assert seen.metrics["p99"] == 2000.0


def test_on_the_instruction_clock_a_run_used_the_cpus_that_were_awake(tmp_path: Path) -> None:
    """One of two vCPUs is halted for the second half of the window, by the columns of the log."""
    lines = unframed(altered(GOOD, "foreign", time=0))
    text = console(*lines)
    times = [field(text, "window", name) for name in ("total_start", "work_start", "work_end", "total_end")]
    began, first, last, ended = (at - times[0] for at in times)
    width = (ended + 1) // 2
    marks = [(3, 0, began), (1, 0, first), (1, 1, first), (2, 1, last), (2, 0, last), (4, 0, ended)]
    log = tmp_path / "clock.log"
    log.write_text(
        CLOCK.replace("vcpus 1", "vcpus 2")
        + "".join(f"mark 0{kind} {vcpu} {at}\n" for kind, vcpu, at in marks)
        + f"vcpu 0 time {ended} executed {ended} paused 0 skipped 0 halted 0\n"
        + f"vcpu 1 time {ended} executed {ended} paused 0 skipped 0 halted 0\n"
        + f"columns 2 {width} 0 {ended}\nworked 0 ffff\nspun 0 0000\nworked 1 ff00\nspun 1 0000\n"
        + f"end {ended}\nclosed\n"
    )
    run = replace(
        primes_run(tmp_path, text), lane=Lane.INSN, placement=Placement.VIRTUAL, pins=(), clock_log=log
    )
    seen = verify.verify(RunFiles(run), PRIMES)
    assert seen.cpu_work.used[Window.TOTAL].awake.high == pytest.approx(1.5, abs=0.01)
    assert seen.cpu_work.used[Window.WORK].worked is not None
    halted = log.read_text().replace("worked 1 ff00", "worked 1 0000")
    log.write_text(halted)
    with pytest.raises(
        VerifyError, match=r"on each of 2 of them for at least .* only 1 vCPU ran for as much"
    ):
        verify.verify(RunFiles(run), PRIMES)


def test_in_wall_time_a_cpu_that_a_worker_names_must_have_run(tmp_path: Path) -> None:
    run = primes_run(tmp_path, GOOD)
    work = field(GOOD, "window", "work_end") - field(GOOD, "window", "work_start")
    keep_samples(tmp_path, counters((0, 0)))
    seen = verify.verify(RunFiles(run), PRIMES)
    assert seen.cpu_work.used[Window.WORK].awake.high == min(2, 2 * SECOND / work)
    keep_samples(tmp_path, counters((0, 0), idle={1: SECOND - 1000}))
    with pytest.raises(VerifyError, match=r"only 1 vCPU ran for as much as 10% of that; the next .* 1000"):
        verify.verify(RunFiles(run), PRIMES)


def test_without_an_account_the_workers_reports_count(tmp_path: Path) -> None:
    crowded = altered(altered(GOOD, "worker0", cpu=0, cpu_end=0), "worker1", cpu=0, cpu_end=0)
    for text, cpus in ((GOOD, 2), (crowded, 1)):
        seen = verify.verify(RunFiles(primes_run(tmp_path, text)), PRIMES)
        assert seen.cpu_work.used[Window.WORK].awake.high == cpus


def test_workers_that_make_calls_take_turns(tmp_path: Path) -> None:
    """How often they switch depends on the interleaving, as of those that share CPUs."""
    files = RunFiles(primes_run(tmp_path, GOOD))
    calling = replace(PRIMES, needs=("park",))
    seen = [verify.verify(files, workload).cpu_work.takes_turns for workload in (PRIMES, calling)]
    assert seen == [False, True]


def test_only_a_workload_with_its_own_workers_may_have_another_number(tmp_path: Path) -> None:
    run = on_one_cpu(tmp_path, GOOD)
    with pytest.raises(VerifyError, match="requested workers 1, but the guest reports 2"):
        verify.verify(RunFiles(run), PRIMES)
    seen = verify.verify(RunFiles(run), replace(PRIMES, own_workers=True))
    assert len(seen.workers) == 2


def test_a_guest_that_powers_off(tmp_path: Path) -> None:
    assert verify.verify(RunFiles(replace(primes_run(tmp_path, GOOD), exit_status=0)), PRIMES).work > 0


@pytest.mark.parametrize(
    ("up", "said"),
    [
        (b"2 CPUs up\n", ""),
        (b"1 CPUs up\n", "but 1 came up"),
        (b"", "online: nothing on the console matches"),
    ],
)
def test_the_online_pattern_must_show_the_requested_cpus(tmp_path: Path, up: bytes, said: str) -> None:
    """The begin line is not enough, because a port may only repeat the requested number there."""
    system = replace(
        systemfile.load(SYSTEMS / "linux.yaml"), console=ConsoleWords(online="^(?P<n>[0-9]+) CPUs up$")
    )
    run = primes_run(tmp_path, up + GOOD)
    if not said:
        assert verify.verify_on(run, PRIMES, system).work > 0
        return
    with pytest.raises(VerifyError, match=said):
        verify.verify_on(run, PRIMES, system)


@pytest.mark.parametrize("at", ["first", "last"])
def test_a_failure_pattern_anywhere_on_the_console_refuses_the_run(tmp_path: Path, at: str) -> None:
    """The live watcher misses a failure on a line that another pattern consumed, or after the end line."""
    line = b"benchready BUG: soft lockup\r\n"
    run = primes_run(tmp_path, line + GOOD if at == "first" else GOOD + line)
    with pytest.raises(VerifyError, match="its console matches the failure pattern `BUG: `"):
        verify.verify_on(run, PRIMES, systemfile.load(SYSTEMS / "linux.yaml"))


CHECKS = """
from dataclasses import replace
from benchgate.base.errors import VerifyError

def counted(run, files, workload):
    return replace(run, metrics={**run.metrics, "asked": run.metrics.get("asked", 0) + 1})

def refused(run, files, workload):
    raise VerifyError(f"{workload.name} has no such figure")
"""


def test_the_checks_of_features_are_asked_of_the_runs_of_their_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "checks_of_a_feature.py").write_text(CHECKS)
    monkeypatch.syspath_prepend(tmp_path)
    run, system = primes_run(tmp_path / "run", GOOD), systemfile.load(SYSTEMS / "linux.yaml")

    def asked(*checks: RunCheck) -> float:
        monkeypatch.setattr(hooks, "shipped", lambda: {"x": Feature(checks=checks)})
        return verify.verify_on(run, PRIMES, system).metrics.get("asked", 0)

    counted, refused = (f"checks_of_a_feature:{name}" for name in ("counted", "refused"))
    assert asked() == asked(RunCheck(refused, workload="other")) == 0
    assert asked(RunCheck(counted), RunCheck(counted, workload=PRIMES.name)) == 2
    with pytest.raises(VerifyError, match="primes has no such figure"):
        asked(RunCheck(refused, workload=PRIMES.name))


REPORTS = [
    "WARNING: possible circular locking dependency detected",
    "[    2.500000] WARNING: bad unlock balance detected!",
    "[    2.500000][   T71] WARNING: CPU: 1 PID: 71 at kernel/sched/core.c:1 x+0x1/0x2",
    "BUG: sleeping function called from invalid context at kernel/planted.c:3",
    "BUG: KCSAN: data-race in plant / plant",
    "INFO: trying to register non-static key.",
    "rv: monitor wwnr does not allow event wakeup on state running",
    "[    2.5] rv: rtapp_sleep[71]: violation detected",
]


@pytest.mark.parametrize("report", REPORTS)
def test_what_a_linux_reports_of_itself_refuses_the_run_and_is_named(tmp_path: Path, report: str) -> None:
    """By the live watcher with the line itself; here it came after the end line."""
    run = primes_run(tmp_path, GOOD + f"{report}\r\n".encode())
    with pytest.raises(VerifyError, match="its console matches the failure pattern"):
        verify.verify_on(run, PRIMES, catalog.load_system("linux"))


@pytest.mark.parametrize(
    "line", ["Spectre V2 : WARNING: Unprivileged eBPF is enabled", "rv: monitor wip is on"]
)
def test_other_lines_of_a_linux_do_not(tmp_path: Path, line: str) -> None:
    run = primes_run(tmp_path, GOOD + f"{line}\r\n".encode())
    assert verify.verify_on(run, PRIMES, catalog.load_system("linux")).work > 0


def test_a_run_of_a_scheduler_in_bpf_needs_the_kernels_word_for_it(tmp_path: Path) -> None:
    linux = systemfile.load(SYSTEMS / "linux.yaml")
    system = replace(linux, boot=replace(linux.boot, scheduler="/b/scx_simple"))
    facts = b"state=enabled ops=simple switch_all=1 enable_seq=1 nr_rejected=0\r\n"
    lines = b"benchscx at=begin " + facts + b"benchscx at=end " + facts
    assert verify.verify_on(primes_run(tmp_path / "a", GOOD + lines), PRIMES, system).work > 0
    with pytest.raises(VerifyError, match="which scheduler is in charge, and it printed nothing"):
        verify.verify_on(primes_run(tmp_path / "b", GOOD), PRIMES, system)
    gone = lines.replace(b"at=end state=enabled", b"at=end state=disabled")
    with pytest.raises(VerifyError, match=r"workload its state was `disabled`; the kernel says: x$"):
        verify.verify_on(primes_run(tmp_path / "c", GOOD + b"sched_ext: x\r\n" + gone), PRIMES, system)
    failed = b"benchscx said: Failed to load skel\r\nbenchfail: init: it ended\r\n"
    with pytest.raises(
        VerifyError, match=r"benchfail: init: it ended.*; its program says: Failed to load skel"
    ):
        verify.verify_on(primes_run(tmp_path / "d", failed), PRIMES, system)


def test_a_run_on_other_settings_is_refused_and_a_file_that_was_not_written_has_a_reason(
    tmp_path: Path,
) -> None:
    system = catalog.load_system("linux:features=NO_X")
    lines = b"".join(
        b"benchset at=%b /sys/kernel/debug/sched/features = %%b\r\n" % at for at in (b"begin", b"end")
    )
    assert (
        verify.verify_on(primes_run(tmp_path / "a", GOOD + lines % (b"NO_X", b"NO_X")), PRIMES, system).work
        > 0
    )
    with pytest.raises(VerifyError, match=r"with features=NO_X: after the workload .* showed `X`"):
        verify.verify_on(primes_run(tmp_path / "b", GOOD + lines % (b"NO_X", b"X")), PRIMES, system)
    failed = b"benchfail: init: /sys/kernel/debug/sched/features: NO_X: No such file or directory\r\n"
    with pytest.raises(
        VerifyError, match=r"No such file or directory.*; so it is if the kernel was built without"
    ):
        verify.verify_on(primes_run(tmp_path / "c", failed), PRIMES, system)


def test_only_a_system_with_foreign_na_may_omit_foreign_time(tmp_path: Path) -> None:
    run = primes_run(tmp_path, altered(GOOD, "foreign", time="na"))
    assert verify.verify(RunFiles(run), PRIMES, ResultDefinition(counts_foreign=False)).foreign is None
    with pytest.raises(VerifyError, match=r"foreign time=na.* write `foreign: na` under `result`"):
        verify.verify(RunFiles(run), PRIMES)
    native = systemfile.load(SYSTEMS / "native.yaml")
    linux = systemfile.load(SYSTEMS / "linux.yaml")
    assert (native.result.counts_foreign, linux.result.counts_foreign) == (False, True)


# ---- how it ended


@pytest.mark.parametrize("ending", [ending for ending in Ending if ending is not Ending.DONE])
def test_a_bad_ending_is_refused_even_with_a_complete_console(tmp_path: Path, ending: Ending) -> None:
    run = replace(primes_run(tmp_path, GOOD), ending=ending, detail="as seen")
    with pytest.raises(VerifyError, match=f"ended with {ending}: as seen"):
        verify.verify(RunFiles(run), PRIMES)


@pytest.mark.parametrize("status", [35, 1, -9, None])
def test_a_bad_exit_status_is_refused(tmp_path: Path, status: int | None) -> None:
    with pytest.raises(VerifyError, match="does not mean success"):
        verify.verify(RunFiles(replace(primes_run(tmp_path, GOOD), exit_status=status)), PRIMES)


def test_exit_status_33_is_not_a_success_of_a_native_run(tmp_path: Path) -> None:
    with pytest.raises(VerifyError, match="exit status 33"):
        verify.verify(RunFiles(replace(primes_run(tmp_path, GOOD), lane=Lane.NATIVE)), PRIMES)


def test_a_panic_after_the_end_line_counts(tmp_path: Path) -> None:
    run = primes_run(tmp_path, GOOD + b"[ 4.2] Kernel panic - not syncing: late\r\n")
    with pytest.raises(VerifyError, match="Kernel panic - not syncing: late"):
        verify.verify(RunFiles(run), PRIMES)


def test_a_missing_console_is_refused(tmp_path: Path) -> None:
    run = primes_run(tmp_path, GOOD)
    (tmp_path / run_files.CONSOLE).unlink()
    with pytest.raises(VerifyError, match=r"serial\.log cannot be read: No such file"):
        verify.verify(RunFiles(run), PRIMES)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("return False", "returned False; it must return nothing, or raise VerifyError"),
        ("return True", "returned True"),
        ("assert result['sum'] == 1, 'so not'", "could not check the answers: AssertionError: so not"),
        ("reports[0].values['none']", "could not check the answers: KeyError: 'none'"),
    ],
)
def test_an_oracle_that_raises_or_returns_something_else_refuses_the_run(
    tmp_path: Path, body: str, reason: str
) -> None:
    path = tmp_path / "mine.py"
    path.write_text(f"def check(params, reports, result):\n    {body}\n")
    with pytest.raises(VerifyError, match=reason):
        verify.verify(RunFiles(primes_run(tmp_path, GOOD)), replace(PRIMES, oracle=path))


def test_a_missing_oracle_refuses_the_run(tmp_path: Path) -> None:
    with pytest.raises(VerifyError, match=r"no oracle file .*moon\.py"):
        verify.verify(RunFiles(primes_run(tmp_path, GOOD)), replace(PRIMES, oracle=tmp_path / "moon.py"))


# ---- lies, each in a frame that is right


def one_more(kind: str, key: str, by: int = 1) -> Callable[[bytes], bytes]:
    return lambda text: altered(text, kind, **{key: field(text, kind, key) + by})


def said(kind: str, **changes: object) -> Callable[[bytes], bytes]:
    return lambda text: altered(text, kind, **changes)


def both_ranges_shifted(text: bytes) -> bytes:
    """Moves the border between both ranges by two numbers, but leaves the workers' values unchanged."""
    cut = field(text, "worker0", "hi") + 2
    return altered(altered(text, "worker0", hi=cut), "worker1", lo=cut)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        pytest.param(
            one_more("worker1", "count", -1), r"worker 1 reported count=\d+, expected", id="fewer primes"
        ),
        pytest.param(one_more("worker0", "sum"), "worker 0 reported sum=", id="sum"),
        pytest.param(one_more("worker0", "divs", -1), "worker 0 reported divs=", id="divisions saved"),
        pytest.param(one_more("result", "count"), "the result reported count=", id="result"),
        pytest.param(one_more("result", "divs"), "the result reported divs=", id="result divs"),
        pytest.param(both_ranges_shifted, "worker 0 reported", id="other ranges"),
        pytest.param(one_more("worker1", "lo"), "its range starts at", id="gap between ranges"),
        pytest.param(one_more("worker1", "hi", -1), "ranges end at 100000", id="last number left out"),
        pytest.param(one_more("worker0", "lo"), "worker 0 had 3", id="first number left out"),
        pytest.param(said("begin", online=1), "2 CPUs were requested, but 1 came up", id="a CPU is missing"),
        pytest.param(said("begin", online=3), "2 CPUs were requested, but 3 came up", id="a CPU too many"),
        pytest.param(said("begin", hi=100001), "parameter hi 100000, but", id="other parameter"),
        pytest.param(said("begin", split="width"), "parameter split cost, but", id="other split"),
        pytest.param(said("begin", system="native"), "system linux, but .* system native", id="other system"),
        pytest.param(said("begin", workload="primer"), "workload primes, but", id="other workload"),
        pytest.param(said("begin", mode="thread"), "mode process, but", id="other mode"),
        pytest.param(said("begin", unit="ms"), "unknown unit ms", id="other unit"),
        pytest.param(
            said("worker1", cpu=2), "worker 1 reports that it ran on CPU 2", id="CPU that is not there"
        ),
        pytest.param(said("worker0", start=1), "worker 0 ran outside the total window", id="early start"),
        pytest.param(one_more("worker1", "end", 10**9), "worker 1 ran outside", id="late end"),
        pytest.param(
            one_more("window", "work_start"), "differs from the workers' own", id="window too short"
        ),
        pytest.param(
            one_more("window", "work_end", -1), "differs from the workers' own", id="window ends early"
        ),
        pytest.param(
            one_more("window", "total_end", -(10**9)), "outside the total window", id="total in work"
        ),
        pytest.param(
            said("foreign", time="na"),
            "the guest did not count foreign CPU time",
            id="foreign",
        ),
    ],
)
def test_a_wrong_report_about_primes_is_refused(
    tmp_path: Path, change: Callable[[bytes], bytes], reason: str
) -> None:
    with pytest.raises(VerifyError, match=reason):
        verify.verify(RunFiles(primes_run(tmp_path, change(GOOD))), PRIMES)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        pytest.param(said("worker1", fold="0x" + "0" * 16), "worker 1 reported fold=0", id="fold"),
        pytest.param(
            one_more("worker0", "blocks", -1), "worker 0 reported blocks=2047", id="a block left out"
        ),
        pytest.param(said("result", root="0x" + "1" * 16), "the result reported root=", id="root"),
        pytest.param(one_more("worker1", "lo", -1), "its range starts at 2048", id="overlap"),
    ],
)
def test_a_wrong_report_about_checksums_is_refused(
    tmp_path: Path, change: Callable[[bytes], bytes], reason: str
) -> None:
    with pytest.raises(VerifyError, match=reason):
        verify.verify(RunFiles(checksum_run(tmp_path, change(SUMS))), CHECKSUM)


# ---- negative controls: cut as asked, or they control nothing

ONE, ONE_SUMS = recorded("one-linux-primes-smp2"), recorded("one-linux-checksum-smp2")


def with_split(run: RawRun, split: str) -> RawRun:
    params = tuple((name, split if name == "split" else value) for name, value in run.cell.params)
    return replace(run, cell=replace(run.cell, params=params))


def test_split_one_gives_all_work_to_one_worker(tmp_path: Path) -> None:
    primes = verify.verify(RunFiles(with_split(primes_run(tmp_path / "p", ONE), "one")), PRIMES)
    sums = verify.verify(RunFiles(with_split(checksum_run(tmp_path / "c", ONE_SUMS), "one")), CHECKSUM)
    assert [worker.values["divs"] for worker in primes.workers] == [1_445_439, 0]
    assert [worker.values["blocks"] for worker in sums.workers] == [4096, 0]


@pytest.mark.parametrize(
    ("text", "split", "reason"),
    [
        pytest.param(altered(GOOD, "begin", split="one"), "one", "wrong split: worker 1 had", id="shared"),
        pytest.param(altered(ONE, "begin", split="cost"), "cost", "unequal split: worker 0", id="not shared"),
        pytest.param(
            altered(ONE, "begin", split="width"),
            "width",
            r"wrong split: worker 0 had 99999 items, but each should have 49999\.5",
            id="no equal width",
        ),
        pytest.param(
            altered(GOOD, "begin", split="width"), "width", "wrong split: worker 0 had", id="cost for width"
        ),
        pytest.param(altered(ONE, "begin", split="moon"), "moon", "split=moon is not cost", id="unknown"),
        pytest.param(ONE, "cost", "parameter split cost, but the guest reports one", id="other cell"),
        pytest.param(
            altered(ONE, "worker1", count=1), "one", "worker 1 reported count=1", id="idle but counting"
        ),
        pytest.param(
            altered(ONE, "worker1", lo=5, hi=5), "one", "its range starts at 100001", id="elsewhere"
        ),
        pytest.param(altered(ONE, "worker1", end=1), "one", "worker 1 ended", id="idle and backwards"),
    ],
)
def test_primes_with_another_split_than_requested_are_refused(
    tmp_path: Path, text: bytes, split: str, reason: str
) -> None:
    with pytest.raises(VerifyError, match=reason):
        verify.verify(RunFiles(with_split(primes_run(tmp_path, text), split)), PRIMES)


@pytest.mark.parametrize(
    ("text", "split", "reason"),
    [
        pytest.param(altered(SUMS, "begin", split="one"), "one", "wrong split: worker 1 had", id="shared"),
        pytest.param(
            altered(ONE_SUMS, "begin", split="cost"), "cost", "unequal split: worker 0", id="not shared"
        ),
        pytest.param(altered(ONE_SUMS, "worker1", blocks=1), "one", "worker 1 reported blocks=1", id="idle"),
    ],
)
def test_checksums_with_another_split_than_requested_are_refused(
    tmp_path: Path, text: bytes, split: str, reason: str
) -> None:
    with pytest.raises(VerifyError, match=reason):
        verify.verify(RunFiles(with_split(checksum_run(tmp_path, text), split)), CHECKSUM)


def test_an_idle_worker_may_start_and_end_in_one_tick(tmp_path: Path) -> None:
    text = altered(ONE, "worker1", end=field(ONE, "worker1", "start"))
    assert verify.verify(RunFiles(with_split(primes_run(tmp_path, text), "one")), PRIMES).work > 0


@pytest.mark.parametrize(
    ("values", "is_idle"),
    [
        ({"items": 0, "sum": 0}, True),
        ({"items": 1, "sum": 0}, False),
        ({}, False),
        ({"divs": 0, "own": 3}, True),
        ({"divs": 1, "own": 3}, False),
        ({"items": 0, "own": 3}, False),
    ],
)
def test_one_that_came_too_late_for_any_work_may_start_and_end_in_one_tick(
    values: dict[str, int], is_idle: bool
) -> None:
    """Where workers take their work as they go, it has no range. What a metric counts tells whether it had
    any; without one, all that it reports."""
    workers = (WorkerReport(0, 0, 0, 10, 30, {"items": 1, "sum": 7}), WorkerReport(1, 1, 1, 20, 20, values))
    transcript: Any = SimpleNamespace(reports=workers)
    if is_idle:
        check_took_time(transcript, TIMED)
        return
    with pytest.raises(VerifyError, match="worker 1 ended at 20, not after its start at 20"):
        check_took_time(transcript, TIMED)


def test_a_worker_that_ends_before_its_start_is_refused(tmp_path: Path) -> None:
    start = field(GOOD, "worker0", "start")
    with pytest.raises(VerifyError, match=r"worker 0 ended at .* not after its start"):
        verify.verify(RunFiles(primes_run(tmp_path, altered(GOOD, "worker0", end=start))), PRIMES)


def test_counters_that_do_not_balance_are_refused(tmp_path: Path) -> None:
    lines = [line.removeprefix("@bench ").rsplit(" seq=", 1)[0] for line in GOOD.decode("latin1").split("\n")]
    kept = [
        line for line in lines if line.split(" ")[0] in ("begin", "worker", "window", "result", "foreign")
    ]
    good = console(*kept, "balance name=queue0 left=7 right=7")
    verify.verify(RunFiles(primes_run(tmp_path / "good", good)), PRIMES)
    bad = console(*kept, "balance name=queue0 left=7 right=8")
    with pytest.raises(VerifyError, match="do not balance: queue0: 7 is not 8"):
        verify.verify(RunFiles(primes_run(tmp_path / "bad", bad)), PRIMES)


# ---- the host's own clock


@pytest.mark.parametrize(("unit", "factor"), [("ns", 1), ("cycles", 10)])
def test_a_window_longer_than_the_run_by_the_hosts_clock_is_refused(
    tmp_path: Path, unit: str, factor: int
) -> None:
    text = altered(altered(GOOD, "begin", unit=unit), "foreign", time=0)
    begin = field(text, "window", "total_start")
    most = (3 * SECOND + SECOND) * factor
    run = replace(
        primes_run(tmp_path, altered(text, "window", total_end=begin + most)), host_span_ns=2 * SECOND
    )
    assert verify.verify(RunFiles(run), PRIMES).total == most
    run = replace(
        primes_run(tmp_path, altered(text, "window", total_end=begin + most + 1)), host_span_ns=2 * SECOND
    )
    with pytest.raises(VerifyError, match=rf"the window is {most + 1} {unit} long, .* only 2000000000 ns"):
        verify.verify(RunFiles(run), PRIMES)


@pytest.mark.parametrize("more", [0, 1])
def test_a_guest_that_says_its_hz_is_held_to_it(tmp_path: Path, more: int) -> None:
    lines = unframed(version_2(GOOD))
    lines = [line.replace("unit=ns hz=1000000000", "unit=cycles hz=2000000000") for line in lines]
    text = altered(console(*lines), "foreign", time=0)
    most = (3 * SECOND + SECOND) * 2 + more
    text = altered(text, "window", total_end=field(text, "window", "total_start") + most)
    run = replace(primes_run(tmp_path, text), host_span_ns=2 * SECOND)
    if not more:
        assert verify.verify(RunFiles(run), PRIMES).total == most
        return
    with pytest.raises(VerifyError, match="the guest's clock is wrong"):
        verify.verify(RunFiles(run), PRIMES)


def test_a_window_that_begins_before_the_boot_is_refused(tmp_path: Path) -> None:
    run = primes_run(tmp_path, altered(GOOD, "window", total_start=0))
    assert field(GOOD, "window", "total_end") > 1.5 * SECOND
    with pytest.raises(VerifyError, match="the guest's clock is wrong"):
        verify.verify(RunFiles(replace(run, host_span_ns=SECOND // 4)), PRIMES)


@pytest.mark.parametrize("delay", [20_000_000, 20_100_000], ids=["quiet", "starved"])
def test_a_wrong_clock_is_the_guests_fault_only_on_a_quiet_host(tmp_path: Path, delay: int) -> None:
    """A guest that is starved while it measures its clock by a timer measures it wrongly."""
    run = replace(primes_run(tmp_path, altered(GOOD, "window", total_start=0)), host_span_ns=SECOND // 4)
    keep_samples(run.folder, counters(delays=(0, delay)))
    if delay > 20_000_000:
        assert verify.verify(RunFiles(run), PRIMES, rule=VoidRule()).void == "run delay 2.01% (limit 2%)"
        return
    with pytest.raises(VerifyError, match="the guest's clock is wrong"):
        verify.verify(RunFiles(run), PRIMES, rule=VoidRule())


def test_a_run_without_the_hosts_span_is_refused(tmp_path: Path) -> None:
    with pytest.raises(VerifyError, match="its window cannot be checked"):
        verify.verify(RunFiles(replace(primes_run(tmp_path, GOOD), host_span_ns=None)), PRIMES)


def test_a_window_too_short_for_a_wall_clock_is_refused(tmp_path: Path) -> None:
    start = field(GOOD, "window", "work_start")
    text = altered(GOOD, "window", work_end=start + 9_999)
    for worker in ("worker0", "worker1"):
        text = altered(text, worker, start=start, end=start + 9_999)
    with pytest.raises(VerifyError, match="a work window of 9999 ns is too short"):
        verify.verify(RunFiles(primes_run(tmp_path, text)), PRIMES)


# ---- native placement


def native(run: RawRun, pins: tuple[int, ...]) -> RawRun:
    return replace(run, lane=Lane.NATIVE, exit_status=0, pins=pins)


def test_native_workers_run_where_they_were_pinned(tmp_path: Path) -> None:
    text = altered(GOOD, "worker0", cpu=6, cpu_end=6)
    text = altered(text, "worker1", cpu=4, cpu_end=4)
    verify.verify(RunFiles(native(primes_run(tmp_path, text), (6, 4))), PRIMES)
    with pytest.raises(VerifyError, match="worker 0 reports that it ran on CPU 6, then 6; its CPUs were 4"):
        verify.verify(RunFiles(native(primes_run(tmp_path, text), (4, 6))), PRIMES)


def test_native_workers_may_share_a_pin(tmp_path: Path) -> None:
    text = altered(GOOD, "begin", online=1)
    for worker in ("worker0", "worker1"):
        text = altered(text, worker, cpu=4, cpu_end=4)
    verify.verify(RunFiles(native(primes_run(tmp_path, text), (4,))), PRIMES)


# ---- how much foreign time


def transcript(**changes: object) -> wire.Transcript:
    text = GOOD
    for key, value in changes.items():
        text = altered(text, "begin", **{key: value})
    return wire.parse(text, nonce=NONCE)


def test_the_limit_of_foreign_time(tmp_path: Path) -> None:
    run = primes_run(tmp_path, GOOD)
    said = replace(transcript(), work_start=0, work_end=2_000_000_000)
    share = 0.005 * 2_000_000_000 * 2
    assert foreign.foreign_limit(replace(run, lane=Lane.INSN), said) == pytest.approx(share)
    assert foreign.foreign_limit(run, said) == pytest.approx(share)


def test_a_short_window_has_a_floor(tmp_path: Path) -> None:
    run = replace(primes_run(tmp_path, GOOD), lane=Lane.INSN)
    assert foreign.foreign_limit(run, transcript()) == 2 * foreign.FOREIGN_FLOOR_NS
    fast = replace(run, lane=Lane.KVM)
    seen = replace(transcript(), total_start=transcript().work_start, total_end=transcript().work_end)
    assert foreign.foreign_limit(fast, seen) == 2 * foreign.FOREIGN_FLOOR_NS
    cycles = replace(seen, unit="cycles")
    assert foreign.foreign_limit(run, cycles) == 2 * foreign.FOREIGN_FLOOR_NS
    assert foreign.foreign_limit(fast, cycles) == 3 * 2 * foreign.FOREIGN_FLOOR_NS


def on_a_slower_host(factor: int, foreign_ns: int) -> bytes:
    """A run of 460 ms, of which 9 ms are starts and ends, on a host that needs `factor` times as long."""
    text = altered(GOOD, "worker0", start=5_000_000 * factor, end=465_000_000 * factor)
    text = altered(text, "worker1", start=5_000_000 * factor, end=460_000_000 * factor)
    window = {"work_start": 5_000_000, "work_end": 465_000_000, "total_start": 0, "total_end": 469_000_000}
    text = altered(text, "window", **{name: time * factor for name, time in window.items()})
    return altered(text, "foreign", time=foreign_ns * factor)


@pytest.mark.parametrize("lane", [Lane.TCG, Lane.KVM])
@pytest.mark.parametrize("factor", [1, 3, 20])
@pytest.mark.parametrize(
    ("foreign_ns", "found"),
    [(10_575_961, "a sample"), (18_000_001, "void"), (115_000_001, "invalid")],
)
def test_under_emulation_the_hosts_speed_does_not_decide_if_a_guest_was_quiet(
    tmp_path: Path, lane: Lane, factor: int, foreign_ns: int, found: str
) -> None:
    """Everything that the guest does takes longer by the same factor on a slow host; KVM may be nested."""
    run = replace(primes_run(tmp_path, on_a_slower_host(factor, foreign_ns)), lane=lane)
    keep_samples(run.folder, counters())
    if found == "invalid":
        with pytest.raises(VerifyError, match=r"the guest was not quiet: .* 25\.0% of the work window"):
            verify.verify(RunFiles(run), PRIMES, rule=VoidRule())
        return
    seen = verify.verify(RunFiles(run), PRIMES, rule=VoidRule())
    assert ("tasks other than the workers used" in seen.void) is (found == "void")
    assert seen.foreign == foreign_ns * factor


def test_workers_on_a_halted_vcpu_are_refused_unless_the_run_is_void(tmp_path: Path) -> None:
    """A host that had no time for a vCPU may also have had none for whoever looks at it."""
    run = primes_run(tmp_path, GOOD)
    keep_samples(run.folder, counters(idle={1: SECOND}))
    with pytest.raises(
        VerifyError, match="only 1 vCPU ran for as much as 10% of that; the next one for 0 ns"
    ):
        verify.verify(RunFiles(run), PRIMES, rule=VoidRule())
    keep_samples(run.folder, counters((25_000_000, 0), idle={1: SECOND}))
    assert "run delay 2.5%" in verify.verify(RunFiles(run), PRIMES, rule=VoidRule()).void


@pytest.mark.parametrize(("before_ready", "void"), [(SECOND, True), (1000, False)])
def test_work_that_was_done_before_the_host_read_the_ready_line_voids_the_run(
    tmp_path: Path, before_ready: int, void: bool
) -> None:
    """Under nested KVM the host read the ready line after the workers had ended: their vCPUs had run for 0 ns
    since, and correct runs were refused."""
    run = primes_run(tmp_path, GOOD)
    start, ready, result = counters(idle={1: SECOND})
    earlier = replace(start.threads[-1].counters, run_ns=5)
    later = replace(start.threads[-1].counters, run_ns=5 + before_ready)
    start, ready, result = (
        replace(sample, threads=(*sample.threads[:-1], replace(sample.threads[-1], counters=counted)))
        for sample, counted in ((start, earlier), (ready, later), (result, later))
    )
    keep_samples(run.folder, (start, ready, result))
    if void:
        assert "read the guest's ready line only after" in verify.verify(RunFiles(run), PRIMES).void
        return
    with pytest.raises(VerifyError, match="the next one for 0 ns"):
        verify.verify(RunFiles(run), PRIMES)


BUSY = altered(GOOD, "foreign", time=55_467_838)
"""10 ms above the limit, which is twice as long as the total window is longer than the work window."""


@pytest.mark.parametrize(
    ("delays", "rule", "why"),
    [
        ((0, 25_000_000), VoidRule(), "run delay 2.5% (limit 2%)"),
        ((0, 25_000_000), VoidRule(run_delay=0.5), "the host made its vCPUs wait for 25000000 ns"),
        ((5_000_000, 5_000_000), VoidRule(), "the host made its vCPUs wait for 10000000 ns"),
        ((None, 0), VoidRule(), "the host does not count how long vCPUs wait"),
    ],
    ids=["above the rule", "as long", "together as long", "unavailable"],
)
def test_foreign_time_that_the_hosts_stalls_explain_voids_a_run(
    tmp_path: Path, delays: tuple[int | None, int], rule: VoidRule, why: str
) -> None:
    run = primes_run(tmp_path, BUSY)
    keep_samples(run.folder, counters(delays=delays))
    verified_run = verify.verify(RunFiles(run), PRIMES, rule=rule)
    assert why in verified_run.void
    assert verified_run.work == field(GOOD, "window", "work_end") - field(GOOD, "window", "work_start")


@pytest.mark.parametrize(("delay", "is_void"), [(8_999_999, False), (9_000_000, True)])
def test_stalls_explain_the_cycles_of_a_guest_that_says_its_hz(
    tmp_path: Path, delay: int, is_void: bool
) -> None:
    """They are 18 M cycles above the limit; at 2 GHz that is 9 ms."""
    lines = [
        line.replace("unit=ns hz=1000000000", "unit=cycles hz=2000000000")
        for line in unframed(version_2(GOOD))
    ]
    run = primes_run(tmp_path, altered(console(*lines), "foreign", time=63_467_838))
    keep_samples(run.folder, counters(delays=(0, delay)))
    if is_void:
        assert (
            "the host made its vCPUs wait for 9000000 ns"
            in verify.verify(RunFiles(run), PRIMES, rule=VoidRule()).void
        )
        return
    with pytest.raises(VerifyError, match="the guest was not quiet"):
        verify.verify(RunFiles(run), PRIMES, rule=VoidRule())


def test_foreign_time_on_a_quiet_host_is_the_guests(tmp_path: Path) -> None:
    """The vCPUs waited for 1 ns less than what would explain it."""
    run = primes_run(tmp_path, BUSY)
    keep_samples(run.folder, counters(delays=(0, 9_999_999)))
    with pytest.raises(VerifyError, match=r"the guest was not quiet: tasks other .* used 55467838"):
        verify.verify(RunFiles(run), PRIMES, rule=VoidRule())


def test_on_the_instruction_clock_no_stall_of_the_host_explains_foreign_time(tmp_path: Path) -> None:
    run = replace(primes_run(tmp_path, BUSY), lane=Lane.INSN)
    stalled = Disturbance(stall_ns=10**12)
    with pytest.raises(VerifyError, match="the guest was not quiet"):
        foreign.check_foreign(
            run, RunFiles(run).transcript, ResultDefinition(), stalled, "run delay 90% (limit 2%)"
        )


def test_the_hint_of_a_missing_option_does_not_hide_that_the_oracle_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = primes_run(tmp_path, GOOD + b"VFS: Unable to mount root fs\n")

    def killed(*_: object, **__: object) -> None:
        raise OracleError("the oracle gave no answer")

    monkeypatch.setattr(ORACLES, "check", killed)
    with pytest.raises(OracleError, match="gave no answer"):
        verify.verify_on(run, PRIMES, systemfile.load(SYSTEMS / "linux.yaml"))


def test_the_noise_of_the_host_never_makes_a_wrong_answer_void(tmp_path: Path) -> None:
    run = primes_run(tmp_path, altered(GOOD, "result", count=1))
    keep_samples(run.folder, counters(delays=(0, 900_000_000)))
    with pytest.raises(VerifyError, match="the result reported count=1"):
        verify.verify(RunFiles(run), PRIMES, rule=VoidRule())


def test_a_run_of_another_cpu_count_is_refused(tmp_path: Path) -> None:
    run = primes_run(tmp_path, GOOD)
    cell = Cell("linux", "primes", run.cell.mode, run.cell.params, 4)
    with pytest.raises(VerifyError, match="workers 4, but the guest reports 2"):
        verify.verify(RunFiles(replace(run, cell=cell)), PRIMES)
