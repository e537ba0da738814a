"""The command line says what a pinned, closed, stopped machine needs, and nothing twice."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchgate.machine.qemu import command, guest_name, smp_option
from benchgate.model import Accel

QEMU = SimpleNamespace(
    binary=Path("/q/qemu"), environment={"LD_LIBRARY_PATH": "/q/lib"}, data=(Path("/q/a"), Path("/q/b"))
)


def build(**changes: Any) -> tuple[str, ...]:
    words: dict[str, Any] = {
        "machine": "q35",
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


def test_everything_asked_for_is_on_the_line() -> None:
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


def test_it_starts_stopped_closed_and_ends_on_a_reboot() -> None:
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


def test_the_name_carries_the_tag_once_and_names_the_threads() -> None:
    for name in ("ff", guest_name("ff")):
        assert value(build(name=name), "-name") == "guest=benchgate-ff,debug-threads=on"
    assert value(build(name="a,b"), "-name") == "guest=benchgate-a,,b,debug-threads=on"


def test_what_is_not_asked_for_is_left_out() -> None:
    argv = build(cpu="", kernel=None, initrd=None, append="", extra=())
    assert not {"-cpu", "-kernel", "-initrd", "-append"} & set(argv)


@pytest.mark.parametrize("left", [{"initrd": Path("/i"), "append": ""}, {"initrd": None, "append": "x"}])
def test_a_command_line_or_initrd_without_a_kernel_is_refused(left: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="needs a kernel"):
        build(kernel=None, **left)


def test_smp_template() -> None:
    assert smp_option("{n}", 4) == "4"
    assert smp_option("{n},sockets={n}", 4) == "4,sockets=4"
    with pytest.raises(ValueError, match=r"no \{n\}"):
        smp_option("2", 4)
