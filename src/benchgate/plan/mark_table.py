"""The table of all marks of benchgate: arguments, meaning, and what planning and reports know of their kinds.

Data: takes nothing. marks.py reads the marks of a test by these rows, pytest registers them, and `benchgate
docs gates` shows them. A user's own kind of gate has its row in its own file, as MARK. What asks for the
marks of installed features fails with FeatureError.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from benchgate import hooks
from benchgate.base.workload.metrics import WASTED
from benchgate.hooks import GATE, THRESHOLDS, GateMark, PlainMark

_OF_COUNTS = ("cpus", *THRESHOLDS, "metric", "base")
GROWS = "grows"
"""The argument that names a parameter which grows with the CPU count: it is as many times larger in the cell
as the cell's CPU count is larger than the base's. Planning reads it too."""

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

_TABLE: tuple[GateMark, ...] = (
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


def placed(rows: Iterable[GateMark], of_features: Iterable[GateMark]) -> tuple[GateMark, ...]:
    """The rows, each of a feature before the mark that it names: verdicts of one test are in this order."""
    result = [*rows]
    for row in of_features:
        names = [*(one.name for one in result), row.before]
        result.insert(names.index(row.before), row)
    return tuple(result)


TABLE = placed(_TABLE, hooks.gates())
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
