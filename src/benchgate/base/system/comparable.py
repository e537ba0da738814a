"""Of which systems figures may meet in one ratio: the one rule of gates, tables and `compare`.

Takes systems' names; gives a sentence, empty if they may. Pure; does not fail.
"""

from __future__ import annotations

from benchgate.base.snapshots import START, StartKind
from benchgate.base.system.machines import IDEAL, machine_in

WARM = f"{START}-{StartKind.WARM}"
"""How the setting stands in a system's name, between dots. A digest of files may follow the last setting."""


def start_in(system: str) -> StartKind:
    """Where its runs begin: at a boot, or at a snapshot of one."""
    settings = system.split(".")[1:]
    is_warm = any(one == WARM or one.startswith(f"{WARM}-") for one in settings)
    return StartKind.WARM if is_warm else StartKind.COLD


def conditions_of(system: str) -> tuple[str, StartKind]:
    """What must be the same of two systems: the machine that is simulated, and where runs begin."""
    return machine_in(system) or IDEAL, start_in(system)


def incomparable(one: str, other: str) -> str:
    """Why figures of these systems have no ratio: other conditions than the system itself differ."""
    (machine, start), (second, second_start) = conditions_of(one), conditions_of(other)
    if machine != second:
        return f"{one} is on machine {machine} and {other} on {second}"
    if start != second_start:
        warm, cold = (one, other) if start is StartKind.WARM else (other, one)
        return f"{warm} starts warm and {cold} cold"
    return ""
