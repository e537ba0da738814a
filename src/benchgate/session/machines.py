"""The QEMU of each architecture among a session's systems, and how its guests run.

Takes the session's options and systems; gives `VmConfig`s for their cells, and the lanes that planning needs.
`fetch` needs no lock; `choose` probes the host, so the caller must hold the measuring lock. Fails with
FetchError or HostError.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from benchgate.base.arch import Architecture
from benchgate.base.cells import Accel, Lane
from benchgate.base.clocks import Clock, Clocks
from benchgate.base.errors import HostError
from benchgate.base.qemu import Qemu
from benchgate.base.systems import Kind, System
from benchgate.build.cache_storage import Notice
from benchgate.build.fetch import inputs
from benchgate.build.fetch.store import FetchSession
from benchgate.host import capacity
from benchgate.host.accel import AccelProbe
from benchgate.host.capacity import CapacityPair
from benchgate.host.topology import Topology
from benchgate.insn.log import ClockMode
from benchgate.plan.lanes import of_kinds
from benchgate.plan.options import Options
from benchgate.plan.planned import PlannedCell
from benchgate.run.argv import VmConfig
from benchgate.session import vm_choice
from benchgate.session.vm_choice import VmChoice


@dataclass
class Machines:
    """By the name of the architecture, in the order of the systems. The first one is the main one: reports
    show its version, and with `--clock auto` or `both` the others follow its clock."""

    options: Options
    topology: Topology
    note: Notice
    qemus: dict[str, Qemu] = field(default_factory=dict)
    _choices: dict[str, VmChoice] = field(default_factory=dict)

    def fetch(self, systems: Iterable[System]) -> None:
        guests = list(dict.fromkeys(one.arch for one in systems if one.kind is Kind.QEMU))
        with FetchSession(self.note) as session:
            for guest in guests:
                path = self._own(guest, alone=len(guests) == 1)
                self.qemus[guest.name] = inputs.qemu(path, guest, locked=self.options.locked, session=session)

    def _own(self, guest: Architecture, *, alone: bool) -> Path | None:
        """The user's --qemu. Among several architectures it is for the one that its name tells."""
        path = self.options.qemu
        return path if alone or path is None or inputs.target_of(path) is guest else None

    def choose(self, pins: tuple[int, ...]) -> None:
        self._choices = self._chosen(self.options, pins)
        if len({one.lane is Lane.INSN for one in self._choices.values()}) > 1:
            self.note("the instruction clock decides for all guests: wall time does not qualify for each")
            self._choices = self._chosen(replace(self.options, clock="insn"), pins)

    def _chosen(self, options: Options, pins: tuple[int, ...]) -> dict[str, VmChoice]:
        return {
            name: vm_choice.choose_vm(qemu, options, self.topology, pins, self.note)
            for name, qemu in self.qemus.items()
        }

    # ---- what was chosen

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
        """With --clock both: which clock decides."""
        if self._main_choice is not None:
            return self._main_choice.clocks
        if self.options.clock == "both":
            return vm_choice.clocks_of(self.options, Clock.WALL, "no guest is measured")
        return None

    @property
    def lanes(self) -> Mapping[str, tuple[Lane, str]] | None:
        """As in `Ground`; None if there is no guest."""
        if self._main_choice is None:
            return None
        by_guest = {
            name: of_kinds(self.options.clock, one.lane)["qemu"] for name, one in self._choices.items()
        }
        return {**of_kinds(self.options.clock, self._main_choice.lane), **by_guest}

    @property
    def no_insn(self) -> str | None:
        """As in `Ground`: the first reason why guests have no instruction clock."""
        reasons = [one.no_insn for one in self._choices.values() if one.no_insn is not None]
        return next(filter(None, reasons), reasons[0] if reasons else None)

    @property
    def lane(self) -> Lane | None:
        """Of the main guests; with --clock both the one of wall time."""
        return None if self._main_choice is None else self._main_choice.lane

    @property
    def is_exact(self) -> bool:
        """Whether guests run on the instruction clock in serial mode, where the host's load does not change
        results."""
        clocks = [one.clock for choice in self._choices.values() for one in choice.configs.values()]
        modes = {clock.mode for clock in clocks if clock is not None}
        return modes == {ClockMode.SERIAL}

    @property
    def only_exact(self) -> bool:
        """Whether no guest is measured in another way."""
        configs = [config for choice in self._choices.values() for config in choice.configs.values()]
        return self.is_exact and all(config.clock is not None for config in configs)

    # ---- for one cell

    def vm(self, planned: PlannedCell) -> VmConfig:
        found = self._choice(planned).configs.get(planned.seats.lane)
        if found is None:
            raise HostError(f"{planned.cell.id}: QEMU is not prepared for lane {planned.seats.lane}")
        return found

    def untimed(self, planned: PlannedCell) -> VmConfig:
        """QEMU's settings for a boot without the instruction clock."""
        return replace(next(iter(self._choice(planned).configs.values())), clock=None)

    def accelerator(self, system: System) -> Accel:
        """On wall time."""
        chosen = self._choices.get(system.arch.name)
        return Accel.TCG if chosen is None else chosen.accel

    def has_lane(self, planned: PlannedCell, lane: Lane) -> bool:
        chosen = self._choices.get(planned.system.arch.name)
        return chosen is not None and lane in chosen.configs

    def _choice(self, planned: PlannedCell) -> VmChoice:
        found = self._choices.get(planned.system.arch.name)
        if found is None:
            raise HostError(f"{planned.cell.id}: QEMU is not prepared for {planned.system.arch}")
        return found

    def probe(self, guest: Architecture) -> AccelProbe:
        """Of the accelerator on wall time."""
        chosen = self._choices[guest.name]
        return chosen.probes[chosen.accel]

    def capacity_pair(
        self, guest: Architecture, pins: tuple[int, ...], first: int
    ) -> tuple[CapacityPair, ...]:
        return capacity.sample(self.qemus[guest.name], self.probe(guest), pins, first=first)

    def described(self) -> dict[str, Any]:
        """Of each QEMU: version, digest and origin, for session.json."""
        return {
            qemu.guest.kind("qemu"): {
                "version": qemu.version_text,
                "digest": qemu.digest,
                "origin": qemu.origin,
            }
            for qemu in self.qemus.values()
        }

    def labels(self) -> set[str]:
        return {label for qemu in self.qemus.values() for label in qemu.labels}
