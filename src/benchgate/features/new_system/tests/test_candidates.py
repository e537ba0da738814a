"""Machines are tried from the plainest to the most generous, each once."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.base.system.boots import NO_FIRMWARE
from benchgate.base.system.qemu import Interface
from benchgate.build.kernel_file import KernelFile, Media
from benchgate.features.new_system.candidates import MACHINES, GuestWords, candidates

HERE = Path("/bench")
KERNEL = KernelFile(Path("/build/mine.elf"), "an ELF file", "x86_64")


@pytest.mark.parametrize("arch", MACHINES)
def test_each_is_different(arch: str) -> None:
    given = GuestWords("mine", HERE / "mine.yaml", disks=(Path("/bench/fs.img"),))
    systems = candidates(KERNEL, arch, given)
    assert len(systems) == len(MACHINES[arch])
    assert all(system not in systems[:number] for number, system in enumerate(systems))
    assert {system.boot.kernel for system in systems} == {"../build/mine.elf"}
    assert {disk.image for system in systems for disk in system.boot.disks} == {"fs.img"}


def test_the_plainest_comes_first_and_a_card_comes_late() -> None:
    first, *_, last = candidates(KERNEL, "x86_64", GuestWords("mine", HERE / "mine.yaml"))
    assert (first.qemu.machine, first.qemu.arguments) == ("q35", ())
    assert last.qemu.arguments == ("-vga", "std")


def test_a_machine_that_is_given_is_the_only_one() -> None:
    systems = candidates(KERNEL, "x86_64", GuestWords("mine", HERE / "mine.yaml", machine="microvm"))
    assert {system.qemu.machine for system in systems} == {"microvm"}
    assert len(systems) == 2, "with and without a card"


@pytest.mark.parametrize(
    ("machine", "disks"),
    [("pc", ["ide", "ide"]), ("q35,hpet=off", ["virtio", "ide"]), ("microvm", ["virtio", "ide", "ide"])],
)
def test_a_machine_that_is_given_is_tried_with_the_disks_that_it_has(machine: str, disks: list[str]) -> None:
    """An old kernel on `pc` would wait for a virtio disk until its time is over."""
    given = GuestWords("mine", HERE / "mine.yaml", disks=(Path("/bench/fs.img"),), machine=machine)
    systems = candidates(KERNEL, "x86_64", given)
    assert [disk.interface for system in systems for disk in system.boot.disks] == disks


def test_a_processor_that_is_given_is_the_only_one() -> None:
    systems = candidates(KERNEL, "riscv64", GuestWords("mine", HERE / "mine.yaml", cpu="sifive-u54"))
    assert [system.qemu.cpu for system in systems] == ["sifive-u54"]


@pytest.mark.parametrize(("arch", "plain"), [("riscv64", "rv64"), ("aarch64", "cortex-a57")])
def test_a_plain_processor_comes_last(arch: str, plain: str) -> None:
    systems = candidates(KERNEL, arch, GuestWords("mine", HERE / "mine.yaml"))
    assert [system.qemu.cpu for system in systems] == [""] * (len(systems) - 1) + [plain]


def test_without_disks_their_kind_makes_no_difference() -> None:
    assert len(candidates(KERNEL, "x86_64", GuestWords("mine", HERE / "mine.yaml", machine="microvm"))) == 2
    assert len(candidates(KERNEL, "riscv64", GuestWords("mine", HERE / "mine.yaml", cpu="rv64"))) == 1


def test_a_disk_image_is_the_first_disk_and_a_cd_is_a_cd() -> None:
    cd = KernelFile(Path("/build/boot.iso"), "a CD image", "x86_64", Media.DISK, format="cdrom")
    given = GuestWords("mine", HERE / "mine.yaml", disks=(Path("/build/fs.img"),))
    first = candidates(cd, "x86_64", given)[0]
    assert first.boot.kernel == ""
    assert [(disk.image, disk.interface) for disk in first.boot.disks] == [
        ("../build/boot.iso", Interface.CDROM),
        ("../build/fs.img", Interface.VIRTIO),
    ]


def test_a_kernel_in_the_firmwares_place_has_none_unless_one_is_given() -> None:
    kernel = KernelFile(Path("/k"), "an ELF file", "riscv64", replaces_firmware=True)
    assert candidates(kernel, "riscv64", GuestWords("mine", HERE / "a"))[0].boot.firmware == NO_FIRMWARE
    given = GuestWords("mine", HERE / "a", firmware="default")
    assert candidates(kernel, "riscv64", given)[0].boot.firmware == "default"


def test_a_firmware_file_is_named_from_the_yaml() -> None:
    systems = candidates(KERNEL, "x86_64", GuestWords("mine", HERE / "mine.yaml", firmware="/build/OVMF.fd"))
    assert {system.boot.firmware for system in systems} == {"../build/OVMF.fd"}


RAW = KernelFile(Path("/build/u-boot.bin"), "raw code", is_raw=True)


@pytest.mark.parametrize("arch", ["riscv64", "aarch64"])
def test_raw_code_is_tried_as_a_kernel_and_then_as_firmware(arch: str) -> None:
    systems = candidates(RAW, arch, GuestWords("mine", HERE / "mine.yaml"))
    assert [(system.boot.kernel, system.boot.firmware) for system in systems[:2]] == [
        ("../build/u-boot.bin", "default"),
        ("", "../build/u-boot.bin"),
    ]
    assert all(system.boot.disks == () for system in systems)


def test_raw_code_for_x86_is_firmware() -> None:
    systems = candidates(RAW, "x86_64", GuestWords("mine", HERE / "mine.yaml"))
    assert {(system.boot.kernel, system.boot.firmware) for system in systems} == {("", "../build/u-boot.bin")}
