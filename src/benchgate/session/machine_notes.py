"""What a session's reports say of the machines whose memory is simulated, and of guests that differ in a row.

Takes sweeps; gives sentences, none if every cell is on the ideal machine, or every row has one guest. Pure;
nothing fails.
"""

from __future__ import annotations

from collections.abc import Iterable

from benchgate.base.machine_topology import is_told
from benchgate.plan.planned import SweepPlan

_DIGITS = 12


def machine_notes(sweeps: Iterable[SweepPlan]) -> tuple[str, ...]:
    systems = {one.system.name: one.system for sweep in sweeps for one in sweep.runnable}
    machines = {one.machine.name: one.machine for one in systems.values() if one.machine}
    said = [f"machine {one.name} ({one.digest[:_DIGITS]}): {one.source}" for one in machines.values()]
    said += [
        f"{name} has a topology of its own in its YAML, so the guest is not told of the sockets and nodes of "
        "its machine; its memory system is the machine's all the same"
        for name, one in systems.items()
        if one.machine and not is_told(one)
    ]
    return tuple(said)


def guest_notes(sweeps: Iterable[SweepPlan]) -> tuple[str, ...]:
    rows: dict[str, list[int]] = {}
    for one in (cell for sweep in sweeps for cell in sweep.runnable if cell.system.has_guest_per_count):
        rows.setdefault(one.cell.row, []).append(one.cell.cpus)
    return tuple(
        f"{row}: its kernels differ: each of {', '.join(f'smp{cpus}' for cpus in sorted(set(counts)))} boots "
        "files of its own (`{n}` in its system's YAML), so a gate compares builds, too"
        for row, counts in rows.items()
    )
