"""Reads the ratios that others published for our workloads on their machines, for comparison only.

Takes the names of workloads; gives `PublishedRow`s from fixtures/published/, none for other workloads. No
gate reads them. Only ratios within one row are kept, because times of two machines cannot be compared. Fails
with CatalogError, which names file, line and key, if a file has another form.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from benchgate.base.cells import Mode
from benchgate.base.paths import data_root
from benchgate.base.yaml import yamlfile
from benchgate.base.yaml.keys import Block, Blocks, Choice, Integer, Table, Text, Texts, YamlFile, each
from benchgate.base.yaml.yamlfile import Section

FOLDER = "fixtures/published"
MIDDLE = "50"

_WORKLOAD = Block(
    "the workload",
    forms=(
        {
            "name": Text("its name"),
            "mode": Choice("whether its workers are processes or threads", tuple(Mode)),
        },
    ),
    others=Text("a parameter"),
    names="PARAMETER",
    otherwise="that of the file",
)
_FIGURES = each("by CPU count", Text("a figure"), names="CPUS")
_OF_SYSTEM: Table = {
    "unit": Text("of the medians", default=""),
    "medians": _FIGURES,
    "speedups": _FIGURES,
    "speedups_total": _FIGURES,
}
_ROW: Table = {
    "name": Text("what was measured"),
    "workload": _WORKLOAD,
    "commit": Text("of the kernel", default=""),
    "host": Text("the machine", default=""),
    "date": Text("when", default=""),
    "runs": Integer("the number of runs; 0: not published", default=0),
    "note": Text("what else is known", otherwise="that of the file"),
    "smt": Texts("CPU counts that use hyperthreads", default=()),
    "systems": each("the figures of each system", Block("a system", forms=(_OF_SYSTEM,)), names="SYSTEM"),
    "system": Text("the system of the percentiles", default="linux"),
    "percentiles": each(
        "histograms", each("values by percentile", Text("a value"), names="PERCENT"), names="HISTOGRAM"
    ),
    "costs": each("of one operation on two systems", Text("a cost"), names="SYSTEM"),
}
PUBLISHED = YamlFile(
    "Ratios that others published, for comparison only.",
    name="published",
    title="Published figures",
    places=("fixtures/published/*.yaml",),
    forms=(
        {
            "source": Text("who published them, and where"),
            "note": Text("what else is known of all rows", default=""),
            "workload": _WORKLOAD,
            "rows": Blocks("the rows", Block("a row", forms=(_ROW,)), default=()),
        },
    ),
)

Ratios = tuple[tuple[str, float], ...]
"""Each pair, such as (`smp4 work`, 3.088), says what is divided, and gives the ratio."""


@dataclass(frozen=True, slots=True)
class PublishedRow:
    source: str
    name: str
    workload: str
    mode: Mode
    params: tuple[tuple[str, str], ...]
    systems: tuple[tuple[str, Ratios], ...]
    host: str = ""
    date: str = ""
    runs: int = 0
    """The number of runs; 0 if it was not published."""
    note: str = ""


def rows_of(workloads: Collection[str]) -> tuple[PublishedRow, ...]:
    return tuple(row for row in _all() if row.workload in workloads)


@cache
def _all() -> tuple[PublishedRow, ...]:
    return tuple(row for path in sorted((data_root() / FOLDER).glob("*.yaml")) for row in read(path))


def read(path: Path) -> tuple[PublishedRow, ...]:
    top = yamlfile.load(path, PUBLISHED)
    source, note = top.text("source"), top.text("note")
    shared = top.section("workload") if top.has("workload") else None
    rows = tuple(_row(section, source, shared, note) for section in top.sections("rows"))
    if shared:
        shared.close()
    top.close()
    return rows


def _row(row: Section, source: str, shared: Section | None, note: str) -> PublishedRow:
    workload = row.section("workload") if row.has("workload") else shared
    if workload is None:
        row.fail("is missing", "workload")
    named = {key: workload.text(key) for key in workload.keys()}  # noqa: SIM118 - a Section
    row.text("commit")
    found = PublishedRow(
        source=source,
        name=row.text("name"),
        workload=workload.text("name"),
        mode=Mode(workload.choice("mode")),
        params=tuple((key, value) for key, value in named.items() if key not in _WORKLOAD.forms[0]),
        systems=tuple(_systems(row)),
        host=row.text("host"),
        date=row.text("date"),
        runs=row.integer("runs"),
        note=row.text("note", note),
    )
    row.close()
    return found


def _systems(row: Section) -> Iterator[tuple[str, Ratios]]:
    smt = row.texts("smt")
    systems = row.section("systems") if row.has("systems") else None
    for name in systems.keys() if systems else ():
        one = systems.section(name) if systems else None
        if one is not None:
            yield name, tuple(_speedups(one, smt))
    percentiles = row.section("percentiles") if row.has("percentiles") else None
    if percentiles:
        yield row.text("system"), tuple(_tails(percentiles))
    costs = row.plain("costs") if row.has("costs") else {}
    if costs:
        yield _quotient(costs)


def _speedups(system: Section, smt: Collection[str]) -> Iterator[tuple[str, float]]:
    system.text("unit")
    system.plain("medians")
    for key, window in (("speedups", "work"), ("speedups_total", "total")):
        for cpus, ratio in system.plain(key).items():
            yield f"smp{cpus}{'-smt' if cpus in smt else ''} {window}", float(ratio)
    system.close()


def _tails(percentiles: Section) -> Iterator[tuple[str, float]]:
    """How much longer the slow ones of a histogram took than the middle one."""
    for name in percentiles.keys():  # noqa: SIM118
        values = {at: float(value) for at, value in percentiles.plain(name).items()}
        for at, value in values.items():
            if at != MIDDLE:
                yield f"{name} p{at}/p{MIDDLE}", value / values[MIDDLE]


def _quotient(costs: Mapping[str, str]) -> tuple[str, Ratios]:
    """The ratio of an operation's costs on two systems, in the order of the file."""
    (top, above), (bottom, below) = costs.items()
    return f"{top} / {bottom}", (("cost", float(above) / float(below)),)
