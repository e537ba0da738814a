"""What a session's reports say of the machines whose memory is simulated.

Takes sweeps; gives sentences, none if every cell is on the ideal machine. Pure; nothing fails.
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
