"""What a report shows: plain frozen data, so that every format says the same.

Takes runs as they were judged, gives rows and a view. It does not fail: what is absent is None or "".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from benchgate.attribution import Table
from benchgate.gates.base import CapacityBound
from benchgate.measure import outcome_of
from benchgate.model import (
    Cell,
    Lane,
    Mode,
    Outcome,
    Params,
    Placement,
    RawRun,
    Verdict,
    VerifiedRun,
    Word,
)

WORST_FIRST = (Word.INVALID, Word.FAIL, Word.INCONCLUSIVE, Word.PASS, Word.SKIP)


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
    """Why the run is void, invalid or crashed."""

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
        reason=reason or raw.void_reason or raw.detail,
    )


@dataclass(frozen=True, slots=True)
class SessionView:
    """One session, ready to be shown."""

    id: str
    state: str
    """`partial` until everything that was planned is done, then `complete`."""
    rows: tuple[RunRow, ...]
    verdicts: tuple[Verdict, ...]
    alpha: float
    overall_error: float
    superlinear: float
    """The policy's: a speedup above this times the CPU ratio contradicts itself."""
    state_reason: str = ""
    started: str = ""
    finished: str = ""
    version: str = ""
    commit: str = ""
    capacity: Mapping[int, CapacityBound] = field(default_factory=dict)
    machine: tuple[tuple[str, str], ...] = ()
    """What the envelope says, most telling first: (name, text)."""
    isolation: str = "none seen"
    labels: tuple[str, ...] = ()
    """What every row must say, e.g. `unreviewed image`."""
    notes: tuple[str, ...] = ()
    """Sentences for the reader: why this lane, what was skipped."""
    repeat: tuple[str, ...] = ()
    """Commands that repeat and check this session."""
    attributions: tuple[Table, ...] | None = None
    """With --measure: where the time went, one table of each cell. None: it was not asked."""
    is_verified: bool = True
    """False for a lone results.csv: its figures are shown, nothing is decided."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "capacity", MappingProxyType(dict(self.capacity)))

    @property
    def shown_verdicts(self) -> tuple[Verdict, ...]:
        """The verdicts, worst first. Of what was not verified there are none."""
        if not self.is_verified:
            return ()
        return tuple(sorted(self.verdicts, key=lambda one: WORST_FIRST.index(one.outcome)))

    @property
    def compared(self) -> int:
        """m: the verdicts that rest on noisy figures, each of which chance can make wrong."""
        return sum(one.ratio is not None for one in self.verdicts)


def headline(view: SessionView) -> str:
    """The first line of every report. It begins with PASS only if the session is whole and every verdict that
    decides anything is PASS."""
    if not view.is_verified:
        return "UNVERIFIED: figures from results.csv alone; without the runs' logs nothing is decided"
    words = [one.outcome for one in view.verdicts]
    decided = [word for word in words if word is not Word.SKIP]
    if not decided:
        head = "SKIP: nothing was decided"
    else:
        worst = min(decided, key=WORST_FIRST.index)
        others = ", ".join(
            f"{words.count(one)} {one}" for one in WORST_FIRST if one is not worst and one in words
        )
        head = f"{worst}: {words.count(worst)} of {len(words)} verdicts" + (f", {others}" if others else "")
    if view.state != "complete":
        head = f"PARTIAL: {view.state_reason or 'the session did not finish'}; until then {head}"
    return head
