"""The QEMUs of a session's systems, and how their guests run.

Takes the session's options and systems; gives `VmConfig`s for their cells, and the lanes that planning needs.
`fetch` needs no lock; `choose` probes the host, so the caller must hold the measuring lock. Fails with
FetchError or HostError.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from benchgate.base.cells import Accel, Lane
from benchgate.base.clocks import Clock, Clocks
from benchgate.base.errors import HostError, UsageError
from benchgate.base.gates import CapacityBound
from benchgate.base.system.qemu import Qemu
from benchgate.base.system.systems import System, SystemKind
from benchgate.base.text import counted
from benchgate.build.cache_storage import Notice
from benchgate.build.fetch import inputs
from benchgate.build.fetch.store import FetchSession
from benchgate.host import accel, capacity
from benchgate.host.accel import AccelProbe
from benchgate.host.capacity import CapacityPair
from benchgate.host.probe import ProbeError
from benchgate.insn.plugin import INLINE_API, api_of, source_digest
from benchgate.plan import catalog
from benchgate.plan.options import Options
from benchgate.plan.planned import PlannedCell
from benchgate.plan.seats import lanes_of_kinds, wall_lane
from benchgate.run import trial
from benchgate.run.argv import VmConfig
from benchgate.session import vm_choice
from benchgate.session.measuring_host import MeasuringHost
from benchgate.session.vm_choice import VmChoice


def qemu_of(
    system: System, path: Path | None, *, locked: bool = False, session: FetchSession | None = None
) -> Qemu:
    """The QEMU for a system; `path` as from `given_qemu`."""
    named = "--qemu" if system.own_qemu is None else f"{system.file}: qemu.binary:"
    return inputs.qemu(path, system.arch, locked=locked, session=session, named=named)


def given_qemu(system: System, options: Options, *, alone: bool) -> Path | None:
    """The QEMU that the system's YAML or --qemu names. Among systems of several architectures, --qemu is for
    the one that its name tells."""
    path = system.own_qemu or options.qemu
    usable = system.own_qemu is not None or alone or path is None or inputs.target_of(path) is system.arch
    return path if usable else None


def is_alone(systems: Iterable[System]) -> bool:
    """True if --qemu is for one architecture only."""
    shared = [system for system in systems if system.kind is SystemKind.QEMU and system.own_qemu is None]
    return len({system.arch for system in shared}) == 1


def largest(cells: Iterable[PlannedCell]) -> list[PlannedCell]:
    """Finds the cell with the most CPUs of each system that QEMU boots."""
    planned_cells: dict[str, PlannedCell] = {}
    for cell in cells:
        known = planned_cells.get(cell.system.name)
        if cell.system.kind is SystemKind.QEMU and (known is None or known.cell.cpus < cell.cell.cpus):
            planned_cells[cell.system.name] = cell
    return list(planned_cells.values())


def require_machines(qemus: Iterable[tuple[PlannedCell, Qemu]]) -> None:
    """UsageError with everything that these QEMUs do not take of the machine in a system's YAML."""
    found = [
        f"{planned.system.file}: {problem}"
        for planned, qemu in qemus
        for problem in trial.problems(qemu, planned.system, planned.cell.cpus)
    ]
    if found:
        raise UsageError("\n  ".join([f"QEMU refuses this ({counted(len(found), 'problem')}):", *found]))


def require_saved(qemus: Iterable[tuple[PlannedCell, Qemu]]) -> None:
    """UsageError for a cell that starts warm in a QEMU that does not save all of its machine."""
    for planned, qemu in qemus:
        since = planned.system.saved_since
        if planned.starts_warm and qemu.version < since:
            newer = ".".join(map(str, since[:2]))
            raise UsageError(
                f"{planned.system.name} cannot start warm: QEMU {qemu.version_text} does not save the timers "
                f"of {planned.system.arch} machines; name QEMU {newer} or newer with --qemu, or start cold"
            )


def _no_machine(vm: VmConfig) -> str:
    """Why the instruction clock in this QEMU has no machines; empty if it has, or there is no clock."""
    if vm.clock is None:
        return ""
    if api_of(vm.qemu) < INLINE_API:
        offers = f"QEMU {vm.qemu.version_text} has version {api_of(vm.qemu)} of the plugin interface"
        return f"{offers}; a machine needs {INLINE_API}: use QEMU 9.1 or newer"
    return ""


@dataclass
class Emulators:
    """The QEMUs by `System.emulator`, in the order of the systems. Reports show the version of the first, the
    main one, and with `--clock auto` or `both` the others follow its clock."""

    options: Options
    host: MeasuringHost
    note: Notice
    qemus: dict[str, Qemu] = field(default_factory=dict)
    _choices: dict[str, VmChoice] = field(default_factory=dict)
    _pairs: dict[tuple[str, int], list[CapacityPair]] = field(default_factory=dict)

    def fetch(self, systems: Iterable[System]) -> None:
        used = {one.emulator: one for one in systems if one.kind is SystemKind.QEMU}
        alone = is_alone(used.values())
        with FetchSession(self.note) as session:
            for name, system in used.items():
                path = given_qemu(system, self.options, alone=alone)
                self.qemus[name] = qemu_of(system, path, locked=self.options.locked, session=session)

    def check(self, cells: Iterable[PlannedCell]) -> None:
        used = [(cell, self.qemus[cell.system.emulator]) for cell in largest(cells)]
        require_saved(used)
        require_machines(used)

    def choose(self, pins: tuple[int, ...]) -> None:
        self._choices = self._chosen(self.options, pins)
        if len({choice.lane is Lane.INSN for choice in self._choices.values()}) > 1:
            self.note("the instruction clock decides for all guests: wall time does not qualify for each")
            self._choices = self._chosen(replace(self.options, clock="insn"), pins)
        wanted = catalog.load_machine(self.options.machine)
        if wanted is not None and self.options.clock == "insn" and self.no_machine:
            raise HostError(f"--machine {wanted.name}: {self.no_machine}")

    def emulate(self, system: System, clock: Path | None = None) -> None:
        """Sets up TCG, with this clock or none, for boots that leave nothing else to choose."""
        qemu = self.qemus[system.emulator]
        vm = VmConfig(qemu, Accel.TCG, accel.probe(qemu, Accel.TCG).cpu_model or "", clock)
        lane = Lane.TCG if clock is None else Lane.INSN
        self._choices[system.emulator] = VmChoice({lane: vm}, Accel.TCG, {})

    def _chosen(self, options: Options, pins: tuple[int, ...]) -> dict[str, VmChoice]:
        how = options, self.host, pins, self.note
        return {name: vm_choice.choose_vm(qemu, *how) for name, qemu in self.qemus.items()}

    # ---- what was chosen

    @property
    def _configs(self) -> list[VmConfig]:
        return [config for choice in self._choices.values() for config in choice.configs.values()]

    @property
    def main(self) -> Qemu | None:
        return next(iter(self.qemus.values()), None)

    @property
    def _main_choice(self) -> VmChoice | None:
        return next(iter(self._choices.values()), None)

    @property
    def probes(self) -> Sequence[AccelProbe]:
        return () if self._main_choice is None else tuple(self._main_choice.probes.values())

    @property
    def clocks(self) -> Clocks | None:
        """Says which clock decides if --clock is `both`."""
        if self._main_choice is not None:
            return self._main_choice.clocks
        if self.options.clock == "both":
            return vm_choice.clocks_of(self.options, Clock.WALL, "no guest is measured")
        return None

    @property
    def lanes(self) -> Mapping[str, tuple[Lane, str]] | None:
        """The lanes of `Ground`; None if there is no guest."""
        if self._main_choice is None:
            return None
        lanes = partial(lanes_of_kinds, self.options.clock)
        by_guest = {name: lanes(choice.lane)["qemu"] for name, choice in self._choices.items()}
        return {**lanes(self._main_choice.lane), **by_guest}

    @property
    def no_insn(self) -> str | None:
        """The value for `Ground`: the first reason why guests have no instruction clock."""
        reasons = [choice.no_insn for choice in self._choices.values() if choice.no_insn is not None]
        return next(filter(None, reasons), reasons[0] if reasons else None)

    @property
    def no_machine(self) -> str:
        """The value for `Ground`: the first reason why guests have only the ideal machine."""
        return next(filter(None, map(_no_machine, self._configs)), "")

    @property
    def lane(self) -> Lane | None:
        """The lane of the main guests; with --clock both the one of wall time."""
        return None if self._main_choice is None else self._main_choice.lane

    @property
    def is_exact(self) -> bool:
        """True if guests run on the instruction clock, where the host's load does not change results."""
        return any(config.clock is not None for config in self._configs)

    @property
    def only_exact(self) -> bool:
        """True if all guests run on the instruction clock."""
        return self.is_exact and all(config.clock is not None for config in self._configs)

    # ---- for one cell

    def vm(self, planned: PlannedCell) -> VmConfig:
        config = self._choice(planned).configs.get(planned.seats.lane)
        if config is None:
            raise HostError(f"{planned.cell.id}: QEMU is not prepared for lane {planned.seats.lane}")
        return config

    def untimed(self, planned: PlannedCell) -> VmConfig:
        """QEMU's settings for a boot without the instruction clock."""
        return replace(next(iter(self._choice(planned).configs.values())), clock=None)

    def accelerator(self, system: System) -> Accel:
        """The accelerator on wall time."""
        chosen = self._choices.get(system.emulator)
        return Accel.TCG if chosen is None else chosen.accel

    def has_lane(self, planned: PlannedCell, lane: Lane) -> bool:
        chosen = self._choices.get(planned.system.emulator)
        return chosen is not None and lane in chosen.configs

    def _choice(self, planned: PlannedCell) -> VmChoice:
        choice = self._choices.get(planned.system.emulator)
        if choice is None:
            raise HostError(f"{planned.cell.id}: QEMU is not prepared for {planned.system.arch}")
        return choice

    def probe(self, emulator: str) -> AccelProbe:
        """The probe of the accelerator on wall time."""
        chosen = self._choices[emulator]
        return chosen.probes[chosen.accel]

    def sample_capacity(
        self, row: str, emulator: str, pins: tuple[int, ...], counts: tuple[int, ...]
    ) -> dict[int, CapacityBound]:
        """The host's own speedup beside a row, by CPU count: samples one more pair of probe guests at each,
        and gives the bounds from all pairs of the row so far. A row without QEMU has none."""
        if emulator not in self.qemus:
            return {}
        qemu, probe, bounds = self.qemus[emulator], self.probe(emulator), {}
        for count in counts:
            pairs = self._pairs.setdefault((row, count), [])
            try:
                pairs += self.host.pairs(qemu, probe, pins[:count], len(pairs))
            except ProbeError as error:
                raise ProbeError(f"the host's own speedup at {count} CPUs, beside {row}: {error}") from error
            found = capacity.estimate(probe.accel, pins[:count], pairs)
            lane = wall_lane(probe.accel)
            bounds[count] = CapacityBound(lane, count, found.ratio, found.low, found.high)
        return bounds

    def described(self) -> dict[str, Any]:
        """Gives each QEMU's version, digest, origin and clock, for session.json."""
        return {
            name: {"version": qemu.version_text, "digest": qemu.digest, "origin": qemu.origin}
            | self._clock(name)
            for name, qemu in self.qemus.items()
        }

    def _clock(self, name: str) -> dict[str, str]:
        """The instruction clock in this QEMU: what decides, besides the guest, how a seed runs."""
        configs = self._choices[name].configs.values() if name in self._choices else ()
        clock = next((config.clock for config in configs if config.clock is not None), None)
        return {} if clock is None else {"clock": f"full serial {source_digest()}"}

    def labels(self) -> set[str]:
        return {label for qemu in self.qemus.values() for label in qemu.labels}
