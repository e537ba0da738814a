"""The types that every kind of gate uses: the gate, its arms, the policy, the ruling, the verdict.

Takes cells and measurements, gives frozen objects. An inconsistent object fails with ValueError when it is
made, so that a gate's rule need not check it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated

from benchgate.base.cells import Cell, Lane, Mode, Params, ParamValue, Placement, Window
from benchgate.base.errors import OptionError
from benchgate.base.jsonfields import As, Between, Matches, PlainWord, Presence
from benchgate.base.runs import Measurement
from benchgate.base.system.machines import IDEAL
from benchgate.base.text import NEXT, effect_text
from benchgate.base.void_rule import DEFAULT as DEFAULT_VOID_RULE
from benchgate.base.void_rule import MOST_RUNS, VoidRule
from benchgate.base.workload.metrics import SeenBy
from benchgate.base.yaml.keys import Block, Integer, Integers, Number, Text
from benchgate.base.yaml.keys import name as name_key

MINUTES = 5.0
"""The default value of Policy.minutes."""
BOOTS = 5
"""The default value of Policy.boots."""
APART = 0.2
"""The default value of Policy.apart."""

VERIFIED = "verified"
"""The kind of gate that requires verified runs and sets no threshold; each requested cell has one."""

SMALLEST_LOOK = 5
"""With fewer runs per arm a gate could rarely decide, and only if the two arms did not overlap at all."""


def _in_order(settings: Mapping[str, str]) -> Params:
    return tuple(settings.items())


Settings = Annotated[tuple[tuple[str, ParamValue], ...], As(Mapping[str, PlainWord], _in_order, dict)]


@dataclass(frozen=True, slots=True)
class Gate:
    """A threshold for `cell`. `base` is the cell to compare it with, of the same system at another CPU count
    or of another system; None if the gate uses `cell` only. `more` are the cells between both, of a gate over
    more than two arms."""

    id: str
    kind: PlainWord
    base: Cell | None
    cell: Cell
    metric: PlainWord = str(Window.WORK)
    at_least: float | None = None
    at_most: float | None = None
    insn: float | None = None
    """The threshold on the instruction clock; None if it is the same as on the other lanes."""
    file: Annotated[str, Presence.LATER] = ""
    """The Python file that defines a user's own kind; empty for the built-in kinds."""
    tests: Annotated[tuple[str, ...], Presence.LATER] = field(default=(), compare=False)
    """The test functions that asked for it, by node id."""
    more: Annotated[tuple[Cell, ...], Presence.LATER] = ()
    """The cells between both, in the order of their CPU counts."""
    settings: Annotated[Settings, Presence.LATER] = ()
    """Settings of its kind, as (name, value), such as the model of a scaling law."""
    baseline: Annotated[str, Presence.LATER] = ""
    """The name of `against` in files."""

    @property
    def against(self) -> str:
        """The file to compare with, as the mark names it; empty if there is none."""
        return self.baseline

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Every cell that it uses, `cell` last."""
        return (*((self.base,) if self.base else ()), *self.more, self.cell)

    def setting(self, name: str) -> str:
        """The value of this setting; empty if the gate has none."""
        return str(dict(self.settings).get(name, ""))

    @property
    def thresholds(self) -> Mapping[str, float]:
        """The gate's thresholds, by the name of the mark's argument."""
        given = {"at_least": self.at_least, "at_most": self.at_most, "insn": self.insn}
        return {name: value for name, value in given.items() if value is not None}

    def threshold(self, lane: Lane | None) -> float | None:
        if lane is Lane.INSN and self.insn is not None:
            return self.insn
        return self.at_least if self.at_least is not None else self.at_most


@dataclass(frozen=True, slots=True)
class Arm:
    """Everything known about one cell so far. `attempted` counts all runs except warm-ups, valid or not."""

    cell: Cell
    lane: Lane | None = None
    placement: Placement | None = None
    measurements: Mapping[str, Measurement] = field(default_factory=dict)
    """Maps a metric's name to its measurement; empty without a verified run that counts."""
    attempted: int = 0
    invalid: tuple[str, ...] = ()
    """The reasons why runs of this arm are invalid, one per run. One invalid run fails the cell."""
    unfinished: tuple[str, ...] = ()
    """The reasons in `invalid` of guests that panicked, were cut off, or did not end in time."""
    void: tuple[str, ...] = ()
    """The reasons why runs of this arm are void, one per run. Void runs are repeated."""
    unrepeated: tuple[str, ...] = ()
    """Differences between runs of one seed, in any arm of the sweep. One fails all cells of its lane."""
    skipped: str = ""
    """The reason why this arm is not run; empty if it is run."""
    informs: bool = False
    """True if its program does not verify its own work: no gate may use its figures."""
    lacks: Mapping[str, str] = field(default_factory=dict)
    """Maps each metric that the guest skipped in every run to the reason."""
    absent: Mapping[str, str] = field(default_factory=dict)
    """Maps each metric without a value in at least one counted run to the reason. A gate that uses one is
    INVALID, because the other runs alone do not show what the system does."""
    witness: str = ""
    """What the machine measured and saw of its workload's promises, behind `all verified`; empty in wall
    time."""
    claimed: Mapping[str, SeenBy] = field(default_factory=dict)
    """On the instruction clock: the metrics that the machine did not measure itself, and who says them."""
    sample: str = ""
    """The folder of its first counted run, relative to the session's. Advice names this run."""
    culprit: str = ""
    """The folder of its first run that is not verified."""
    boots: int = 0
    """How many different boots stand behind its counted runs, if they started warm; 0 if each booted."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "measurements", MappingProxyType(dict(self.measurements)))
        for name, measurement in self.measurements.items():
            if measurement.cell != self.cell or measurement.metric.name != name:
                raise ValueError(
                    f"the {name} of {self.cell.id} holds {measurement.metric.name} of {measurement.cell.id}"
                )
            if (measurement.lane, measurement.placement) != (self.lane, self.placement):
                raise ValueError(f"{self.cell.id}: {name} was taken on another lane or placement")

    @property
    def informing(self) -> Arm:
        """The arm where it decides nothing: there, runs without a result are void. A loaded host can make an
        emulated guest crash or miss a deadline; the other clock decides whether the guest is at fault."""
        invalid = tuple(text for text in self.invalid if text not in self.unfinished)
        return replace(self, invalid=invalid, unfinished=(), void=(*self.void, *self.unfinished))

    @property
    def runs(self) -> int:
        """The number of verified runs that count."""
        return len(self.work.samples) if self.work else 0

    @property
    def work(self) -> Measurement | None:
        return self.measurement(Window.WORK)

    @property
    def total(self) -> Measurement | None:
        return self.measurement(Window.TOTAL)

    def measurement(self, metric: str) -> Measurement | None:
        return self.measurements.get(metric)


@dataclass(frozen=True, slots=True)
class CapacityBound:
    """The host's own speedup, with its interval: n concurrent probe guests compared with one."""

    lane: Lane
    cpus: Annotated[int, Between(1)]
    ratio: float
    low: float
    high: float


def most_speedup(base_cpus: int, cpus: int, superlinear: float) -> float:
    """The largest possible speedup. A larger one shows a faulty measurement."""
    return cpus / base_cpus * superlinear


def check_first_look(option: str, runs: int) -> None:
    """OptionError for an option with a number of runs per arm after which no verdict could be reached."""
    if runs != 1 and (runs < SMALLEST_LOOK or runs % 2 == 0):
        raise OptionError(
            option,
            f" {runs}: it must be odd and at least {SMALLEST_LOOK}, or 1 to measure once and gate nothing",
        )


@dataclass(frozen=True, slots=True)
class Policy:
    """The rule for how certain a verdict must be, and how many runs it may take."""

    name: Annotated[str, name_key("the policy's name, in reports")]
    looks: Annotated[
        tuple[int, ...],
        Integers("the numbers of runs per arm at which a verdict can be reached: odd, ascending"),
    ]
    """The numbers of runs per arm at which a verdict can be reached; alpha was chosen for this list."""
    alpha: Annotated[float, Number("the error probability of one look, chosen for the list of looks")]
    overall_error: Annotated[
        float, Number("the error probability of a gate over all looks together, below 0.5")
    ]
    """The error probability of one gate over all looks together."""
    first: Annotated[int, Integer("the first look; --runs changes it")]
    """The first look of this session. Below SMALLEST_LOOK it is the number of runs, and nothing is gated."""
    max_runs: Annotated[int, Integer("the last look; --max-runs changes it")]
    superlinear: Annotated[
        float, Number("a figure above this factor times the ratio of the CPU counts is INVALID")
    ] = 1.05
    """A speedup above this factor times the CPU ratio is impossible, so its measurement is invalid."""
    superlinear_ideal: Annotated[
        float, Number("the same on the ideal machine, if workers neither share CPUs nor make calls")
    ] = 1.01
    """The same factor for the ideal machine, if workers neither share CPUs nor make calls."""
    capacity_reach: Annotated[
        float,
        Number("a FAIL is due to the host only if the guest reaches this share of the host's speedup"),
    ] = 0.9
    """A FAIL is attributed to the host only if the guest reaches this share of the host's own speedup."""
    minutes: Annotated[float, Number("on wall time no further look of a row is begun after this time")] = (
        MINUTES
    )
    """On the wall-time lanes no further look of a row is begun after this time."""
    warmups: Annotated[
        int, Integer("boots per arm that are discarded before the first counted one, on wall time")
    ] = 1
    """The number of discarded boots per arm before the first counted one, on the wall-time lanes."""
    void: Annotated[
        VoidRule,
        Block(
            "which runs on wall time are void, because the host disturbed them",
            otherwise="the defaults of its keys",
        ),
    ] = DEFAULT_VOID_RULE
    """The rule for which runs are void, because the host disturbed them, and how many may be."""
    machine: Annotated[
        str, Text("the machine, unless an option or a mark names one; a path is relative to this file")
    ] = IDEAL
    """The name or path of the machine, unless an option or a mark names one."""
    boots: Annotated[
        int, Integer("how many different boots stand behind the runs of an arm that starts warm")
    ] = BOOTS
    """How many different boots stand behind the runs of an arm that starts warm."""
    apart: Annotated[
        float,
        Number(
            "runs of an arm are in groups if these differ by at least this share of the larger figure, "
            "and a gate passes only if its worst group does; 0: never"
        ),
    ] = APART
    """Runs of an arm are in groups if these differ by at least this share of the larger figure; 0: never."""
    informs: str = field(default="", metadata={"of": "session"})
    """The reason why no gate uses this session's figures; empty if gates do."""
    shows: Annotated[bool, Presence.APART] = field(default=False, metadata={"of": "session"})
    """True if gates that only inform show their figures, as the other clock's do with --clock both."""

    def __post_init__(self) -> None:
        if not self.looks or list(self.looks) != sorted(set(self.looks)):
            raise ValueError(f"looks must be in ascending order, not {list(self.looks)}")
        for look in self.looks:
            if not SMALLEST_LOOK <= look <= MOST_RUNS or look % 2 == 0:
                raise ValueError(f"a look must be odd and from {SMALLEST_LOOK} to {MOST_RUNS}, not {look}")
        if max(self.first, self.max_runs) > MOST_RUNS or self.warmups > MOST_RUNS:
            raise ValueError(f"first, max_runs and warmups must be at most {MOST_RUNS}")
        if not 0 < self.alpha <= self.overall_error < 0.5:
            raise ValueError(f"need 0 < alpha <= overall_error < 0.5, not {self.alpha}, {self.overall_error}")
        if min(self.superlinear, self.superlinear_ideal) < 1 or not 0 < self.capacity_reach <= 1:
            raise ValueError("need superlinear and superlinear_ideal >= 1, 0 < capacity_reach <= 1")
        if not 1 <= self.boots <= MOST_RUNS:
            raise ValueError(f"boots must be from 1 to {MOST_RUNS}, not {self.boots}")
        if not 0 <= self.apart < 1:
            raise ValueError(f"apart must be at least 0 and below 1, not {self.apart}")
        if min(self.warmups, self.minutes) < 0:
            raise ValueError("need warmups and minutes >= 0")

    def with_runs(self, runs: int | None, max_runs: int | None) -> Policy:
        """The policy of a session with `--runs` and `--max-runs`. Invalid values fail with OptionError."""
        first = self.first if runs is None else runs
        check_first_look("runs", first)
        most = max(self.max_runs, first) if max_runs is None else max_runs
        if most < first:
            raise OptionError("max-runs", f" {most} is below --runs {first}: raise it or leave it out")
        looks = (first, *(look for look in self.looks if look > first))
        if first >= SMALLEST_LOOK and most not in looks:
            raise OptionError(
                "max-runs",
                f" {most}: a verdict cannot be reached there, so the last runs would be wasted; "
                f"use one of {', '.join(map(str, looks))}",
            )
        return replace(self, first=first, max_runs=most)

    @property
    def session_looks(self) -> tuple[int, ...]:
        """The session's looks: `first`, then the later ones up to max_runs; empty if nothing is gated."""
        if self.first < SMALLEST_LOOK:
            return ()
        return (self.first, *(look for look in self.looks if self.first < look <= self.max_runs))

    def look_after(self, runs: int) -> int | None:
        """The policy's next look after `runs`, even beyond max_runs: the value for a larger --max-runs."""
        return next((look for look in self.looks if look > runs), None)


@dataclass(frozen=True, slots=True)
class Ruling:
    """A gate's answer: the verdict so far, and by cell id the number of runs that it needs to go on."""

    verdict: Verdict
    needs: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "needs", MappingProxyType(dict(self.needs)))


@dataclass(frozen=True, slots=True)
class GateInput:
    """The input of a gate's rule: arms by cell id, the policy, the host's capacity by CPU count."""

    arms: Mapping[str, Arm]
    policy: Policy
    capacity: Mapping[int, CapacityBound]
    against: Mapping[str, object] = field(default_factory=dict)
    """What gates compare with besides arms, by the name of its kind (hooks.GateFile)."""

    def __post_init__(self) -> None:
        if self.policy.shows:
            arms = {cell_id: arm.informing for cell_id, arm in self.arms.items()}
            object.__setattr__(self, "arms", MappingProxyType(arms))

    @property
    def too_many_void(self) -> bool:
        """Whether the sweep ended because too many of its runs are void."""
        runs = sum(arm.attempted for arm in self.arms.values())
        return self.policy.void.too_many(sum(len(arm.void) for arm in self.arms.values()), runs)


_STRICT = ("speedup", "control")
"""The kinds of gate whose figure must not be equal to the threshold."""


def sign_of(kind: str, bound: str) -> str:
    """How a gate of this kind compares its figure with the threshold. `bound`: `least` or `most`."""
    strict = ">" if bound == "least" else "<"
    return strict if kind in _STRICT else f"{strict}="


class Word(StrEnum):
    """The outcome of a gate."""

    PASS = "PASS"  # noqa: S105
    FAIL = "FAIL"
    INCONCLUSIVE = "INCONCLUSIVE"
    INVALID = "INVALID"
    SKIP = "SKIP"


_Text = Annotated[str, Matches(".+", "a text")]
_Cpus = Annotated[int, Between(1)]
_Size = Annotated[float, Between()]


@dataclass(frozen=True, slots=True)
class Verdict:
    """One gate's verdict. verdicts.json is a list of them; null where a field does not apply."""

    id: _Text
    gate: str
    """The kind of gate: speedup, control, limit, verified ..."""
    system: str
    workload: str
    params: Params
    mode: Mode
    metric: PlainWord
    """`work`, `total`, or one that the workload declares."""
    base_cpus: _Cpus | None
    cpus: _Cpus
    lane: Lane | None
    threshold: _Size | None
    ratio: _Size | None
    low: float | None
    high: float | None
    runs: int
    """The number of runs per arm that the verdict is based on."""
    outcome: Word
    reason: Annotated[str, Matches(r"(PASS|FAIL|INCONCLUSIVE|INVALID|SKIP): [^\n\r]+", "a reason")]
    base_system: str | None = None
    """The system of the base arm, if it is another one."""
    value: float | None = None
    """The figure itself, for a gate on one arm; `ratio` is None then."""
    bound: Annotated[str, Matches("least|most", "least or most")] | None = None
    """`least` if the figure must be above the threshold, `most` if below it; `sign` says whether it may be
    equal."""
    unit: str | None = None
    """The unit of threshold, low and high; `x` for a ratio."""
    parameter: Annotated[str | None, Presence.LATER] = None
    """The parameter of a fitted law that the figure is, such as `sigma`."""
    smallest_effect: Annotated[_Size | None, Presence.LATER] = None
    """The smallest distance of the true figure from the threshold that such runs detect in 80% of sessions,
    as a share of the threshold."""
    baseline: Annotated[_Text | None, Presence.LATER] = None
    """The baseline file, if the figure is a ratio to a baseline."""
    commands: Annotated[tuple[_Text, ...], Presence.LATER] = ()
    """The commands that the reason advises, as they stand in it."""

    @property
    def sentence(self) -> str:
        """The reason and, for a decision, the smallest effect that such runs detect."""
        if self.smallest_effect is None or self.outcome not in (Word.PASS, Word.FAIL):
            return self.reason
        what, then, advice = self.reason.partition(NEXT)
        seen = f"smallest effect {effect_text(self.smallest_effect)}"
        if self.smallest_effect >= 1:
            seen = f"no effect below {effect_text(self.smallest_effect)} can be seen"
        return f"{what}; {seen}{then}{advice}"

    @property
    def against(self) -> str:
        """The file that the figure is a ratio to; empty if there is none."""
        return self.baseline or ""

    @property
    def sign(self) -> str:
        """What PASS requires of the figure: `>`, `>=`, `<` or `<=` the threshold; empty without a bound."""
        return sign_of(self.gate, self.bound) if self.bound else ""

    @property
    def figure(self) -> float | None:
        """The figure that is compared with the threshold."""
        return self.value if self.ratio is None else self.ratio
