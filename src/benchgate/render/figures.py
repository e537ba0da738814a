"""The figures of a report: series of arms, their spread, and speedups over the smallest arm.

Takes a SessionView; gives frozen figures. A speedup that a verdict states is taken from the verdict, so that
reports do not show two values. A broken or oversubscribed arm has no speedup. Does not fail.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from benchgate.base import grouped
from benchgate.base.cells import Cell, Lane, Mode, Params, Placement, Window
from benchgate.base.gates import SMALLEST_LOOK, Verdict, Word, most_speedup
from benchgate.base.runs import Outcome, Resolution
from benchgate.base.statistics import stats
from benchgate.base.statistics.stats import Interval, Spread
from benchgate.base.system.machines import machine_in, unit_on
from benchgate.base.workload.metrics import WINDOWS, Metric, SeenBy
from benchgate.base.workload.witness import WitnessedPromise
from benchgate.evidence.rows import RunRow
from benchgate.plan.mark_table import OWN_FIGURE
from benchgate.render.view import SessionView

SeriesKey = tuple[str, str, Params, Mode, Lane]


@dataclass(frozen=True, slots=True)
class Speedup:
    base_cpus: int
    ratio: float
    interval: Interval
    threshold: float | None
    """The gate's threshold; None: there is no gate."""
    word: str
    """The verdict's word. If there is no gate, INVALID for contradictory figures, otherwise empty."""
    runs: int
    """The number of runs per arm that it uses."""
    sign: str
    """What the gate requires of the ratio: `>`, `>=`, `<` or `<=` the threshold; empty without a gate."""
    paired: Interval | None
    """A diagnostic: the paired log-t interval of all counted runs."""

    @property
    def has_interval(self) -> bool:
        """An interval of fewer runs than the smallest look would suggest too much certainty."""
        return self.runs >= SMALLEST_LOOK


@dataclass(frozen=True, slots=True)
class MetricSamples:
    """One metric of every counted run, in the order of execution."""

    metric: Metric
    unit: str
    values: tuple[float, ...]
    merged: float | None = None
    """A percentile of all counted runs together; `values` has each run's own."""
    step: float = 0.0
    """The amount by which a value may be off because the guest prints it in steps."""
    is_claimed: bool = False
    """Whether the guest says it, although the machine could have measured it."""


@dataclass(frozen=True, slots=True)
class ArmFigures:
    cpus: int
    name: str
    """`smp2`, `smp8-smt`."""
    placement: Placement
    pins: tuple[int, ...]
    unit: str
    """As people read it; `metrics` have the unit that the files of the session have."""
    outcomes: Counter[Outcome]
    work: Spread | None
    total: Spread | None
    samples: tuple[tuple[int, int], ...]
    """(work, total) of every counted run, in the order of execution."""
    speedups: dict[Window, Speedup]
    resolution: Resolution | None = None
    """What the instruction clock, or a printed figure, could not resolve."""
    promises: tuple[WitnessedPromise, ...] = ()
    """What the machine saw of each promise of its workload."""
    who_says: Mapping[str, SeenBy] = field(default_factory=dict)
    """Who says what each of its metrics is."""
    metrics: tuple[MetricSamples, ...] = ()
    """The metrics are `work`, `total` and those that the workload declares."""

    def spread(self, window: Window) -> Spread | None:
        return self.work if window is Window.WORK else self.total

    def blur(self, window: Window) -> float | None:
        """The share by which the instruction clock's steps can have changed this window's median."""
        spread, seen = self.spread(window), self.resolution
        if seen is None or spread is None or (seen.printed and not seen.late_in(window)):
            return None
        return seen.late_in(window) / spread.median

    def unresolved(self, window: Window) -> float | None:
        """The share by which clock steps and printed steps together can have changed the median."""
        spread, seen = self.spread(window), self.resolution
        return (seen.late_in(window) + seen.printed) / spread.median if seen and spread else None

    @property
    def printed_step(self) -> int:
        """The least difference of the figures that the guest prints for a window."""
        return self.resolution.printed if self.resolution else 0

    @property
    def counted_runs(self) -> str:
        """`5`, or `5 (+2 void)`."""
        void = self.outcomes[Outcome.VOID]
        return f"{self.outcomes[Outcome.OK]}" + (f" (+{void} void)" if void else "")

    @property
    def dependence(self) -> float | None:
        """How much neighbouring runs resemble each other (stats.serial_dependence); None for too few runs."""
        works = [float(work) for work, _ in self.samples]
        return stats.serial_dependence(works) if len(works) >= SMALLEST_LOOK else None

    @property
    def is_variant(self) -> bool:
        """True for a variant, which is shown for information and never gated."""
        return self.name != f"smp{self.cpus}"

    @property
    def is_broken(self) -> bool:
        return bool(self.outcomes[Outcome.INVALID] or self.outcomes[Outcome.CRASHED])


@dataclass(frozen=True, slots=True)
class ArmSeries:
    """The arms of one row on one lane, in the order of CPU counts."""

    name: str
    label: str
    """The name without the system."""
    system: str
    workload: str
    params: Params
    mode: Mode
    lane: Lane
    arms: tuple[ArmFigures, ...]

    def arm(self, name: str) -> ArmFigures | None:
        return next((arm for arm in self.arms if arm.name == name), None)

    @property
    def key(self) -> SeriesKey:
        return self.system, self.workload, self.params, self.mode, self.lane

    @property
    def machine(self) -> str:
        """The machine whose memory was simulated; empty: the ideal one."""
        return machine_in(self.system)

    @property
    def place(self) -> str:
        """System and lane; native Linux has only one lane, of the same name."""
        return self.system if self.system == self.lane else f"{self.system}, {self.lane}"


def key_of(row: RunRow) -> SeriesKey:
    return row.cell.system, row.cell.workload, row.cell.params, row.cell.mode, row.lane


def series_of(view: SessionView) -> tuple[ArmSeries, ...]:
    groups = grouped(view.rows, key=key_of)
    names = Counter(rows[0].cell.row for rows in groups.values())
    return tuple(
        _series(view, key, rows, is_ambiguous=names[rows[0].cell.row] > 1) for key, rows in groups.items()
    )


def _series(view: SessionView, key: SeriesKey, rows: list[RunRow], *, is_ambiguous: bool) -> ArmSeries:
    system, workload, params, mode, lane = key
    cell = rows[0].cell
    name, label = cell.row, cell.label
    if is_ambiguous:
        settings = ", ".join(f"{text}={value}" for text, value in params)
        name = f"{name} ({', '.join(filter(None, (settings, lane)))})"
        label = f"{label} ({settings})" if settings else label
    arms: list[ArmFigures] = []
    for kind in sorted({_kind(row) for row in rows}):
        bare = _arm(view, [row for row in rows if _kind(row) == kind])
        arms.append(bare)
        bare.speedups.update(_speedups(view, key, cell.row, arms[0], bare))
    return ArmSeries(name, label, system, workload, params, mode, lane, tuple(arms))


def _kind(row: RunRow) -> tuple[int, str, Placement]:
    """Distinguishes the arms of a row. A results.csv without its session has placements, but no variants."""
    return row.cell.cpus, row.cell.variant, row.placement


def _arm(view: SessionView, rows: list[RunRow]) -> ArmFigures:
    counted = sorted((row for row in rows if row.counts), key=lambda row: row.run)
    samples = tuple((row.work, row.total) for row in counted if row.work and row.total)
    return ArmFigures(
        cpus=rows[0].cell.cpus,
        name=f"smp{rows[0].cell.cpus}" + (f"-{rows[0].cell.variant}" if rows[0].cell.variant else ""),
        placement=rows[0].placement,
        pins=rows[0].pins,
        unit=unit_on(rows[0].cell.system, next((row.unit for row in counted), "")),
        outcomes=Counter(row.outcome for row in rows),
        work=stats.spread([work for work, _ in samples]) if samples else None,
        total=stats.spread([total for _, total in samples]) if samples else None,
        samples=samples,
        speedups={},
        resolution=view.resolutions.get(rows[0].cell.id),
        promises=view.promises.get(rows[0].cell.id, ()),
        who_says=view.who_says.get(rows[0].cell.id, {}),
        metrics=_metrics(counted, view.merged.get(rows[0].cell.id, {}), _claimed(view, rows[0])),
    )


def _claimed(view: SessionView, row: RunRow) -> frozenset[str]:
    """The metrics that the machine did not measure itself. In wall time it measures none, which a session
    says once."""
    who = view.who_says.get(row.cell.id, {}) if row.lane is Lane.INSN else {}
    return frozenset(name for name, by in who.items() if by is not SeenBy.MACHINE)


def _step(counted: Sequence[RunRow], name: str) -> float:
    return max(dict(row.steps or ()).get(name, 0.0) for row in counted)


def _metrics(
    counted: Sequence[RunRow], merged: Mapping[str, float], claimed: frozenset[str]
) -> tuple[MetricSamples, ...]:
    if not counted:
        return ()
    works = tuple(float(row.work or 0) for row in counted)
    totals = tuple(float(row.total or 0) for row in counted)
    unit = counted[0].unit
    given = [(WINDOWS["work"], unit, works), (WINDOWS["total"], unit, totals)]
    values_of = [dict(row.metrics) for row in counted]
    declared = (metric for metric in values_of[0] if all(metric in values for values in values_of))
    given += [(metric, metric.unit, tuple(of[metric] for of in values_of)) for metric in declared]
    return tuple(
        MetricSamples(
            metric,
            unit,
            values,
            merged.get(metric.name),
            _step(counted, metric.name),
            metric.name in claimed,
        )
        for metric, unit, values in given
    )


def _speedups(
    view: SessionView, key: SeriesKey, row: str, base: ArmFigures, arm: ArmFigures
) -> dict[Window, Speedup]:
    speedups: dict[Window, Speedup] = {}
    asked = () if arm.is_variant else _verdicts(view, key, row, arm.cpus)
    for place, window in enumerate((Window.WORK, Window.TOTAL)):
        of_window = (one for one in asked if one.metric == window)
        verdict = next((one for one in of_window if one.gate not in OWN_FIGURE), None)
        tops, bottoms = ([float(sample[place]) for sample in each.samples] for each in (base, arm))
        is_comparable = comparable(base, arm)
        paired = _paired(tops, bottoms, view.alpha) if is_comparable else None
        word, threshold = (str(verdict.outcome), verdict.threshold) if verdict else ("", None)
        sign = verdict.sign if verdict else ""
        if verdict and verdict.ratio and verdict.low and verdict.high and verdict.base_cpus:
            interval, runs = Interval(verdict.low, verdict.high), verdict.runs
            speedups[window] = Speedup(
                verdict.base_cpus, verdict.ratio, interval, threshold, word, runs, sign, paired
            )
        elif is_comparable:
            interval = stats.ratio_interval(tops, bottoms, view.alpha, (base.printed_step, arm.printed_step))
            ratio, runs = stats.ratio_of_medians(tops, bottoms), min(len(tops), len(bottoms))
            speedup = Speedup(base.cpus, ratio, interval, threshold, word, runs, sign, paired)
            broken = any(one.outcome is Word.INVALID for one in asked)  # it applies to both windows
            invalid = not word and (broken or _is_impossible(view, speedup, arm))
            speedups[window] = replace(speedup, word=str(Word.INVALID)) if invalid else speedup
    return speedups


def _is_impossible(view: SessionView, seen: Speedup, arm: ArmFigures) -> bool:
    """True if the speedup is more than the CPUs allow. A gate would find this INVALID."""
    return seen.has_interval and seen.interval.low > most_speedup(seen.base_cpus, arm.cpus, view.superlinear)


def _paired(tops: list[float], bottoms: list[float], alpha: float) -> Interval | None:
    few = min(len(tops), len(bottoms)) < SMALLEST_LOOK
    return None if few else stats.paired_log_interval(tops, bottoms, alpha)


def comparable(base: ArmFigures, arm: ArmFigures) -> bool:
    if base.cpus == arm.cpus or not base.samples or not arm.samples or base.is_broken or arm.is_broken:
        return False
    same = base.unit == arm.unit and base.placement == arm.placement
    return same and arm.placement is not Placement.OVERSUBSCRIBED


def _verdicts(view: SessionView, key: SeriesKey, row: str, cpus: int) -> tuple[Verdict, ...]:
    """The verdicts that compare this arm with another, worst first. A verdict has no lane if no run is
    verified; its id then tells the row."""
    *wanted, lane = key
    return tuple(
        verdict
        for verdict in view.shown_verdicts
        if verdict.base_cpus is not None
        and verdict.base_system is None
        and (verdict.lane == lane if verdict.lane else verdict.id.startswith(f"{row}-smp"))
        and [verdict.system, verdict.workload, verdict.params, verdict.mode] == wanted
        and verdict.cpus == cpus
    )


RowKey = tuple[str, Params, Mode]
"""Workload, parameters, mode."""


def row_key(of: ArmSeries | Verdict | Cell) -> RowKey:
    return of.workload, of.params, of.mode


def scaling_gate(verdicts: Iterable[Verdict], series: ArmSeries, cpus: int) -> Verdict | None:
    """The gate of this row on how another metric than the windows scales, decided or not. Where each CPU has
    work of its own, the window does not get shorter, and says nothing."""
    place = (series.system, cpus, series.lane)
    row = (of for of in verdicts if row_key(of) == row_key(series))
    mine = (verdict for verdict in row if (verdict.system, verdict.cpus, verdict.lane) == place)
    return next((verdict for verdict in mine if _is_scaling(verdict)), None)


def _is_scaling(verdict: Verdict) -> bool:
    is_of_row = verdict.base_cpus is not None and verdict.base_system is None and not verdict.parameter
    return is_of_row and verdict.metric not in WINDOWS
