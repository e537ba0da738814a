"""QEMU's command line has every option that was given, each once, and no network or display."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchgate.base.cells import Accel
from benchgate.base.system.qemu import (
    CONTROLLED,
    ON_STDIO,
    Disk,
    Interface,
    Port,
    Qemu,
    command,
    disk_options,
    guest_name,
    host_ports,
    network_options,
    smp_option,
)

QEMU = Qemu(Path("/q/qemu"), {}, (Path("/q/a"), Path("/q/b")), (10, 0, 2), "digest")
OLD, NEW = (7, 2, 22), (8, 0, 0)


def build(**changes: Any) -> tuple[str, ...]:
    words: dict[str, Any] = {
        "machine": "q35",
        "console": CONTROLLED,
        "cpu": "max",
        "memory": "256M",
        "smp": "2",
        "accel": Accel.TCG,
        "kernel": Path("/k/vmlinuz"),
        "initrd": Path("/k/initrd"),
        "append": "console=ttyS0 bench.nonce=ff",
        "extra": ("-seed", "1"),
        "name": "ff",
    }
    return command(QEMU, **{**words, **changes})


def value(argv: tuple[str, ...], option: str) -> str:
    assert argv.count(option) == 1
    return argv[argv.index(option) + 1]


def test_every_given_option_is_on_the_command_line() -> None:
    argv = build()
    assert argv[0] == "/q/qemu"
    assert value(argv, "-machine") == "q35"
    assert value(argv, "-cpu") == "max"
    assert value(argv, "-m") == "256M"
    assert value(argv, "-smp") == "2"
    assert value(argv, "-kernel") == "/k/vmlinuz"
    assert value(argv, "-initrd") == "/k/initrd"
    assert value(argv, "-append") == "console=ttyS0 bench.nonce=ff"
    assert value(argv, "-device") == "isa-debug-exit,iobase=0xf4,iosize=4"
    assert [argv[i + 1] for i, word in enumerate(argv) if word == "-L"] == ["/q/a", "/q/b"]
    assert argv[-2:] == ("-seed", "1")


def test_a_guest_starts_stopped_without_devices_and_exits_on_reboot() -> None:
    argv = build()
    assert {"-S", "-nodefaults", "-no-user-config", "-no-reboot"} <= set(argv)
    assert value(argv, "-display") == "none"
    assert not any(word in argv for word in ("-nic", "-netdev", "-net"))


def test_console_and_qmp_have_no_path_and_no_port() -> None:
    argv = build()
    chardevs = [argv[i + 1] for i, word in enumerate(argv) if word == "-chardev"]
    assert chardevs == ["stdio,id=console,signal=off", "socket,id=qmp,fd=3"]
    assert value(argv, "-serial") == "chardev:console"
    assert value(argv, "-mon") == "chardev=qmp,mode=control"


def test_one_host_thread_per_vcpu() -> None:
    assert value(build(), "-accel") == "tcg,thread=multi"
    assert value(build(accel=Accel.KVM), "-accel") == "kvm"


def test_the_name_has_the_tag_once_and_names_the_threads() -> None:
    assert value(build(name=guest_name("ff")), "-name") == "guest=benchgate-ff,debug-threads=on"
    assert value(build(name=guest_name("a,b")), "-name") == "guest=benchgate-a,,b,debug-threads=on"
    assert "-name" not in build(name="")


def test_options_that_were_not_given_are_omitted() -> None:
    argv = build(cpu="", kernel=None, initrd=None, append="", extra=())
    assert not {"-cpu", "-kernel", "-initrd", "-append"} & set(argv)


def test_a_guest_on_stdio_starts_at_once_and_has_no_qmp() -> None:
    argv = build(console=ON_STDIO)
    assert value(argv, "-serial") == "stdio"
    assert not {"-S", "-mon", "-chardev"} & set(argv)


@pytest.mark.parametrize(
    ("model", "accel", "version", "expected"),
    [
        ("max", Accel.TCG, OLD, "max,-cx16"),
        ("", Accel.TCG, OLD, "qemu64,-cx16"),
        ("max", Accel.TCG, NEW, "max"),
        ("host", Accel.KVM, OLD, "host"),
        ("max,+cx16", Accel.TCG, OLD, "max,+cx16"),
    ],
)
def test_cmpxchg16b_is_hidden_if_qemu_emulates_it_wrongly(
    model: str, accel: Accel, version: tuple[int, int, int], expected: str
) -> None:
    argv = command(replace(QEMU, version=version), machine="q35", accel=accel, cpu=model)
    assert value(argv, "-cpu") == expected


@pytest.mark.parametrize("left", [{"initrd": Path("/i"), "append": ""}, {"initrd": None, "append": "x"}])
def test_a_command_line_or_initrd_without_a_kernel_is_refused(left: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="needs a kernel"):
        build(kernel=None, **left)


def test_smp_template() -> None:
    assert smp_option("{n}", 4) == "4"
    assert smp_option("{n},sockets={n}", 4) == "4,sockets=4"
    with pytest.raises(ValueError, match=r"no \{n\}"):
        smp_option("2", 4)


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
