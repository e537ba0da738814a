"""A machine's file for tests: two sockets of two CPUs, each with a node, and every figure another one."""

from __future__ import annotations

from pathlib import Path

from benchgate.base.system.machines import BareMachine, Machine
from benchgate.plan import machinefile

FILE = Path("duo.yaml")
DUO = """\
name: duo
source: invented
cpus: 4
line: 64
l1d: {size: 1K, ways: 2, sets: 8}
l1i: {size: 2K, ways: 4}
l2: {size: 4K, ways: 4, latency_ns: 3}
l3: {size: 48K, ways: 12, sets: 64, latency_ns: 11}
clusters: ["0-1", "2-3"]
sockets: ["0-1", "2-3"]
nodes:
  - {cpus: "0-1", memory: 75}
  - {cpus: "2-3", memory: 25}
memory: {local_ns: 50, remote_ns: 85, bandwidth_gb_s: 32}
transfer: {cluster_ns: 20, socket_ns: 90}
atomic_ns: 4
interrupt_ns: 700
tlb: {entries: 32, ways: 4, walk_ns: 15}
order: watch
"""


UNEVEN_FILE = Path("uneven.yaml")
CORES = """\
cores:
  - {cpus: "0,2", capacity: 1024}
  - {cpus: "1", capacity: 512}
  - {cpus: "3", capacity: 300}
"""
BOTH = DUO.replace("name: duo", "name: both") + CORES
"""The machine with memory, and with CPUs of three speeds."""
UNEVEN = f"""\
name: uneven
source: invented
memory: none
{CORES}"""


def uneven(text: str = UNEVEN) -> BareMachine:
    """A machine without memory and with CPUs of three speeds."""
    machine = machinefile.read(text, UNEVEN_FILE)
    assert isinstance(machine, BareMachine)
    return machine


def duo(**lines: str) -> Machine:
    """The machine, with other text for some of its keys."""
    return with_memory(changed(**lines), FILE)


def with_memory(text: str, path: Path) -> Machine:
    """The machine of a file that has a memory system."""
    machine = machinefile.read(text, path)
    assert isinstance(machine, Machine)
    return machine


def changed(**lines: str) -> str:
    """`changed(line="64")` replaces the value of a key; an empty one removes its line."""
    text = DUO
    for key, value in lines.items():
        old = next(line for line in text.splitlines(keepends=True) if line.startswith(f"{key}:"))
        text = text.replace(old, f"{key}: {value}\n" if value else "")
    return text
