"""The table of all marks of benchgate: arguments, meaning, and what planning and reports know of their kinds.

Data: takes nothing. marks.py reads the marks of a test by these rows, pytest registers them, and `benchgate
docs gates` shows them. A user's own kind of gate has its row in its own file, as MARK. What asks for the
marks of installed features fails with FeatureError.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from benchgate import hooks
from benchgate.base.workload.metrics import WASTED
from benchgate.hooks import PlainMark

BOUNDS = ("at_least", "at_most")
THRESHOLDS = (*BOUNDS, "insn")
_OF_COUNTS = ("cpus", *THRESHOLDS, "metric", "base")
SHARED = ("cpus", *THRESHOLDS, "metric", "base", "to", "baseline")
"""The arguments that marks.py reads. Every other one is a word that only the kind knows (Gate.settings)."""
_DEFAULTS = MappingProxyType({"metric": "'work'"})
GROWS = "grows"
"""The argument that names a parameter which grows with the CPU count: it is as many times larger in the cell
as the cell's CPU count is larger than the base's. Planning reads it too."""
GATE = "gate"
"""The mark that names a kind of gate as its first argument."""
LABEL = "regression"
"""Many suites mark tests with this word alone. A gate's mark has a threshold."""


Good = Literal["never", "always", "at_least", "better"]
"""When a gate holds only for a good metric, never for a bad one: `at_least` means with this argument,
`better` with the bound on the metric's better side."""


@dataclass(frozen=True, slots=True)
class GateMark:
    """The mark of a kind of gate, which has the kind's name."""

    name: str
    about: str
    """The meaning of the figure, as the rest of a sentence."""
    example: str
    """Its arguments, as a test writes them."""
    takes: tuple[str, ...]
    needs: tuple[str, ...] = ("cpus",)
    """The arguments in `takes` that a test must give. If `cpus` is not among them, a mark without it holds at
    each CPU count that the session measures."""
    base: int | None = None
    """The CPU count of the base, unless the mark names one; None if the gate has no such base."""
    is_of_several: bool = False
    """Whether `cpus` may be a list, whose first count is the base and whose last one is the cell."""
    is_ratio: bool = False
    """Whether a threshold is a ratio, and not a figure in the metric's unit."""
    metric: str = "work"
    """The metric of its gates, unless the mark takes `metric`."""
    lengths: tuple[str, ...] = ()
    """The settings that are lengths of time, written as `1ms`."""
    shares: tuple[str, ...] = ()
    """Those that are shares, written as `10%` or 0.1."""
    has_own_figure: bool = False
    """Whether the figure is neither the metric itself nor a ratio of two arms."""
    good: Good = "never"
    at_most_kind: str = ""
    """The kind of the gate if the mark has `at_most`; empty for the mark's own kind."""
    is_in_id: bool = True
    """Whether the name is a part of the gate's id."""
    file: str = ""
    """The Python file of a user's own kind."""

    def __post_init__(self) -> None:
        if unknown := set(self.needs) - set(self.takes):
            raise ValueError(f"mark {self.name}: needs {', '.join(sorted(unknown))}, which it does not take")

    @property
    def takes_either(self) -> bool:
        """Whether a test must give exactly one of both bounds. The mark `gate` leaves that to the kind, and
        one that needs both holds for a range."""
        return self.name != GATE and set(BOUNDS) <= set(self.takes) and not set(BOUNDS) <= set(self.needs)

    @property
    def kinds(self) -> tuple[str, ...]:
        return (self.name, *filter(None, (self.at_most_kind,)))

    @property
    def shown(self) -> str:
        return f"{self.name}({self.example})"

    @property
    def settings(self) -> tuple[str, ...]:
        """The arguments that only the kind knows, which checks them."""
        return tuple(take for take in self.takes if take not in SHARED)

    @property
    def signature(self) -> str:
        return f"{self.name}({', '.join([*(['kind'] if self.name == GATE else []), *self.needs, *self.may])})"

    @property
    def may(self) -> Iterator[str]:
        """The arguments that a test may leave out, with their defaults."""
        defaults = {**_DEFAULTS, "base": "" if self.base is None else str(self.base)}
        for take in self.takes:
            if self.takes_either and take in BOUNDS:
                yield from ("at_least=|at_most=",) if take == BOUNDS[0] else ()
            elif take not in self.needs:
                yield f"{take}={defaults.get(take, '')}"


WORKLOAD = PlainMark(
    "workload", "what a test of cells or verdicts runs", "name, **parameters", '"primes", hi=3_000_000'
)
SYSTEM = PlainMark("system", "systems of this test, instead of those of --system", "*names", '"linux"')
MACHINE = PlainMark("machine", "the machine of this test, instead of that of --machine", "name", '"desktop8"')

PLAIN: tuple[PlainMark, ...] = (
    PlainMark("smp", "process-scale sweeps over CPU counts"),
    PlainMark("threads", "thread-scale sweeps over CPU counts"),
    WORKLOAD,
    SYSTEM,
    MACHINE,
    PlainMark("compare", "is now `ratio`"),
    *hooks.marks(hooks.shipped()),
)
RENAMED = MappingProxyType({"compare": "ratio"})
"""Gate marks of earlier versions, which are refused with a message that names the present one."""

TABLE: tuple[GateMark, ...] = (
    GateMark(
        "speedup",
        "how many times better the metric is than with `base` CPUs; with `at_most` a negative control",
        "cpus=2, at_least=1.6",
        takes=_OF_COUNTS,
        base=1,
        is_ratio=True,
        good="at_least",
        at_most_kind="control",
        is_in_id=False,
    ),
    GateMark(
        "efficiency",
        "the speedup over the ratio of the CPU counts: 1 if every CPU helps as much as the first",
        "cpus=4, at_least=0.8",
        takes=_OF_COUNTS,
        base=1,
        is_ratio=True,
        has_own_figure=True,
        good="at_least",
    ),
    GateMark(
        "weak",
        "weak scaling: the base's time over that of N times its CPUs for N times its work",
        'cpus=4, grows="blocks", at_least=0.9',
        takes=(*_OF_COUNTS, GROWS),
        base=1,
        is_ratio=True,
        has_own_figure=True,
        good="at_least",
    ),
    GateMark(
        "overhead",
        "the total over the work, of each run: how much start and join of the workers add",
        "cpus=4, at_most=1.1",
        takes=("cpus", *THRESHOLDS),
        is_ratio=True,
        has_own_figure=True,
    ),
    GateMark(
        "limit",
        "the metric itself, in its unit",
        'cpus=2, metric="total", at_most="20ms"',
        takes=("cpus", "metric", *THRESHOLDS),
        needs=("cpus", "metric"),
        good="better",
    ),
    GateMark(
        "ratio",
        "how many times better the metric is on this system than on `to`",
        'to="linux", cpus=2, at_least=1.0',
        takes=("to", "cpus", "metric", *THRESHOLDS),
        needs=("to", "cpus"),
        is_ratio=True,
        good="at_least",
    ),
    GateMark(
        "regression",
        "how many times worse the metric is than in a baseline; without `cpus`, at each CPU count",
        "at_most=1.02",
        takes=("at_most", "insn", "cpus", "metric", "baseline"),
        needs=("at_most",),
        is_ratio=True,
        good="always",
    ),
    GateMark(
        "scaling",
        "a parameter of a scaling law, fitted to the figures of all these CPU counts",
        'model="amdahl", cpus=(1, 2, 4), at_most=0.05',
        takes=("model", "cpus", "parameter", *THRESHOLDS, "metric"),
        needs=("model", "cpus"),
        is_of_several=True,
        is_ratio=True,
        has_own_figure=True,
        good="always",
    ),
    GateMark(
        "work_conserving",
        "the share of all CPUs' time that was idle although a thread waited that may run there, and the "
        "longest such time of one CPU; also how long woken threads take on average to come to an idle CPU "
        "(`settling`, by default 8 us at most), and the share of time for which the kernel spun, or "
        "took for long, although a thread waited (`held`, by default 20%); without `cpus`, at each CPU count",
        'at_most="0.5%", longest="1ms"',
        takes=("at_most", "longest", "settling", "held", "cpus"),
        needs=("at_most",),
        metric=WASTED,
        lengths=("longest", "settling"),
        shares=("held",),
        good="always",
    ),
    GateMark(
        GATE,
        "that of the kind: `verified`, or one of your own by its file, over one or more CPU counts",
        '"mine.py", cpus=(1, 2, 4)',
        takes=_OF_COUNTS,
        is_of_several=True,
        is_ratio=True,
    ),
)
SHIPPED: Mapping[str, GateMark] = MappingProxyType({one.name: one for one in TABLE})
OF_KIND: Mapping[str, GateMark] = MappingProxyType({kind: one for one in TABLE for kind in one.kinds})
"""The mark whose gates have this kind."""
NEAR = 0.8
"""How alike an unknown mark is to one of ours, at least, to be taken for a misspelt one: difflib's ratio."""
OWN_FIGURE = frozenset(kind for kind, one in OF_KIND.items() if one.has_own_figure)
"""The kinds of gate whose figure is neither the metric itself nor a ratio of two arms."""


def plain() -> tuple[PlainMark, ...]:
    """The marks that are no gates, with those of installed features."""
    taken = [*SHIPPED, *RENAMED, *(mark.name for mark in PLAIN)]
    return (*PLAIN, *hooks.marks(hooks.added("mark", taken)))


def nearest(name: str) -> str:
    """The mark that somebody means who writes an unknown one; empty if none is near."""
    known = [*SHIPPED, *(mark.name for mark in (WORKLOAD, SYSTEM, MACHINE, *hooks.marks(hooks.features())))]
    return next(iter(difflib.get_close_matches(name, known, n=1, cutoff=NEAR)), "")


def lines() -> Iterator[str]:
    """The lines for every mark that pytest registers, and shows as help."""
    yield from map(line, plain())
    yield from map(line, TABLE)


def line(mark: PlainMark | GateMark) -> str:
    return f"{mark.signature}: {mark.about} (benchgate)"
