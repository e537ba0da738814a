"""Each disk is a fresh snapshot at its place on the bus; the host reaches the YAML's ports and no others."""

from pathlib import Path

import pytest

from benchgate.base.system.devices import (
    Disk,
    Interface,
    Port,
    disk_options,
    host_ports,
    network_options,
    port_values,
)


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


PORTS = {"web": Port(80), "ssh": Port(22, 2222)}


def test_the_card_is_restricted_to_the_ports() -> None:
    assert network_options(PORTS, {"web": 40001, "ssh": 2222}, "e1000") == (
        *(
            "-netdev",
            "user,id=net0,restrict=on,hostfwd=tcp:127.0.0.1:40001-:80,hostfwd=tcp:127.0.0.1:2222-:22",
        ),
        *("-device", "e1000,netdev=net0,romfile="),
    )
    assert network_options({}, {}, "e1000") == ()


def test_the_ports_of_a_run_are_read_back_from_its_command_line() -> None:
    hosts = {"web": 40001, "ssh": 2222}
    argv = ("qemu", *network_options(PORTS, hosts, "e1000"))
    assert host_ports(argv, PORTS) == hosts
    assert host_ports(("qemu",), {}) == {}


@pytest.mark.parametrize("ports", [{"web": Port(80)}, {"ssh": Port(22), "web": Port(80)}])
def test_a_command_line_with_other_ports_is_refused(ports: dict[str, Port]) -> None:
    argv = network_options(PORTS, {"web": 1, "ssh": 2}, "e1000")
    with pytest.raises(ValueError, match="other host ports than the system's YAML"):
        host_ports(argv, ports)


def test_a_single_port_has_a_short_name() -> None:
    assert port_values({"web": 7}) == {"port.web": 7, "port": 7}
    assert port_values({"web": 7, "ssh": 8}) == {"port.web": 7, "port.ssh": 8}
