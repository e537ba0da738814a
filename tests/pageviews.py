"""Views with something in every part of the page, without boots."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from benchgate.base.cells import Lane
from benchgate.base.gates import CapacityBound
from benchgate.base.runs import Ending, Outcome
from benchgate.base.statistics.histogram import Histogram, bucket_of
from benchgate.base.workload.metrics import Metric, MetricDirection, MetricKind
from benchgate.evidence.rows import RunRow
from benchgate.insn.log_reader import read_log
from benchgate.judge.accounts.attribution import Table, table
from benchgate.judge.accounts.distributions import distributions
from benchgate.judge.accounts.memory_books import RunBooks
from benchgate.judge.accounts.sharing import Recording
from benchgate.judge.judged_run import JudgedRun
from benchgate.judge.noise import RunNoise
from benchgate.judge.wire import parse
from benchgate.plan import published
from benchgate.render.view import SessionView
from tests.unit.factories import cell, raw_run, rows, run_row, scaled_view, verified, view
from tests.unit.memory_logs import LOG, ONE_CPU
from tests.unit.moved_lines import sharing
from tests.wirekit import NONCE, console, recorded, unframed

P99 = Metric("wake_p99", MetricKind.PERCENTILE, MetricDirection.LESS, "ns", of="wake", at=99.0)
VOID_WHY = "run delay 6% (limit 2%)"


def full_view(**changes: object) -> SessionView:
    """Two systems, every outcome, a metric with its histogram, noise of the host, and the published rows."""
    first = scaled_view()
    given: list[RunRow] = list(first.rows)
    for cpus, work in ((1, 1_200_000_000), (2, 640_000_000), (4, 350_000_000)):
        given += rows(
            cell(cpus, system="kernel"), [work + n * 1_000_000 for n in range(5)], first=20 + 5 * cpus
        )
    given = [
        replace(row, lead=400, metrics=((P99, 5000.0 + row.run),) if row.counts else ()) for row in given
    ]
    void = replace(rows(cell(2), [900_000_000], first=60)[0], outcome=Outcome.VOID, reason=VOID_WHY)
    broken = run_row(raw_run(cell(4), attempt=61, ending=Ending.FAILED), None, "worker 0 reports a wrong sum")
    replayed = rows(cell(1, system="own"), [77], first=62, lane=Lane.INSN, unit="insn")
    noise = {row.run: RunNoise(1.5 * row.run, 1.2, {"run_delay": 0.004, "steal": 0.0}, ()) for row in given}
    noise[60] = RunNoise(95.0, 1.9, {"run_delay": 0.06, "steal": 0.01}, ("run_delay",))
    facts: dict[str, object] = {
        "verdicts": first.verdicts,
        "capacity": {2: CapacityBound(Lane.TCG, 2, 1.94, 1.90, 1.97)},
        "noise": noise,
        "distributions": distributions([judged_with_histogram()], {"primes-linux": {"wake_p99": P99}}),
        "merged": {"primes-linux-smp1": {"wake_p99": 6000.0}},
        "published": published.rows_of({"primes"}),
        "envelope": (("cpu model", "Example"), ("kernel", "6.12")),
        "attributions": (attributed(),),
        "void_rule": "run delay 2%",
        "books": booked(),
        "moved_lines": (Recording("primes-linux-smp2", 7, "runs/0007-primes-linux-smp2", sharing(8)),),
    }
    return view(*given, void, broken, *replayed, **{**facts, **changes})  # type: ignore[arg-type]


def attributed() -> Table:
    plain = [line for line in unframed(recorded("good-linux-primes-smp2")) if not line.startswith("measure")]
    said = parse(console(*plain, "measure phase=work cpu=0 name=busy_time value=4100"), nonce=NONCE)
    return table("primes-linux-smp2", said)


def booked() -> tuple[RunBooks, ...]:
    """The books of the two cells of a row on a machine with memory."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for cpus, text in ((1, ONE_CPU), (2, LOG)):
            path = Path(folder) / f"{cpus}.log"
            path.write_text(text, encoding="ascii")
            log = read_log(path)
            assert log.memory is not None
            names = (f"primes-linux-smp{cpus}", "primes-linux")
            found.append(RunBooks(cpus, *names, cpus, 7, log.memory, log.orders, 12_000, is_median=True))
    return tuple(found)


def judged_with_histogram() -> JudgedRun:
    values = [900, 1000, 1100, 1100, 9000]
    buckets = {bucket_of(value): values.count(value) for value in sorted(values)}
    seen = Histogram(len(values), sum(values), min(values), max(values), buckets)
    raw = raw_run(cell(1))
    return JudgedRun(raw, replace(verified(raw, 10_000), histograms={"wake": seen}, hz=1_000_000_000))


def long_view(runs: int) -> SessionView:
    """That many runs, half of them void with a reason."""
    arms = [rows(cell(2 ** (n % 4), system=f"sys{n % 5}"), [10**9 + n], first=n + 1)[0] for n in range(runs)]
    halves = [
        row if row.run % 2 else replace(row, outcome=Outcome.VOID, reason=VOID_WHY, lane=Lane.INSN)
        for row in arms
    ]
    noise = {
        row.run: RunNoise(1.5, 1.0, {"run_delay": 0.01, "steal": 0.0, "migrations": 0.0}, ()) for row in arms
    }
    return view(*halves, noise=noise)
