"""`benchgate machine`: measures this host into a machine file, shows a machine, holds a file against a curve.

Takes paths; writes the YAML, its CSV of curves and its SVG, and gives text. Fails with LockError while
another session measures, with HostError and BuildError as the meter does, with UsageError for files that
exist or cannot be read, with CatalogError for a machine file that contradicts itself. A host whose curve has
no steps still gives a file, and so does one whose measurements are not usable: its figures are assumed, and
say so. What is written can be read by plan/machinefile.py.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TypeVar

import psutil

from benchgate.base.errors import CatalogError, UsageError
from benchgate.base.machines import FASTEST_GB_S, LONGEST_NS, SLOWEST_GB_S, Cache, Machine
from benchgate.base.systems import MAX_CPUS
from benchgate.base.text import UNAVAILABLE, one_line, percent, visible
from benchgate.base.yaml_values import NAME
from benchgate.host import lock, topology
from benchgate.host.memory import curve, file_text, meter, told
from benchgate.host.memory.curve import Stated
from benchgate.host.memory.draft import Draft, draft
from benchgate.host.memory.survey import Measure, Seen, Spread, plan_for, survey
from benchgate.host.memory.told import Told
from benchgate.host.noise import HostSnapshot, host_snapshot
from benchgate.host.procfs import as_list
from benchgate.plan import machinefile
from benchgate.session.calibration_picture import sheet

LOCK_WAIT_S = 600.0


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
class Calibrated:
    text: str
    agrees: bool
    """Whether the file agrees with the curve that it was made from."""


def files_of(machine: Path) -> Files:
    if machine.suffix not in (".yaml", ".yml"):
        raise UsageError(f"--out: `{machine}` must end with .yaml: it is a machine file")
    return Files(machine, machine.with_suffix(".csv"), machine.with_suffix(".svg"))


def calibrate(
    out: Path,
    *,
    quick: bool,
    force: bool,
    say: Callable[[str], None],
    measure: Measure = meter.measure,
) -> Calibrated:
    """Measures, writes the three files, and gives what there is to say about them."""
    files = files_of(out)
    _check_free(files, force)
    name = _name_of(files.machine)
    found, others = _told()
    plan = plan_for(found, psutil.virtual_memory().available, quick=quick)
    with lock.measuring(LOCK_WAIT_S, notice=say):
        before, begin = host_snapshot(cpus=found.cpus), time.monotonic()
        seen = usable(survey(found, plan, measure, say))
        took, after = time.monotonic() - begin, host_snapshot(cpus=found.cpus)
    remarks = (*others, _relation(seen), *disturbances(before, after))
    machine, made = _readable(found, seen, partial(_text, name, _source(found), remarks), files.machine)
    text = machine.text
    files.curves.write_text(curve.curves_text(seen.curves, seen.kind), encoding="utf-8")
    files.machine.write_text(text, encoding="utf-8")
    files.picture.write_text(sheet(machine, seen.curves, seen.kind), encoding="utf-8")
    wrong = against(machine, seen.points)
    report = [*_report(machine, (*remarks, *made.remarks)), *_agreement(seen.kind, wrong)]
    wrote = f"wrote {', '.join(map(str, files.all))} in {took:.0f} s"
    return Calibrated("\n".join([*report, wrote]), not wrong)


def _text(name: str, source: str, remarks: tuple[str, ...], made: Draft) -> str:
    return file_text.text(made, name, source, remarks)


def _readable(found: Told, seen: Seen, text: Callable[[Draft], str], path: Path) -> tuple[Machine, Draft]:
    """The draft as its own reader takes it. If the reader refuses what the host tells, the draft has only
    what was measured, and says so."""
    made = draft(found, seen)
    try:
        machine = machinefile.parse(text(made), path)
    except CatalogError as error:
        why = f"what the host tells of itself is left out, because a machine file cannot hold it: {error}"
        bare = Told(found.cpus, (), (), (), (), (), found.is_virtual, found.model)
        made = draft(bare, replace(seen, missing=(*seen.missing, one_line(why, 300))))
        machine = machinefile.parse(text(made), path)
    assert machine is not None  # it has a memory system
    return machine, made


def _told() -> tuple[Told, tuple[str, ...]]:
    """What the host tells of as many CPUs as a machine may have, and a remark on those beyond."""
    seen = topology.read()
    if len(seen.usable) <= MAX_CPUS:
        return told.read(seen), ()
    first = topology.read(affinity=seen.usable[:MAX_CPUS])
    remark = (
        f"a machine has at most {MAX_CPUS} CPUs: the first of the {len(seen.usable)} that may be used here"
    )
    return told.read(first), (remark,)


def show(machine: Machine) -> str:
    return machine_table(machine)


def check(path: Path, curves: Path | None) -> tuple[str, ...]:
    """Where the file disagrees with the curve that decides. A file that contradicts itself: CatalogError."""
    machine = machinefile.load(path)
    if curves is None or machine is None:
        return ()
    points = next(iter(curve.load_curves(curves).values()))
    return against(machine, points)


def against(machine: Machine, points: Sequence[curve.Point]) -> tuple[str, ...]:
    return tuple(curve.disagreements(stated(machine), machine.memory_local_ns, points))


def stated(machine: Machine) -> tuple[Stated, ...]:
    found = [Stated("l1d", machine.l1d.size, None), Stated("l2", machine.l2.size, machine.l2.latency_ns)]
    if machine.l3 is not None:
        found.append(Stated("l3", machine.l3.size, machine.l3.latency_ns))
    return tuple(found)


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


def _relation(seen: Seen) -> str:
    """How the host's ns and the model's unit relate."""
    unit = "all times are ns of this host's clock; the model executes one instruction per ns"
    cycle = seen.single.get("cycle")
    if cycle is None or cycle.low <= 0:
        return f"{unit}; the length of a cycle: {UNAVAILABLE}: it was not measured"
    return (
        f"{unit}, and one cycle of this host takes {cycle.low:.3f} ns ({1 / cycle.low:.2f} GHz while "
        f"it was measured; {cycle.low:.3f} to {cycle.high:.3f})"
    )


def _name_of(path: Path) -> str:
    name = path.stem.lower().replace("-", "_")
    if not NAME.match(name):
        raise UsageError(
            f"--out: `{path.stem}` is no name of a machine: letters, digits and _, a letter first"
        )
    return name


def _source(found: Told) -> str:
    date = datetime.now(UTC).strftime("%Y-%m-%d")
    where = ", in a virtual machine" if found.is_virtual else ""
    return one_line(f"benchgate machine calibrate, {date}, {found.model or 'unknown processor'}{where}", 120)


def _report(machine: Machine, remarks: Sequence[str]) -> list[str]:
    return [show(machine), "", *(f"note: {one}" for one in remarks)]


def _agreement(kind: str, wrong: Sequence[str]) -> list[str]:
    if not wrong:
        return [f"the file agrees with the curve (chase: {kind})"]
    advice = "measure again while this host does nothing else"
    return [
        f"the file DOES NOT agree with the curve (chase: {kind}); {advice}:",
        *(f"  {one}" for one in wrong),
    ]


def _check_free(files: Files, force: bool) -> None:
    for path in files.all:
        if path.exists() and not force:
            raise UsageError(f"{path} exists; give another name with --out, or --force to replace it")
    if not files.machine.absolute().parent.is_dir():
        raise UsageError(f"{files.machine.absolute().parent} is not a folder; create it, or correct --out")


# ---- measurements that no machine file can hold


Key = TypeVar("Key", str, tuple[int, int], tuple[int, ...])


def usable(seen: Seen) -> Seen:
    missing = list(seen.missing)
    longest = float(LONGEST_NS)
    return replace(
        seen,
        # A cycle is only said; an atomic operation is longer by the instruction's own ns.
        single=_kept("of CPU 0, ns:", seen.single, 1, (0, longest + 1), missing),
        transfers=_kept("transfer, ns, CPUs", seen.transfers, 1, (0, longest), missing),
        handovers=_kept("handover, ns, CPUs", seen.handovers, 1, (0, longest), missing),
        # There and back, of which the file has one half.
        interrupts=_kept("interrupt_ns, CPUs", seen.interrupts, 2, (0, longest), missing),
        streams=_kept("bandwidth_gb_s, CPUs", seen.streams, 1e9, (SLOWEST_GB_S, FASTEST_GB_S), missing),
        remote=_kept("remote_ns, nodes", seen.remote, 1, (0, longest), missing),
        missing=tuple(missing),
    )


def _kept(
    what: str, found: Mapping[Key, Spread], unit: float, limits: tuple[float, float], missing: list[str]
) -> dict[Key, Spread]:
    """`unit`: so much of a measurement is one of the file's."""
    low, high = limits
    good = {}
    for key, one in found.items():
        if low <= one.value / unit <= high:
            good[key] = one
            continue
        place = key if isinstance(key, str) else as_list(key)
        missing.append(
            f"{what} {place}: {one.value / unit:,.0f} was measured, which is not usable: a machine file "
            f"takes {low:,g} to {high:,g}"
        )
    return good


# ---- the table of a machine


CYCLE_FREE = "one instruction takes 1 ns; a hit in the first level takes no more"


def machine_table(machine: Machine) -> str:
    rows = [
        ("machine", f"{machine.name}: {visible(machine.source)}"),
        ("CPUs", f"{machine.cpus}; {CYCLE_FREE}"),
        *((name, _cache(one, machine.line)) for name, one in _caches(machine)),
        ("clusters", _groups(machine.clusters)),
        ("sockets", _groups(machine.sockets)),
        *(
            (f"node {number}", f"CPUs {as_list(node.cpus)}, {node.share}% of the memory")
            for number, node in enumerate(machine.nodes)
        ),
        ("memory", _memory(machine)),
        ("transfer", _transfer(machine)),
        ("atomic", f"{machine.atomic_ns} ns more than a plain access"),
        ("interrupt", f"{machine.interrupt_ns} ns for the CPU that takes it"),
        ("TLB", _tlb(machine)),
    ]
    return "\n".join(f"{name:10} {words}" for name, words in rows)


def _caches(machine: Machine) -> list[tuple[str, Cache]]:
    found = [("L1d", machine.l1d), ("L1i", machine.l1i), ("L2", machine.l2)]
    return [*found, ("L3", machine.l3)] if machine.l3 else found


def _cache(one: Cache, line: int) -> str:
    sets = one.sets(line)
    return f"{one.size / 1024:,g} KiB, {one.ways} ways, {sets:,} sets of {line} bytes, {one.latency_ns} ns"


def _groups(groups: tuple[tuple[int, ...], ...]) -> str:
    return f"{len(groups)}: {' | '.join(as_list(one) for one in groups)}"


def _memory(machine: Machine) -> str:
    far = f", {machine.memory_remote_ns} ns from another node" if len(machine.nodes) > 1 else ""
    limit = (
        f"{machine.bandwidth_gb_s:g} GB/s for each node"
        if machine.bandwidth_gb_s
        else "no limit of bandwidth"
    )
    return f"{machine.memory_local_ns} ns{far}; {limit}"


def _transfer(machine: Machine) -> str:
    """Only the distances that a pair of its CPUs has."""
    times = []
    if any(len(one) > 1 for one in machine.clusters):
        times.append(f"{machine.transfer_cluster_ns} ns within a cluster")
    if len(machine.clusters) > len(machine.sockets):
        times.append(f"{machine.transfer_across_ns} ns across clusters")
    if len(machine.sockets) > 1:
        times.append(f"{machine.transfer_socket_ns} ns across sockets")
    return ", ".join(times) or "none: there is one CPU"


def _tlb(machine: Machine) -> str:
    tlb = machine.tlb
    return f"{tlb.entries} entries, {tlb.ways} ways, {tlb.walk_ns} ns for a walk" if tlb else "none"
