"""One run as a row: a line of results.csv, and what only the other reports say of it.

Takes a judged run, gives a RunRow. Pure; does not fail: what is absent is None or "".
"""

from __future__ import annotations

from dataclasses import dataclass

from benchgate.base.cells import Cell, Lane, Mode, Params, Placement
from benchgate.base.runs import Outcome, RawRun, VerifiedRun
from benchgate.judge.judged_run import JudgedRun, outcome_of


@dataclass(frozen=True, slots=True)
class RunRow:
    """One line of results.csv, and beside it what only the other reports say."""

    system: str
    workload: str
    params: Params
    mode: Mode
    cpus: int
    lane: Lane
    placement: Placement
    pins: tuple[int, ...]
    run: int
    order: int
    seed: int
    outcome: Outcome
    verified: bool
    work: int | None
    total: int | None
    unit: str
    guest_digest: str
    label: str = ""
    """The cell's label; results.csv does not hold it, so it falls back to the workload's name."""
    variant: str = ""
    """The cell's variant; in results.csv the placement tells such rows apart."""
    reason: str = ""
    """Why the run is invalid or crashed."""

    @property
    def counts(self) -> bool:
        return self.outcome is Outcome.OK and self.verified

    @property
    def cell(self) -> Cell:
        return Cell(self.system, self.workload, self.mode, self.params, self.cpus, self.label, self.variant)


def row_of(
    raw: RawRun, run: VerifiedRun | None, reason: str = "", *, outcome: Outcome | None = None
) -> RunRow:
    """The row of one attempt; `run` is None where its verifier did not complete, `reason` says why.

    `outcome` is what became of it, where whoever judged the run says so; else it follows from the run.
    """
    return RunRow(
        system=raw.cell.system,
        workload=raw.cell.workload,
        params=raw.cell.params,
        mode=raw.cell.mode,
        cpus=raw.cell.cpus,
        lane=raw.lane,
        placement=raw.placement,
        pins=raw.pins,
        run=raw.attempt,
        order=raw.order,
        seed=raw.seed,
        outcome=outcome or outcome_of(raw, run),
        verified=run is not None,
        work=run.work if run else None,
        total=run.total if run else None,
        unit=run.unit if run else "",
        guest_digest=raw.guest_digest,
        label=raw.cell.label,
        variant=raw.cell.variant,
        reason=reason or raw.detail,
    )


def row_of_judged(judged: JudgedRun) -> RunRow:
    return row_of(judged.run, judged.verified, judged.reason, outcome=judged.outcome)
