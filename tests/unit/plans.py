"""Planned cells and sweeps for tests of the stages after planning. The host has two CPUs and TCG."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from benchgate.base.cells import Lane
from benchgate.base.system import systems
from benchgate.plan import marks, planner, systemfile
from benchgate.plan.marks import MarkArguments
from benchgate.plan.options import Options
from benchgate.plan.planned import Ground, PlannedCell, SweepPlan

GROUND = Ground((4, 5), (4, 5), {"qemu": (Lane.TCG, ""), "native": (Lane.NATIVE, "")})
ON_CLOCK = replace(GROUND, lanes={**GROUND.lanes, "qemu": (Lane.INSN, "")})
OWN = """\
version: 1
name: mine
kind: qemu
qemu: {machine: pc, cpu: max, memory: 64M, smp: "{n},sockets={n}", arguments: [-device, foo]}
boot: {kernel: k.elf, append: quiet}
console: {ready: "^hello", failures: ["^oops", "broken"]}
deadlines: {boot_s: 5, run_s: 7}
end: {by: exit, exit_codes: [33, 0]}
"""


def sweep(*cpus: int, system: str = "linux", options: Options | None = None, **given: object) -> SweepPlan:
    """`primes` on one system, with a gate at each count."""
    chosen = options or Options(systems=(system,))
    gates = [MarkArguments((), {"cpus": count, "at_least": 1.6}) for count in cpus]
    request = marks.read(MarkArguments(("primes",), given), {"speedup": gates})
    ground = ON_CLOCK if any("start=warm" in word for word in chosen.systems) else GROUND
    cells = planner.plan_cells(request, chosen, ground)
    (plan,) = planner.sweeps(cells, planner.plan_gates(request, chosen, ground))
    return plan


def planned(cpus: int, *, system: str = "linux", oversubscribe: bool = False) -> PlannedCell:
    chosen = Options(systems=(system,), smp=(cpus,), oversubscribe=oversubscribe)
    return next(cell for cell in sweep(options=chosen).cells if cell.cell.cpus == cpus)


def own_system(folder: Path, text: str = OWN) -> systems.System:
    path = folder / "mine.yaml"
    path.write_text(text)
    return systemfile.load(path)
