"""QEMU's command line, as a pure function.

Takes what is known of the machine; gives the argv, final and repeatable: the console is on standard input
and output, QMP on descriptor 3, so no path, port or socket name is in it. Fails with ValueError on
contradictions.

Why the console is a pipe and not a socket: QEMU writes it byte by byte, and each byte on a unix socket is a
buffer of its own. 278 of them fill a socket, after which the guest waits for the host to read; a pipe takes
1 MiB of them. So the host's reader never holds the guest up, and a guest on the instruction clock, whose wait
loops count, repeats. Why QMP is an inherited socket and not a path: there is nothing to remove afterwards,
nobody else can connect, and no path can be too long. (QEMU's own test library does the same.)
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from benchgate.model import Accel

QMP_DESCRIPTOR = 3
DEBUG_EXIT_PORT = 0xF4
NAME_TAG = "benchgate-"
_ACCELERATORS = {Accel.TCG: "tcg,thread=multi", Accel.KVM: "kvm"}


class Qemu(Protocol):
    """What is needed of fetch.Qemu."""

    @property
    def binary(self) -> Path: ...
    @property
    def environment(self) -> Mapping[str, str]: ...
    @property
    def data(self) -> tuple[Path, ...]: ...


def command(  # noqa: PLR0913 - every argument is a word of the command line
    qemu: Qemu,
    *,
    machine: str,
    cpu: str,
    memory: str,
    smp: str,
    accel: Accel,
    kernel: Path | None,
    initrd: Path | None = None,
    append: str = "",
    extra: tuple[str, ...] = (),
    name: str,
) -> tuple[str, ...]:
    """The argv of one boot. `name` should hold the run's nonce: stale guests are told apart by it."""
    if kernel is None and (initrd is not None or append):
        raise ValueError("an initrd or a kernel command line needs a kernel")
    argv = [str(qemu.binary)]
    for folder in qemu.data:
        argv += ["-L", str(folder)]
    argv += ["-name", f"guest={_comma_safe(_tagged(name))},debug-threads=on"]
    argv += ["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-S"]
    argv += ["-machine", machine, "-accel", _ACCELERATORS[accel]]
    if cpu:
        argv += ["-cpu", cpu]
    argv += ["-m", memory, "-smp", smp]
    argv += ["-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console"]
    argv += ["-chardev", f"socket,id=qmp,fd={QMP_DESCRIPTOR}", "-mon", "chardev=qmp,mode=control"]
    argv += ["-device", f"isa-debug-exit,iobase={DEBUG_EXIT_PORT:#x},iosize=4"]
    if kernel is not None:
        argv += ["-kernel", str(kernel)]
    if initrd is not None:
        argv += ["-initrd", str(initrd)]
    if append:
        argv += ["-append", append]
    return (*argv, *extra)


def smp_option(template: str, cpus: int) -> str:
    """Fills a system's `-smp` template, `{n}` or `{n},sockets={n}`."""
    if "{n}" not in template:
        raise ValueError(f"the smp template {template!r} has no {{n}} for the CPU count")
    return template.replace("{n}", str(cpus))


def guest_name(nonce: str) -> str:
    return NAME_TAG + nonce


def _tagged(name: str) -> str:
    return name if name.startswith(NAME_TAG) else NAME_TAG + name


def _comma_safe(word: str) -> str:
    return word.replace(",", ",,")
