"""Every disk is a drive of its own, a fresh snapshot, at the place where its machine looks for it."""

from pathlib import Path

from benchgate.base.system.disks import Disk, Interface, disk_options


def options(*interfaces: Interface) -> tuple[str, ...]:
    disks = [Disk("x", "raw", interface) for interface in interfaces]
    return disk_options(disks, [Path(f"/i/{number}") for number in range(len(disks))])


def test_no_disk_no_option() -> None:
    assert options() == ()


def test_the_board_finds_its_drives_by_their_number_on_the_bus() -> None:
    assert options(Interface.IDE, Interface.SD, Interface.CDROM) == (
        *("-drive", "id=disk0,if=ide,index=0,media=disk,file=/i/0,format=raw,snapshot=on"),
        *("-drive", "id=disk1,if=sd,index=0,file=/i/1,format=raw,snapshot=on"),
        *("-drive", "id=disk2,if=ide,index=1,media=cdrom,file=/i/2,format=raw,snapshot=on"),
    )


def test_other_drives_have_a_device() -> None:
    assert options(Interface.VIRTIO, Interface.VIRTIO_MMIO, Interface.VIRTIO_MMIO) == (
        *("-drive", "id=disk0,if=none,file=/i/0,format=raw,snapshot=on"),
        *("-device", "virtio-blk-pci,drive=disk0"),
        *("-drive", "id=disk1,if=none,file=/i/1,format=raw,snapshot=on"),
        *("-device", "virtio-blk-device,drive=disk1,bus=virtio-mmio-bus.0"),
        *("-drive", "id=disk2,if=none,file=/i/2,format=raw,snapshot=on"),
        *("-device", "virtio-blk-device,drive=disk2,bus=virtio-mmio-bus.1"),
    )
    assert options(Interface.SCSI)[2:] == (
        *("-device", "virtio-scsi-pci,id=bus-disk0"),
        *("-device", "scsi-hd,drive=disk0,bus=bus-disk0.0"),
    )


def test_a_comma_in_a_path_does_not_end_it() -> None:
    argv = disk_options([Disk("a", "qcow2")], [Path("/a,b/c")])
    assert argv[1] == "id=disk0,if=none,file=/a,,b/c,format=qcow2,snapshot=on"
