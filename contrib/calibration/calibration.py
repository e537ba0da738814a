"""Measures this host into a machine file, and holds a machine file against a measured curve.

Takes paths; writes the YAML, its CSV of curves and its SVG, and gives text. Fails with LockError while
another session measures, with HostError and BuildError as the meter does, with UsageError for files that
exist or cannot be read, with CatalogError for a machine file that contradicts itself. A host whose curve has
no steps still gives a file, and so does one whose measurements are not usable: its figures are assumed, and
say so. What is written can be read by plan/machinefile.py. The picture has the curves of all chases, and the
levels that the machine file states.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import psutil

from benchgate.base.errors import CatalogError, UsageError
from benchgate.base.system.machines import Machine
from benchgate.base.system.systems import MAX_CPUS
from benchgate.base.text import UNAVAILABLE, one_line, percent
from benchgate.base.yaml.keys import NAME
from benchgate.host import lock, topology
from benchgate.host.noise import HostSnapshot, host_snapshot
from benchgate.plan import machinefile
from benchgate.render.page.pictures.sheet import Tile, drawn
from benchgate.render.tables.machine import machine_table
from contrib.calibration import curve, file_text, host_description, latency, meter
from contrib.calibration.curve import CacheStatement, CurvePoint
from contrib.calibration.draft import Draft, draft, usable
from contrib.calibration.host_description import HostDescription
from contrib.calibration.latency import Curve, Stair
from contrib.calibration.survey import HUGE, LOCAL, PAGES, SMALL, MeterCall, SurveyResult, plan_for, survey

LOCK_WAIT_S = 600.0
NAMES = {
    HUGE: "all lines in random order, on huge pages",
    SMALL: "all lines in random order, on pages of 4 KiB",
    LOCAL: "page by page, each page's lines in random order",
    PAGES: "one line on each page of 4 KiB",
}


@dataclass(frozen=True, slots=True)
class Files:
    """What one calibration writes."""

    machine: Path
    curves: Path
    picture: Path

    @property
    def all(self) -> tuple[Path, ...]:
        return (self.machine, self.curves, self.picture)


@dataclass(frozen=True, slots=True)
class CalibrationResult:
    text: str
    agrees: bool
    """True if the file agrees with the curve that it was made from."""


def files_of(machine: Path) -> Files:
    if machine.suffix not in (".yaml", ".yml"):
        raise UsageError(f"--out: `{machine}` must end with .yaml: it is a machine file")
    return Files(machine, machine.with_suffix(".csv"), machine.with_suffix(".svg"))


def calibrate(
    out: Path,
    *,
    quick: bool,
    say: Callable[[str], None],
    measure: MeterCall = meter.measure,
) -> CalibrationResult:
    """Measures, writes the three files, and gives what there is to say about them."""
    files = files_of(out)
    _check_free(files)
    name = _name_of(files.machine)
    description, others = _told()
    plan = plan_for(description, psutil.virtual_memory().available, quick=quick)
    with lock.measuring(LOCK_WAIT_S, notice=say):
        before, begin = host_snapshot(cpus=description.cpus), time.monotonic()
        seen = usable(survey(description, plan, measure, say))
        took, after = time.monotonic() - begin, host_snapshot(cpus=description.cpus)
    remarks = (*others, _relation(seen), *disturbances(before, after))
    text_of = partial(file_text.text, name=name, source=_source(description), remarks=remarks)
    machine, made = _readable(description, seen, text_of, files.machine)
    files.curves.write_text(curve.curves_text(seen.curves, seen.kind), encoding="utf-8")
    files.machine.write_text(machine.text, encoding="utf-8")
    files.picture.write_text(sheet(machine, seen.curves, seen.kind), encoding="utf-8")
    wrong = against(machine, seen.points)
    notes = [f"note: {remark}" for remark in (*remarks, *made.remarks)]
    wrote = f"wrote {', '.join(map(str, files.all))} in {took:.0f} s"
    report = [machine_table(machine), "", *notes, *_agreement(seen.kind, wrong), wrote]
    return CalibrationResult("\n".join(report), not wrong)


def _readable(
    description: HostDescription, seen: SurveyResult, text: Callable[[Draft], str], path: Path
) -> tuple[Machine, Draft]:
    """The draft as its own reader takes it. If the reader refuses what the host tells, the draft has only
    what was measured, and says so."""
    made = draft(description, seen)
    try:
        machine = machinefile.read(text(made), path)
    except CatalogError as error:
        why = f"what the host tells of itself is left out, because a machine file cannot hold it: {error}"
        known = description.is_virtual, description.model
        bare = HostDescription(description.cpus, (), (), (), (), (), *known)
        made = draft(bare, replace(seen, missing=(*seen.missing, one_line(why, 300))))
        machine = machinefile.read(text(made), path)
    assert isinstance(machine, Machine)  # a draft has a memory system
    return machine, made


def _told() -> tuple[HostDescription, tuple[str, ...]]:
    """What the host tells of as many CPUs as a machine may have, and a remark on those beyond."""
    seen = topology.read()
    if len(seen.usable) <= MAX_CPUS:
        return host_description.read(seen), ()
    first = topology.read(affinity=seen.usable[:MAX_CPUS])
    which = f"the first of the {len(seen.usable)} that may be used here"
    return host_description.read(first), (f"a machine has at most {MAX_CPUS} CPUs: {which}",)


def check(path: Path, curves: Path) -> tuple[str, ...]:
    """Says where the file disagrees with the curve that decides. CatalogError if it contradicts itself."""
    machine = machinefile.load(path)
    if machine is None:
        return ()
    if not isinstance(machine, Machine):
        return (f"machine {machine.name} has no memory system, so it agrees with no curve",)
    points = next(iter(curve.load_curves(curves).values()))
    return against(machine, points)


def against(machine: Machine, points: Sequence[curve.CurvePoint]) -> tuple[str, ...]:
    return tuple(curve.disagreements(stated(machine), machine.memory_local_ns, points))


def stated(machine: Machine) -> tuple[CacheStatement, ...]:
    outer = [("l2", machine.l2), *([("l3", machine.l3)] if machine.l3 else [])]
    found = (CacheStatement(name, cache.size, cache.latency_ns) for name, cache in outer)
    return (CacheStatement("l1d", machine.l1d.size, None), *found)


def disturbances(before: HostSnapshot, after: HostSnapshot) -> tuple[str, ...]:
    """What took this host's CPUs meanwhile."""
    return (_steal(before, after), _waiting(before, after))


def _steal(before: HostSnapshot, after: HostSnapshot) -> str:
    if None in (before.steal_ticks, after.steal_ticks, before.all_ticks, after.all_ticks):
        return f"steal: {UNAVAILABLE}: the host does not count it"
    stolen = sum((after.steal_ticks or {}).values()) - sum((before.steal_ticks or {}).values())
    total = sum((after.all_ticks or {}).values()) - sum((before.all_ticks or {}).values())
    return f"steal: {percent(stolen / max(total, 1))} of the CPUs' time went to other machines meanwhile"


def _waiting(before: HostSnapshot, after: HostSnapshot) -> str:
    if before.psi_cpu_us is None or after.psi_cpu_us is None:
        return f"other work on this host: {UNAVAILABLE}: the kernel does not count waiting (PSI)"
    share = (after.psi_cpu_us - before.psi_cpu_us) * 1000 / max(after.time_ns - before.time_ns, 1)
    return f"other work on this host: during {percent(share)} of the time some task waited for a CPU"


def _relation(seen: SurveyResult) -> str:
    """How the host's ns and the model's unit relate."""
    unit = "all times are ns of this host's clock; the model executes one instruction per ns"
    cycle = seen.single.get("cycle")
    if cycle is None or cycle.low <= 0:
        return f"{unit}; the length of a cycle: {UNAVAILABLE}: it was not measured"
    spread = f"({1 / cycle.low:.2f} GHz while it was measured; {cycle.low:.3f} to {cycle.high:.3f})"
    return f"{unit}, and one cycle of this host takes {cycle.low:.3f} ns {spread}"


def _name_of(path: Path) -> str:
    name = path.stem.lower().replace("-", "_")
    if not NAME.match(name):
        form = "letters, digits and _, a letter first"
        raise UsageError(f"--out: `{path.stem}` is no name of a machine: {form}")
    return name


def _source(description: HostDescription) -> str:
    date = datetime.now(UTC).strftime("%Y-%m-%d")
    where = ", in a virtual machine" if description.is_virtual else ""
    model = description.model or "unknown processor"
    return one_line(f"python -m contrib.calibration, {date}, {model}{where}", 120)


def _agreement(kind: str, wrong: Sequence[str]) -> list[str]:
    if not wrong:
        return [f"the file agrees with the curve (chase: {kind})"]
    advice = "measure again while this host does nothing else"
    header = f"the file DOES NOT agree with the curve (chase: {kind}); {advice}:"
    return [header, *(f"  {text}" for text in wrong)]


def _check_free(files: Files) -> None:
    for path in files.all:
        if path.exists():
            raise UsageError(f"{path} exists; give another name with --out, or remove it")
    if not files.machine.absolute().parent.is_dir():
        raise UsageError(f"{files.machine.absolute().parent} is not a folder; create it, or correct --out")


def sheet(machine: Machine, curves: Mapping[str, tuple[CurvePoint, ...]], decides: str) -> str:
    lines = [kind for kind in (HUGE, SMALL, LOCAL) if kind in curves]
    stairs = stairs_of(machine)
    tiles = [_tile(f"{machine.name}: time of a load in a pointer chase", lines, curves, stairs, decides)]
    if PAGES in curves:
        title = "What the TLB adds: 64 times the pages for as many lines"
        tiles.append(_tile(title, [PAGES], curves, (), decides))
    return drawn(f"{machine.name}: latency over size", tiles)


def stairs_of(machine: Machine) -> tuple[Stair, ...]:
    caches = [("L1d", machine.l1d), ("L2", machine.l2), *([("L3", machine.l3)] if machine.l3 else [])]
    stairs = (Stair(name, cache.size, cache.latency_ns) for name, cache in caches)
    return (*stairs, Stair("memory", None, machine.memory_local_ns))


def _tile(
    heading: str,
    kinds: list[str],
    curves: Mapping[str, tuple[CurvePoint, ...]],
    stairs: tuple[Stair, ...],
    decides: str,
) -> Tile:
    drawn_ones = []
    for number, kind in enumerate(kinds):
        name = NAMES[kind] + ("; the file is made from it" if kind == decides else "")
        points = tuple((point.size, point.ns, point.typical_ns) for point in curves[kind])
        drawn_ones.append(Curve(number, name, points))
    names = tuple((drawn_one.look, drawn_one.name) for drawn_one in drawn_ones)
    return Tile(heading, latency.draw(heading, drawn_ones, stairs), names, latency.HEIGHT)
