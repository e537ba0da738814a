"""The words that every kind of gate uses: what is asked, what was measured, by which policy.

Takes model types, gives frozen values. Construction fails with ValueError where a value contradicts
itself, so that a rule need not check it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from benchgate.errors import UsageError
from benchgate.model import Cell, Lane, Measurement, Placement, Verdict, Window

SMALLEST_LOOK = 5
"""With fewer runs an arm nothing but complete separation could decide, and that not often."""


@dataclass(frozen=True, slots=True)
class Gate:
    """One question. `base` is the arm that `cell` is compared with; None where only `cell` matters."""

    id: str
    kind: str
    base: Cell | None
    cell: Cell
    window: Window = Window.WORK
    at_least: float | None = None
    at_most: float | None = None
    insn: float | None = None
    """The threshold where the instruction clock decides; None: the same as elsewhere."""

    def threshold(self, lane: Lane | None) -> float | None:
        if lane is Lane.INSN and self.insn is not None:
            return self.insn
        return self.at_least if self.at_least is not None else self.at_most


@dataclass(frozen=True, slots=True)
class Arm:
    """All that is known of one cell so far. `attempted` counts runs other than warm-ups, good or not."""

    cell: Cell
    lane: Lane | None = None
    placement: Placement | None = None
    work: Measurement | None = None
    total: Measurement | None = None
    attempted: int = 0
    invalid: tuple[str, ...] = ()
    """Why runs of this arm are no results, one reason a run; one is enough to fail the cell."""
    skipped: str = ""
    """Why this arm is not run at all; empty: it is."""
    voided: int = 0
    """Runs that a detector named beforehand voided; they were replaced."""

    def __post_init__(self) -> None:
        for name, one in (("work", self.work), ("total", self.total)):
            if one is not None and (one.cell != self.cell or one.window != name):
                raise ValueError(f"the {name} of {self.cell.id} holds {one.window} of {one.cell.id}")
            if one is not None and (one.lane, one.placement) != (self.lane, self.placement):
                raise ValueError(f"{self.cell.id}: the {name} window was taken on another lane or placement")

    @property
    def runs(self) -> int:
        """How many counted, verified runs there are."""
        return len(self.work.samples) if self.work else 0

    def measurement(self, window: Window) -> Measurement | None:
        return self.work if window is Window.WORK else self.total


@dataclass(frozen=True, slots=True)
class CapacityBound:
    """What this host gave n probe guests side by side, over one: a speedup with its interval."""

    lane: Lane
    cpus: int
    ratio: float
    low: float
    high: float


def most_speedup(base_cpus: int, cpus: int, superlinear: float) -> float:
    """Above it a speedup contradicts itself, whether a gate asks for it or not."""
    return cpus / base_cpus * superlinear


@dataclass(frozen=True, slots=True)
class Policy:
    """How sure a verdict must be, and how many runs may be spent on it."""

    name: str
    looks: tuple[int, ...]
    """The runs an arm at which a verdict may fall; alpha was chosen for this list."""
    alpha: float
    overall_error: float
    """What alpha at each look adds up to, for one gate."""
    first: int
    """The first look of this session; below SMALLEST_LOOK: that many runs, and nothing is gated."""
    max_runs: int
    superlinear: float = 1.05
    """A speedup above this times the CPU ratio contradicts itself."""
    capacity_reach: float = 0.9
    """The share of the host's own speedup that a guest must reach before the host excuses it."""
    max_voided: int = 5
    """Voided runs an arm above which the host was too noisy to decide anything."""
    warmups: int = 1
    informs: str = field(default="", metadata={"of": "session"})
    """Why the figures of this session only inform, so that no gate speaks on them; empty: they decide."""

    def __post_init__(self) -> None:
        if not self.looks or list(self.looks) != sorted(set(self.looks)):
            raise ValueError(f"looks must rise, not {list(self.looks)}")
        for look in self.looks:
            if look < SMALLEST_LOOK or look % 2 == 0:
                raise ValueError(f"a look is an odd number of runs, at least {SMALLEST_LOOK}, not {look}")
        if not 0 < self.alpha <= self.overall_error < 0.5:
            raise ValueError(f"alpha {self.alpha} and overall_error {self.overall_error} do not fit")
        if self.superlinear < 1 or not 0 < self.capacity_reach <= 1 or min(self.max_voided, self.warmups) < 0:
            raise ValueError("superlinear is at least 1, capacity_reach in (0, 1], counts not below 0")

    def with_runs(self, runs: int | None, max_runs: int | None) -> Policy:
        """The policy of a session with `--runs` and `--max-runs`; UsageError where they cannot be meant."""
        first = self.first if runs is None else runs
        if first != 1 and (first < SMALLEST_LOOK or first % 2 == 0):
            raise UsageError(
                f"--runs {first}: it must be odd and at least {SMALLEST_LOOK}, "
                "or 1 to measure once and gate nothing"
            )
        most = max(self.max_runs, first) if max_runs is None else max_runs
        if most < first:
            raise UsageError(f"--max-runs {most} is below --runs {first}: raise it or leave it out")
        looks = (first, *(look for look in self.looks if look > first))
        if first >= SMALLEST_LOOK and most not in looks:
            raise UsageError(
                f"--max-runs {most}: no verdict can fall there, so runs beyond a look would be in vain; "
                f"it takes one of {', '.join(map(str, looks))}"
            )
        return replace(self, first=first, max_runs=most)

    @property
    def session_looks(self) -> tuple[int, ...]:
        """The looks of this session: `first`, then the later ones up to max_runs. None: no gating."""
        if self.first < SMALLEST_LOOK:
            return ()
        return (self.first, *(look for look in self.looks if self.first < look <= self.max_runs))

    def look_after(self, runs: int) -> int | None:
        """The next look of the whole policy beyond max_runs too: what to raise --max-runs to."""
        return next((look for look in self.looks if look > runs), None)


@dataclass(frozen=True, slots=True)
class Ruling:
    """What one gate says: the verdict so far, and the runs an arm (by cell id) that it still wants."""

    verdict: Verdict
    needs: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "needs", MappingProxyType(dict(self.needs)))


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a rule may look at: every arm by cell id, the policy, the host's capacity by CPU count."""

    arms: Mapping[str, Arm]
    policy: Policy
    capacity: Mapping[int, CapacityBound]
