"""One QEMU per architecture of a session's systems, and one clock for all of its guests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.cells import Accel, Cell, Lane, Placement
from benchgate.base.errors import HostError, UsageError
from benchgate.base.snapshots import StartKind
from benchgate.base.system.arch import RISCV64, X86_64, Architecture
from benchgate.base.system.qemu import Qemu
from benchgate.base.system.systems import System
from benchgate.build.fetch import inputs
from benchgate.host import accel
from benchgate.host.capacity import CapacityPair
from benchgate.host.probe import ProbeError
from benchgate.plan import catalog
from benchgate.plan.options import Options
from benchgate.plan.planned import PlannedCell, Seats
from benchgate.run.argv import VmConfig
from benchgate.session import vm_choice
from benchgate.session.emulators import Emulators, require_saved
from benchgate.session.measuring_host import ThisHost
from benchgate.session.vm_choice import VmChoice

Asked = list[tuple[str, Path | None]]


def systems(*words: str) -> list[System]:
    return [catalog.load_system(word) for word in words]


BOTH = systems("linux", "linux:arch=riscv64")


def fake(guest: Architecture) -> Qemu:
    return Qemu(Path(guest.qemu), {}, (), (10, 0, 2), f"digest of {guest}", "reviewed", (), guest)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Which QEMU was asked for: the architecture and the user's path."""
    result: Asked = []

    def qemu(path: Path | None, guest: Architecture, **_: object) -> Qemu:
        result.append((guest.name, path))
        return fake(guest)

    monkeypatch.setattr(inputs, "qemu", qemu)
    return result


def machines(options: Options, notes: list[str] | None = None) -> Emulators:
    return Emulators(options, ThisHost(), (notes if notes is not None else []).append)


def test_each_architecture_has_its_qemu(asked: Asked) -> None:
    made = machines(Options())
    made.fetch([*BOTH, *systems("native")])
    assert asked == [("x86_64", None), ("riscv64", None)]
    assert {name: qemu.guest for name, qemu in made.qemus.items()} == {
        BOTH[0].emulator: X86_64,
        BOTH[1].emulator: RISCV64,
    }


@pytest.mark.parametrize(
    ("words", "path", "given"),
    [
        (("linux", "linux:arch=riscv64"), "/own/qemu-system-riscv64", {"riscv64"}),
        (("linux", "linux:arch=riscv64"), "/own/my-qemu", set()),
        (("linux:arch=riscv64",), "/own/my-qemu", {"riscv64"}),
        (("linux",), "/own/qemu-system-riscv64", {"x86_64"}),  # where it is refused
    ],
)
def test_the_users_qemu_is_for_the_architecture_of_its_name(
    asked: Asked, words: tuple[str, ...], path: str, given: set[str]
) -> None:
    machines(Options(qemu=Path(path))).fetch(systems(*words))
    assert {name for name, own in asked if own} == given


def choices(monkeypatch: pytest.MonkeyPatch, lanes: Mapping[str, Lane]) -> None:
    """What vm_choice chooses without --clock, by architecture."""

    def choose(qemu: Qemu, options: Options, *_: object) -> VmChoice:
        lane = Lane.INSN if options.clock == "insn" else lanes[qemu.guest.name]
        return VmChoice({lane: VmConfig(qemu, Accel.TCG, "max")}, Accel.TCG, {})

    monkeypatch.setattr(vm_choice, "choose_vm", choose)


def test_guests_with_different_accelerators_have_lanes_of_their_own(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    choices(monkeypatch, {"x86_64": Lane.KVM, "riscv64": Lane.TCG})
    made = machines(replace(Options(), clock="wall"))
    made.fetch(BOTH)
    made.choose((0,))
    assert made.lanes is not None
    assert [made.lanes[system.emulator][0] for system in BOTH] == [Lane.KVM, Lane.TCG]


def test_all_guests_are_on_one_clock(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    notes: list[str] = []
    choices(monkeypatch, {"x86_64": Lane.KVM, "riscv64": Lane.INSN})
    made = machines(Options(), notes)
    made.fetch(BOTH)
    made.choose((0,))
    assert made.lanes is not None
    assert {made.lanes[system.emulator][0] for system in BOTH} == {Lane.INSN}
    assert "the instruction clock decides for all guests" in notes[-1]


def with_clock(version: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch) -> Emulators:
    """A session on --machine desktop8 whose QEMU has this version."""
    vm = VmConfig(replace(fake(X86_64), version=version), Accel.TCG, "", Path("plugin.so"))
    monkeypatch.setattr(vm_choice, "choose_vm", lambda *_: VmChoice({Lane.INSN: vm}, Accel.TCG, {}))
    made = machines(Options(clock="insn", machine="desktop8"))
    made.qemus["qemu"] = vm.qemu
    return made


@pytest.mark.parametrize(
    ("version", "why"),
    [
        (
            (7, 2, 22),
            "QEMU 7.2.22 has version 1 of the plugin interface; a machine needs 3",
        ),
        ((9, 0, 4), "QEMU 9.0.4 has version 2 of the plugin interface"),
    ],
)
def test_a_qemu_that_cannot_simulate_a_memory_is_refused_by_name(
    version: tuple[int, int, int], why: str, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = with_clock(version, monkeypatch)
    with pytest.raises(HostError, match=f"--machine desktop8: {why}"):
        made.choose(())
    assert made.no_machine.startswith(why)


def test_a_qemu_that_can_simulate_a_memory_is_accepted(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    for version in ((10, 0, 2), (11, 1, 3)):
        made = with_clock(version, monkeypatch)
        made.choose(())
        assert made.no_machine == ""


def test_a_probe_guest_that_fails_beside_a_row_is_named(
    monkeypatch: pytest.MonkeyPatch, asked: Asked
) -> None:
    def pairs(*_: object) -> tuple[CapacityPair, ...]:
        raise ProbeError("QEMU ended with status 0: the probe guest was reset")

    probes = {Accel.KVM: accel.unusable(Accel.KVM, accel.ProbeState.USABLE, "")}
    lane = VmChoice({Lane.KVM: VmConfig(fake(X86_64), Accel.KVM, "max")}, Accel.KVM, probes)
    monkeypatch.setattr(vm_choice, "choose_vm", lambda *_: lane)
    made = machines(Options())
    made.fetch(BOTH[:1])
    made.choose((0,))
    monkeypatch.setattr(made.host, "pairs", pairs)
    with pytest.raises(ProbeError, match="speedup at 2 CPUs, beside primes-linux: QEMU ended with status 0"):
        made.sample_capacity("primes-linux", BOTH[0].emulator, (0, 1), (2,))


def cell_of(system: System) -> PlannedCell:
    workload = catalog.load_workload("primes", system)
    cell = Cell(system.name, workload.name, workload.mode, (), 2, "")
    return PlannedCell(cell, system, workload, Seats(Lane.INSN, Placement.VIRTUAL, ()))


def test_a_qemu_that_does_not_save_a_machine_is_refused_by_its_version() -> None:
    warm = cell_of(catalog.load_system("linux:arch=riscv64:start=warm"))
    old, new = (replace(fake(RISCV64), version=version) for version in ((11, 0, 9), (11, 1, 0)))
    why = r"linux\.arch-riscv64\.start-warm cannot start warm: QEMU 11\.0\.9 does not save the timers of"
    with pytest.raises(
        UsageError, match=f"{why} riscv64 machines; name QEMU 11.1 or newer with --qemu, or start cold"
    ):
        require_saved([(warm, old)])
    require_saved([(warm, new)])
    require_saved([(replace(warm, system=warm.system.cold), old)])
    require_saved([(cell_of(catalog.load_system("linux:start=warm")), fake(X86_64))])


def test_such_a_machine_starts_cold_with_auto() -> None:
    kinds = [catalog.load_system(word, None, "auto").boot.start for word in ("linux", "linux:arch=riscv64")]
    assert kinds == [StartKind.WARM, StartKind.COLD]
