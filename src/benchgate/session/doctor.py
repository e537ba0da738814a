"""`benchgate doctor`: collects facts about this host and shows on one screen what it can be used for.

Takes an optional path of a QEMU; gives text, and on request writes a report about KVM (kvm_report.py). If
something is missing or fails, its row says why and the other rows are shown: doctor must work when other
commands fail. host/fitness.py has the rules by which a lane qualifies for gating. The version of a QEMU's
plugin API is known by loading a plugin that requires version 999: QEMU refuses it and names its newest. Fails
with HostError or UsageError only if this process has no usable CPU, and with HostError or EvidenceError if
the report about KVM was asked for and cannot be made.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchgate.base.cells import Lane
from benchgate.base.errors import BenchgateError, HostError
from benchgate.base.paths import data_root
from benchgate.base.process import capture
from benchgate.base.system.arch import ARCHITECTURES, Architecture
from benchgate.base.system.qemu import Qemu, comma_safe, command
from benchgate.base.text import UNAVAILABLE, counted, one_line, with_interval
from benchgate.build import toolchain
from benchgate.build.fetch import inputs, store
from benchgate.build.programs import compiled
from benchgate.host import lock, noise, topology
from benchgate.host.fitness import THRESHOLDS, Fitness, Host, fitness, survey
from benchgate.host.procfs import as_list
from benchgate.host.topology import HostTopology, isolated_by
from benchgate.insn.support import support
from benchgate.session.kvm_report import collect
from benchgate.session.kvm_report import write as write_kvm_report

_FLAGS = ("-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror")
_NEWEST = re.compile(r"supports only up to version (\d{1,4})")
LOCK_WAIT_S = 60.0
LINES = 24
COLUMNS = 100
_LABEL = 12


def report(qemu_path: Path | None = None, *, kvm_report: Path | None = None) -> str:
    seen = topology.read()
    pins = topology.choose_pins(seen)
    qemu, words = _qemu(qemu_path)
    host = Host(seen, pins, {}, {})
    if qemu is not None:
        try:
            with lock.measuring(LOCK_WAIT_S, notice=_say):
                host = survey(qemu, seen, pins, tuple(THRESHOLDS))
        except BenchgateError as error:
            words += f"; it was not probed: {error}"
    if kvm_report is not None:
        if qemu is None or not host.probes:
            why = f"nothing was probed, so {kvm_report} was not written; QEMU: {words}"
            raise HostError(f"--kvm-report: {why}")
        write_kvm_report(kvm_report, collect(host, qemu))
    compiler = _or_why(lambda: toolchain.compiler().version)
    facts = HostFacts(words, _or_why(_linux), compiler, _insn(qemu), noise.detectors(), _others())
    return doctor_text(doctor_facts(host, facts))


def _or_why(text: Callable[[], str]) -> str:
    """The text, or why there is none."""
    try:
        return text()
    except BenchgateError as error:
        return f"none: {error}"


def _say(line: str) -> None:
    print(f"benchgate: {line}", file=sys.stderr)


def _qemu(path: Path | None) -> tuple[Qemu | None, str]:
    try:
        qemu = inputs.qemu(path, notice=_say)
    except BenchgateError as error:
        return None, f"none: {error}"
    try:
        plugins = plugin_api_of(qemu)
    except BenchgateError as error:
        plugins = f"plugin API unknown: {error}"
    return qemu, f"{qemu.version_text} ({qemu.origin}), {plugins}"


def _linux() -> str:
    kernel = inputs.linux_kernel(notice=_say)
    return ", ".join([kernel.version, *kernel.labels])


def _others() -> str:
    """The architectures of guests besides this host's. Nothing is fetched for this."""
    others = [one for one in ARCHITECTURES.values() if not one.is_host]
    return "; ".join(f"{one}: {_or_why(partial(_other, one))}" for one in others)


def _other(guest: Architecture) -> str:
    entry = store.fetched(guest.kind("qemu"))
    if entry is None:
        return "is fetched when a system needs it"
    return f"QEMU {entry.about['version']} ({entry.origin})"


def _insn(qemu: Qemu | None) -> tuple[bool, str]:
    """Says if the instruction clock decides gates here, and what that means for the user. The figures of a
    good trial are left out."""
    if qemu is None:
        return False, "no QEMU"
    try:
        result = support(qemu)
    except BenchgateError as error:
        return False, f"this QEMU was not tried: {error}"
    if result.works:
        means = "decides at any CPU count, whatever this host's speed and load"
        return True, f"{means}; used where wall time does not qualify"
    advice = "use the pinned one (leave out --qemu)"
    return False, f"this QEMU cannot carry the clock; {advice}. Its trial: {result.reason}"


@dataclass(frozen=True, slots=True)
class ScreenRow:
    label: str
    text: str


@dataclass(frozen=True, slots=True)
class HostFacts:
    """Facts from outside `host`, one short sentence each."""

    qemu: str
    linux: str
    compiler: str
    """The version, or why there is no QEMU."""
    insn: tuple[bool, str]
    """True if the instruction clock can decide gates on this host; and the reason."""
    detectors: Mapping[str, bool]
    others: str
    """What is known of guests of other architectures."""


def doctor_facts(host: Host, facts: HostFacts) -> tuple[ScreenRow, ...]:
    """The screen's rows, in order."""
    rows = [*_topology_rows(host.topology, host.pins)]
    probes = host.probes.values()
    rows += [ScreenRow(probe.accel.value, f"{probe.state}: {probe.detail}") for probe in probes]
    rows.append(_capacity_row(host))
    rows += [ScreenRow("qemu", facts.qemu), ScreenRow("linux", facts.linux)]
    rows += [ScreenRow("compiler", facts.compiler), ScreenRow("other CPUs", facts.others)]
    for lane in (Lane.KVM, Lane.TCG, Lane.NATIVE):
        rows.append(_lane_row(lane, [fitness(host, lane, n, at) for n, at in THRESHOLDS.items()]))
    rows.append(ScreenRow("lane insn", f"{'yes' if facts.insn[0] else 'no'}: {facts.insn[1]}"))
    present = ", ".join(name for name, there in facts.detectors.items() if there) or "none"
    absent = ", ".join(name for name, there in facts.detectors.items() if not there)
    rows.append(ScreenRow("noise seen", f"{present}; {UNAVAILABLE}: {absent}" if absent else present))
    return tuple(rows)


def doctor_text(rows: Sequence[ScreenRow]) -> str:
    """Fits into 24 lines of 100 columns. Long rows are wrapped while there is room, then truncated."""
    spare = LINES - 1 - len(rows)
    lines = ["benchgate doctor: what this host is good for"]
    for row in rows[: LINES - 1]:
        parts = textwrap.wrap(row.text, COLUMNS - _LABEL, break_long_words=True) or [UNAVAILABLE]
        room = 1 + max(0, min(2, spare))
        if len(parts) > room:
            parts = parts[:room]
            parts[-1] = f"{parts[-1][: COLUMNS - _LABEL - 3]}..."
        spare -= len(parts) - 1
        labels = [row.label, *[""] * (len(parts) - 1)]
        lines += [f"{label:<{_LABEL}}{part}" for label, part in zip(labels, parts, strict=True)]
    return "\n".join(lines) + "\n"


def _topology_rows(topology: HostTopology, pins: Sequence[int]) -> list[ScreenRow]:
    counts = f"{_count(topology.sockets, 'socket')}, {_count(topology.cores, 'core')}"
    cpus = f"{as_list(topology.online)} online, {as_list(topology.usable)} usable by this process; {counts}, "
    cpus += f"{_count(len(topology.online), 'thread')} (source: {topology.source})"
    smt = "several hyperthreads per core" if topology.smt else "one thread per core"
    if topology.hidden:
        smt += ", according to a hypervisor" if topology.hypervisor else ", as far as is known"
        if topology.cores is None:
            smt = "the host does not report which CPUs share a core"
        smt += ", which may hide hyperthreads: placement is `virtual`"
    covered = isolated_by(topology, pins)
    isolation = f"pins covered by {', '.join(covered)}" if covered else "none of the pins is isolated"
    if topology.isolation.cpuset not in ("none", UNAVAILABLE):
        isolation += f"; cpuset {topology.isolation.cpuset}"
    if topology.isolation.service_manager not in ("none", UNAVAILABLE):
        isolation += f"; services confined to {topology.isolation.service_manager}"
    chosen = f"{','.join(map(str, pins))} (default: one logical CPU per physical core); {isolation}"
    return [ScreenRow("cpus", cpus), ScreenRow("threads", smt), ScreenRow("pins", chosen)]


def _capacity_row(host: Host) -> ScreenRow:
    several = [one for one in host.capacities.values() if one.cpus > 1]
    ratios = [with_interval(one.ratio, one.low, one.high) for one in several]
    shown = [
        f"{one.cpus} CPUs {ratio} ({one.accel.value})" for one, ratio in zip(several, ratios, strict=True)
    ]
    shown += [f"{n} CPUs {UNAVAILABLE} ({accel}): {why}" for (accel, n), why in host.unmeasured.items()]
    return ScreenRow("capacity", "; ".join(["1 CPU 1 (the unit)", *shown]))


def _lane_row(lane: Lane, found: Sequence[Fitness]) -> ScreenRow:
    """Shows a reason only once if it is the same for every CPU count."""
    words = [f"{'yes' if one.qualifies else 'no'}: {one.reason}" for one in found]
    if len(set(words)) > 1:
        words = [f"{one.cpus} CPUs {word}" for one, word in zip(found, words, strict=True)]
    return ScreenRow(f"lane {lane.value}", "; ".join(dict.fromkeys(words)) or "no gate asked")


def _count(number: int | None, noun: str) -> str:
    return f"{noun}s {UNAVAILABLE}" if number is None else counted(number, noun)


def plugin_api_of(qemu: Qemu) -> str:
    """The newest plugin API, or why there is none. QEMU exits immediately, because it refuses the plugin
    before it creates a machine."""
    argv = command(qemu, machine="none", extra=("-plugin", comma_safe(str(_refused_plugin()))))
    try:
        done = capture(argv, 20, {**os.environ, **qemu.environment})
    except subprocess.TimeoutExpired:
        return "QEMU did not exit within 20 s"
    return read_refusal(done.stderr)


def read_refusal(text: str) -> str:
    """Reads QEMU's error message. Pure."""
    if newest := _NEWEST.search(text):
        return f"plugin API {newest[1]}"
    if "invalid option" in text or "not supported" in text or "not enabled" in text:
        return "built without plugins"
    return f"plugins unusable: {one_line(text, 100) or 'QEMU printed no message'}"


def _refused_plugin() -> Path:
    folder = data_root() / "guest" / "probe"
    return compiled("plugin-api", "plugin_version.so", folder, ["plugin_version.c"], _FLAGS)
