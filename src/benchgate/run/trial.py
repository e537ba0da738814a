"""Starts QEMU with the machine that a system's YAML describes, and ends it before its first instruction.

Takes a QEMU, a system and a CPU count; gives every problem as `key: QEMU's message`. Nothing of the guest is
read: each disk is an empty one. Fails with BootError if the program cannot be executed at all.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence

from benchgate.base.cells import Accel
from benchgate.base.process import capture
from benchgate.base.system.boots import NO_FIRMWARE
from benchgate.base.system.guest_topology import topology_of
from benchgate.base.system.qemu import CONSOLES, SERIAL, Qemu, command, empty_disk, network_options
from benchgate.base.system.systems import System
from benchgate.base.text import one_line

_CONSOLE = ("-S", "-monitor", "stdio", "-serial", "null")
_QUIT = b"quit\n"
"""The monitor reads this when the machine is complete."""
_SECONDS = 60.0


def problems(qemu: Qemu, system: System, cpus: int) -> tuple[str, ...]:
    parts = _parts(system, cpus)
    machine = system.qemu.machine
    together = _complaint(qemu, machine, [word for words in parts.values() for word in words])
    if not together:
        return ()
    result = []
    if wrong := _complaint(qemu, machine, []):
        result.append(f"qemu.machine: {wrong}")
        machine = system.arch.machine
    for key, words in parts.items():
        if wrong := _complaint(qemu, machine, words):
            result.append(f"{key}: {wrong}")
    return tuple(result) or (together,)


def _complaint(qemu: Qemu, machine: str, words: Sequence[str]) -> str:
    """Why QEMU cannot make this machine; empty if it can."""
    argv = command(qemu, machine=machine, accel=Accel.TCG, console=_CONSOLE, extra=tuple(words))
    try:
        done = capture(argv, _SECONDS, {**os.environ, **qemu.environment}, _QUIT)
    except subprocess.TimeoutExpired:
        return f"QEMU did not end within {_SECONDS:.0f} s"
    if done.returncode == 0:
        return ""
    said = [line for line in done.stderr.splitlines() if line.strip() and "warning:" not in line]
    if not said:
        return f"QEMU ended with status {done.returncode}"
    return one_line(said[0], 300).removeprefix(f"{qemu.binary.name}: ").removeprefix(f"{qemu.binary}: ")


def _parts(system: System, cpus: int) -> Mapping[str, tuple[str, ...]]:
    """Maps each key that can be wrong by itself to its options."""
    topology = topology_of(system, cpus)
    smp, memory = ("-smp", topology.smp), ("-m", system.qemu.memory)
    parts: dict[str, tuple[str, ...]] = {"qemu.smp": smp, "qemu.memory": memory}
    if topology.arguments:
        parts["the machine's nodes"] = (*smp, *memory, *topology.arguments)
    if system.qemu.cpu:
        parts["qemu.cpu"] = ("-cpu", system.qemu.cpu)
    if system.boot.firmware == NO_FIRMWARE:
        parts["boot.firmware"] = ("-bios", NO_FIRMWARE)
    for number in range(len(system.boot.disks)):
        parts[f"boot.disks.{number}"] = empty_disk(system.boot.disks, number)
    anywhere = dict.fromkeys(system.ports, 0)  # any free port of the host
    parts["ports"] = network_options(system.ports, anywhere, system.qemu.network)
    if system.qemu.console != SERIAL:
        parts["qemu.console"] = ("-chardev", "null,id=console", *CONSOLES[system.qemu.console])
    parts["qemu.arguments"] = system.qemu.arguments
    return parts
