"""Machines are tried from the plainest to the most generous, each once."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.base.system.boots import NO_FIRMWARE
from benchgate.base.system.qemu import Interface
from benchgate.build.kernel_file import KernelFile, Media
from benchgate.session.first_contact.candidates import MACHINES, GuestWords, candidates

HERE = Path("/bench")
KERNEL = KernelFile(Path("/build/mine.elf"), "an ELF file", "x86_64")


@pytest.mark.parametrize("arch", MACHINES)
def test_each_is_different(arch: str) -> None:
    given = GuestWords("mine", HERE / "mine.yaml", disks=(Path("/bench/fs.img"),))
    found = candidates(KERNEL, arch, given)
    assert len(found) == len(MACHINES[arch])
    assert all(one not in found[:number] for number, one in enumerate(found))
    assert {one.boot.kernel for one in found} == {"../build/mine.elf"}
    assert {disk.image for one in found for disk in one.boot.disks} == {"fs.img"}


def test_the_plainest_comes_first_and_a_card_comes_late() -> None:
    first, *_, last = candidates(KERNEL, "x86_64", GuestWords("mine", HERE / "mine.yaml"))
    assert (first.qemu.machine, first.qemu.arguments) == ("q35", ())
    assert last.qemu.arguments == ("-vga", "std")


def test_a_machine_that_is_given_is_the_only_one() -> None:
    found = candidates(KERNEL, "x86_64", GuestWords("mine", HERE / "mine.yaml", machine="microvm"))
    assert {one.qemu.machine for one in found} == {"microvm"}
    assert len(found) == 2, "with and without a card"


@pytest.mark.parametrize(
    ("machine", "disks"),
    [("pc", ["ide", "ide"]), ("q35,hpet=off", ["virtio", "ide"]), ("microvm", ["virtio", "ide", "ide"])],
)
def test_a_machine_that_is_given_is_tried_with_the_disks_that_it_has(machine: str, disks: list[str]) -> None:
    """An old kernel on `pc` would wait for a virtio disk until its time is over."""
    given = GuestWords("mine", HERE / "mine.yaml", disks=(Path("/bench/fs.img"),), machine=machine)
    found = candidates(KERNEL, "x86_64", given)
    assert [disk.interface for one in found for disk in one.boot.disks] == disks


def test_a_processor_that_is_given_is_the_only_one() -> None:
    found = candidates(KERNEL, "riscv64", GuestWords("mine", HERE / "mine.yaml", cpu="sifive-u54"))
    assert [one.qemu.cpu for one in found] == ["sifive-u54"]


@pytest.mark.parametrize(("arch", "plain"), [("riscv64", "rv64"), ("aarch64", "cortex-a57")])
def test_a_plain_processor_comes_last(arch: str, plain: str) -> None:
    found = candidates(KERNEL, arch, GuestWords("mine", HERE / "mine.yaml"))
    assert [one.qemu.cpu for one in found] == [""] * (len(found) - 1) + [plain]


def test_without_disks_their_kind_makes_no_difference() -> None:
    assert len(candidates(KERNEL, "x86_64", GuestWords("mine", HERE / "mine.yaml", machine="microvm"))) == 2
    assert len(candidates(KERNEL, "riscv64", GuestWords("mine", HERE / "mine.yaml", cpu="rv64"))) == 1


def test_a_disk_image_is_the_first_disk_and_a_cd_is_a_cd() -> None:
    cd = KernelFile(Path("/build/boot.iso"), "a CD image", "x86_64", Media.DISK, format="cdrom")
    given = GuestWords("mine", HERE / "mine.yaml", disks=(Path("/build/fs.img"),))
    first = candidates(cd, "x86_64", given)[0]
    assert first.boot.kernel == ""
    assert [(one.image, one.interface) for one in first.boot.disks] == [
        ("../build/boot.iso", Interface.CDROM),
        ("../build/fs.img", Interface.VIRTIO),
    ]


def test_a_kernel_in_the_firmwares_place_has_none_unless_one_is_given() -> None:
    kernel = KernelFile(Path("/k"), "an ELF file", "riscv64", replaces_firmware=True)
    assert candidates(kernel, "riscv64", GuestWords("mine", HERE / "a"))[0].boot.firmware == NO_FIRMWARE
    given = GuestWords("mine", HERE / "a", firmware="default")
    assert candidates(kernel, "riscv64", given)[0].boot.firmware == "default"


def test_a_firmware_file_is_named_from_the_yaml() -> None:
    found = candidates(KERNEL, "x86_64", GuestWords("mine", HERE / "mine.yaml", firmware="/build/OVMF.fd"))
    assert {one.boot.firmware for one in found} == {"../build/OVMF.fd"}


RAW = KernelFile(Path("/build/u-boot.bin"), "raw code", is_raw=True)


@pytest.mark.parametrize("arch", ["riscv64", "aarch64"])
def test_raw_code_is_tried_as_a_kernel_and_then_as_firmware(arch: str) -> None:
    found = candidates(RAW, arch, GuestWords("mine", HERE / "mine.yaml"))
    assert [(one.boot.kernel, one.boot.firmware) for one in found[:2]] == [
        ("../build/u-boot.bin", "default"),
        ("", "../build/u-boot.bin"),
    ]
    assert all(one.boot.disks == () for one in found)


def test_raw_code_for_x86_is_firmware() -> None:
    found = candidates(RAW, "x86_64", GuestWords("mine", HERE / "mine.yaml"))
    assert {(one.boot.kernel, one.boot.firmware) for one in found} == {("", "../build/u-boot.bin")}
