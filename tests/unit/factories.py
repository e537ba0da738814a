"""Functions that make runs, arms and gates for tests. Arguments that a test omits have valid values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchgate.base.cells import Cell, Lane, Mode, Placement
from benchgate.base.gates import Arm, Gate, Policy, Verdict, Word
from benchgate.base.runs import _VERIFY_ONLY, Ending, Measurement, RawRun, VerifiedRun
from benchgate.base.workload.metrics import WINDOWS, Metric
from benchgate.evidence.rows import RunRow, row_of
from benchgate.judge.decide import decide
from benchgate.judge.judged_run import JudgedRun
from benchgate.render.view import SessionView

POLICY = Policy(name="test", looks=(5, 9, 15, 25), alpha=0.0276, overall_error=0.05, first=5, max_runs=25)


def cell(cpus: int = 1, *, workload: str = "primes", system: str = "linux", label: str = "") -> Cell:
    mode = Mode.THREAD if workload == "checksum" else Mode.PROCESS
    return Cell(system, workload, mode, (("hi", 3_000_000), ("split", "balanced")), cpus, label)


def raw_run(
    of: Cell,
    *,
    attempt: int = 1,
    lane: Lane = Lane.TCG,
    placement: Placement = Placement.PHYSICAL,
    ending: Ending = Ending.DONE,
    warmup: bool = False,
    folder: Path = Path("runs"),
    guest_digest: str = "a" * 64,
) -> RawRun:
    return RawRun(
        cell=of,
        folder=folder,
        attempt=attempt,
        order=attempt - 1,
        nonce=f"{attempt:016x}",
        seed=7,
        lane=lane,
        placement=placement,
        pins=tuple(range(of.cpus)),
        warmup=warmup,
        ending=ending,
        exit_status=33,
        guest_digest=guest_digest,
    )


def verified(run: RawRun, work: int, total: int | None = None, unit: str = "ns") -> VerifiedRun:
    return VerifiedRun(
        run=run,
        unit=unit,
        work=work,
        total=work + 1000 if total is None else total,
        foreign=0,
        workers=(),
        key=_VERIFY_ONLY,
    )


def measurement(
    of: Cell,
    samples: Sequence[float],
    *,
    lane: Lane = Lane.TCG,
    placement: Placement = Placement.PHYSICAL,
    metric: Metric = WINDOWS["work"],
    unit: str = "ns",
) -> Measurement:
    return Measurement(of, lane, placement, metric, unit, tuple(samples))


def arm(
    of: Cell,
    samples: Sequence[float] = (),
    *,
    total: Sequence[float] | None = None,
    lane: Lane = Lane.TCG,
    placement: Placement = Placement.PHYSICAL,
    unit: str = "ns",
    attempted: int | None = None,
    invalid: tuple[str, ...] = (),
    skipped: str = "",
) -> Arm:
    totals = total if total is not None else samples
    facts = {"lane": lane, "placement": placement, "unit": unit}
    return Arm(
        cell=of,
        lane=lane,
        placement=placement,
        measurements={
            name: measurement(of, values, metric=WINDOWS[name], **facts)  # type: ignore[arg-type]
            for name, values in (("work", samples), ("total", totals))
            if values
        },
        attempted=len(samples) + len(invalid) if attempted is None else attempted,
        invalid=invalid,
        skipped=skipped,
    )


def speedup(cpus: int = 2, at_least: float = 1.6, *, metric: str = "work", insn: float | None = None) -> Gate:
    return Gate(f"primes-linux-smp{cpus}", "speedup", cell(1), cell(cpus), metric, at_least, None, insn)


def control(cpus: int = 2, at_most: float = 1.1) -> Gate:
    return Gate(f"primes-linux-smp{cpus}-control", "control", cell(1), cell(cpus), "work", None, at_most)


def right(cpus: int = 2) -> Gate:
    return Gate(f"primes-linux-smp{cpus}-verified", "verified", None, cell(cpus), "work")


def run_row(raw: RawRun, run: VerifiedRun | None, reason: str = "") -> RunRow:
    return row_of(JudgedRun(raw, run, reason))


def rows(
    of: Cell,
    samples: Sequence[int],
    *,
    first: int = 1,
    lane: Lane = Lane.TCG,
    unit: str = "ns",
    placement: Placement = Placement.PHYSICAL,
) -> tuple[RunRow, ...]:
    return tuple(
        run_row(
            raw_run(of, attempt=first + n, lane=lane, placement=placement),
            verified(raw_run(of), work, unit=unit),
        )
        for n, work in enumerate(samples)
    )


def view(*given: RunRow, verdicts: Sequence[Verdict] = (), **changes: object) -> SessionView:
    facts: dict[str, object] = {
        "id": "20260102T030405Z-abcdef",
        "state": "complete",
        "rows": given,
        "verdicts": tuple(verdicts),
        "alpha": 0.0276,
        "overall_error": 0.05,
        "superlinear": 1.05,
        "started": "2026-01-02T03:04:05Z",
        "finished": "2026-01-02T03:06:00Z",
        "version": "0.1.0",
        "commit": "0123abc",
        "machine": (("cpu", "Example CPU, 2 sockets"), ("memory", "8 GiB")),
        "repeat": ("./run gate", "benchgate verify reports/runs/20260102T030405Z-abcdef"),
    }
    return SessionView(**{**facts, **changes})  # type: ignore[arg-type]


BASE_NS = (1_275_187_210, 1_270_000_000, 1_280_000_000, 1_275_000_000, 1_290_000_000)
TWO_NS = (659_218_025, 655_000_000, 661_000_000, 659_500_000, 664_000_000)


def scaled_view(**changes: object) -> SessionView:
    """Five runs at one and two CPUs with their verdict, a warm-up and an invalid run."""
    base, two = rows(cell(1), BASE_NS), rows(cell(2), TWO_NS, first=6)
    arms = {one.cell.id: one for one in (arm(cell(1), BASE_NS), arm(cell(2), TWO_NS))}
    verdicts = decide([speedup(2)], arms, POLICY).verdicts
    warm = run_row(raw_run(cell(1), attempt=11, warmup=True), verified(raw_run(cell(1)), 1_300_000_000))
    return view(*base, *two, warm, **{"verdicts": verdicts, **changes})  # type: ignore[arg-type]


def failing(word: Word, **changes: object) -> SessionView:
    """Like `scaled_view`, but its verdict has another outcome."""
    first = scaled_view()
    changed = replace(first.verdicts[0], outcome=word, reason=f"{word}: primes-linux smp2/smp1 ...")
    return replace(first, verdicts=(changed,), **changes)  # type: ignore[arg-type]
