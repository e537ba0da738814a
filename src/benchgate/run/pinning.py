"""Pins each thread of QEMU to host CPUs, and reads the pinning back.

Takes a process, its vCPU threads and the pins; gives the requested and the actual CPUs of each thread. Fails
with PinError if a thread cannot be pinned, belongs to another process, or reads back different CPUs.

Each vCPU gets one pin. QEMU's other threads (main loop, RCU, workers) get the allowed CPUs that are not pins:
the main loop writes the console and runs timers, and would otherwise share a CPU with a vCPU. If no such CPU
is left, these threads may use all pins, so that their cost is not concentrated on one vCPU.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchgate.base.errors import BootError


class PinError(BootError):
    """A thread could not be pinned to its CPUs."""


@dataclass(frozen=True, slots=True)
class ThreadPlace:
    """One thread, the CPUs that were requested for it, and the CPUs that the host reports."""

    thread: int
    name: str
    vcpu: int | None
    asked: tuple[int, ...]
    found: tuple[int, ...]


def plan(
    vcpus: Sequence[int], others: Sequence[int], pins: Sequence[int], allowed: Sequence[int]
) -> dict[int, tuple[int, ...]]:
    """The CPUs of each thread; pure. Each vCPU gets one pin; with fewer pins than vCPUs all vCPUs share
    them."""
    if not pins:
        return {}
    if len(pins) > len(vcpus):
        raise ValueError(f"{len(pins)} pins for {len(vcpus)} vCPUs")
    if len(set(vcpus)) != len(vcpus):
        raise PinError(
            "QEMU runs several vCPUs on one thread, so they cannot be pinned one to one. "
            "Use an accelerator with a thread per vCPU (tcg,thread=multi)."
        )
    shared = tuple(sorted(set(pins)))
    one_to_one = len(pins) == len(vcpus)
    rest = tuple(sorted(set(allowed) - set(pins))) or shared
    placed = {thread: (pins[i],) if one_to_one else shared for i, thread in enumerate(vcpus)}
    return placed | {thread: rest for thread in others if thread not in placed}


def apply(pid: int, vcpus: Sequence[int], pins: Sequence[int]) -> tuple[ThreadPlace, ...]:
    """Pins every thread of `pid` and reads the pinning back; without pins it only reads."""
    own = threads(pid)
    foreign = sorted(set(vcpus) - own.keys())
    if foreign:
        raise PinError(
            f"QMP names threads {foreign} as vCPUs, but they are not threads of process {pid}. "
            "Give the QEMU binary itself, or a wrapper that calls it with exec."
        )
    others = sorted(own.keys() - set(vcpus))
    wanted = plan(vcpus, others, pins, sorted(os.sched_getaffinity(0)))
    for thread, cpus in wanted.items():
        try:
            os.sched_setaffinity(thread, cpus)
        except ProcessLookupError:
            continue  # a short-lived worker; read_back finds a vCPU thread that is gone
        except OSError as error:
            raise PinError(
                f"thread {thread} cannot be pinned to CPU {_cpu_list(cpus)}: {error.strerror}. "
                f"The allowed CPUs are {_cpu_list(sorted(os.sched_getaffinity(0)))}."
            ) from error
    return read_back(pid, vcpus, wanted)


CARRIER = "vCPUs"
"""The name of the one thread that runs all vCPUs of a fork (c/clock/carrier.c)."""


def carried(pid: int, cpus: int) -> tuple[ThreadPlace, ...]:
    """The threads of a fork. Its vCPUs have no threads of their own: one carries all of them."""
    placed = read_back(pid, (), {})
    carrier = [place for place in placed if place.name == CARRIER]
    if len(carrier) != 1:
        raise PinError(f"process {pid} is a fork, but {len(carrier)} of its threads run vCPUs, not one.")
    others = [place for place in placed if place.name != CARRIER]
    return (*(replace(carrier[0], vcpu=vcpu) for vcpu in range(cpus)), *others)


def read_back(
    pid: int, vcpus: Sequence[int], wanted: Mapping[int, tuple[int, ...]]
) -> tuple[ThreadPlace, ...]:
    placed = []
    for thread, name in sorted(threads(pid).items()):
        with contextlib.suppress(ProcessLookupError):
            found = tuple(sorted(os.sched_getaffinity(thread)))
            vcpu = vcpus.index(thread) if thread in vcpus else None
            placed.append(ThreadPlace(thread, name, vcpu, wanted.get(thread, found), found))
    missing = sorted(set(vcpus) - {item.thread for item in placed})
    if missing:
        raise PinError(f"vCPU threads {missing} ended while they were being pinned; see stderr.log.")
    for item in placed:
        if item.vcpu is not None and item.found != item.asked:
            raise PinError(
                f"vCPU {item.vcpu} was pinned to CPU {_cpu_list(item.asked)}, "
                f"but reads back as CPU {_cpu_list(item.found)}; another program changes affinities."
            )
    return tuple(placed)


def numbers(pid: int) -> tuple[int, ...]:
    """The threads of a process; empty if the process is gone."""
    try:
        return tuple(int(entry.name) for entry in Path(f"/proc/{pid}/task").iterdir())
    except (FileNotFoundError, ProcessLookupError):
        return ()


def threads(pid: int) -> dict[int, str]:
    """The threads of a process with their names; empty if the process is gone."""
    result: dict[int, str] = {}
    for thread in numbers(pid):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            name = Path(f"/proc/{pid}/task/{thread}/comm").read_text(encoding="utf-8", errors="replace")
            result[thread] = name.strip()
    return result


def _cpu_list(cpus: Sequence[int]) -> str:
    return ",".join(str(cpu) for cpu in cpus)
