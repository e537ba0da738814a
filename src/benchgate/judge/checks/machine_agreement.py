"""Checks that a run was made on the machine that its session records, and explored only if it was asked for.

Takes the files of a run on the instruction clock, and its system, whose machine is the session's, or the
exploration that it should be of; gives nothing. Fails with VerifyError if the run's record, its command line,
the files that the clock was given, or the clock's log is of another machine, or of another exploration.
"""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

from benchgate.base import exploration
from benchgate.base.errors import VerifyError
from benchgate.base.exploration import Exploration
from benchgate.base.system.machines import IDEAL, Machine
from benchgate.base.system.systems import System
from benchgate.insn import machine_shape
from benchgate.insn.log import ClockLog
from benchgate.judge.checks.balance import beyond_1_ns, slowed_ns
from benchgate.judge.run_files import ARGV, RunFiles


def check_machine(files: RunFiles, system: System) -> None:
    machine, cpus = system.memory_machine, files.run.cell.cpus
    name = system.machine.name if system.machine else IDEAL
    speeds = machine_shape.capacities_of(system, cpus)
    told = {"machine": machine_shape.FILE if machine else "", "capacities": speeds}
    if any(files_of_plugins(files.argv, key) != [*filter(None, [due])] for key, due in told.items()):
        raise _differs(files, ARGV, name)
    if files.shape != machine_shape.shape_of(system, cpus):
        raise _differs(files, machine_shape.FILE, name)
    log = files.clock
    seen = log.machine, machine_shape.capacities_text(log.capacities)
    if seen != (machine.name if machine else "", speeds) or not _has_speeds(log):
        raise _differs(files, "clock.log", name)
    if machine and not _has_latencies(log, machine):
        raise _differs(files, "clock.log", name)


def _differs(files: RunFiles, file: str, name: str) -> VerifyError:
    return VerifyError(
        f"{file} of {files.run.folder.name} is not of machine {name} as the session records it: the run was "
        "made on another machine, or one of both was changed"
    )


def files_of_plugins(argv: tuple[str, ...], option: str) -> list[str]:
    """The names of the files that plugins are given with this option. In QEMU's options `,,` is a comma."""
    words = [word for name, word in pairwise(argv) if name == "-plugin"]
    parts = [part.partition("=") for word in words for part in word.replace(",,", ";").split(",")]
    return [Path(path).name for name, _, path in parts if name == option]


def _has_speeds(log: ClockLog) -> bool:
    """True if all instructions of a vCPU together have taken what its capacity says, to the ns."""
    return all(
        slowed_ns(log, vcpu) == beyond_1_ns(totals.executed + totals.paused, capacity)
        for vcpu, (totals, capacity) in enumerate(zip(log.totals, log.capacities, strict=False))
    )


def _has_latencies(log: ClockLog, machine: Machine) -> bool:
    """True if each access has cost what the machine says. A log without its end has no books."""
    cost = {
        "l2": machine.l2.latency_ns - 1,
        "l3": machine.l3.latency_ns - 1 if machine.l3 else 0,
        "local": machine.memory_local_ns - 1,
        "remote": machine.memory_remote_ns - 1,
        "transfer_cluster": machine.transfer_cluster_ns - 1,
        "transfer_across": machine.transfer_across_ns - 1,
        "transfer_socket": machine.transfer_socket_ns - 1,
        "atomic": machine.atomic_ns,
        "walk": machine.tlb.walk_ns if machine.tlb else 0,
        "interrupt": machine.interrupt_ns,
    }
    phases = log.memory.phases.values() if log.memory else ()
    every = [books for cpus in phases for books in cpus]
    return all(books.stalls[name] == books.counts[name] * ns for books in every for name, ns in cost.items())


# ---- exploration


def check_exploration(files: RunFiles, asked: Exploration | None) -> None:
    """`asked` None: the run may be a sample, so its vCPUs were not stalled."""
    run, seen = files.run, files.clock.explored
    found = {
        "run.json": run.exploration == asked,
        ARGV: files_of_plugins(files.argv, "explore") == ([exploration.FILE] if asked else []),
        exploration.FILE: os.path.lexists(run.folder / exploration.FILE) == (asked is not None),
        "clock.log": (None if seen is None else (seen.strategy, seen.seed))
        == (None if asked is None else (asked.strategy, asked.seed)),
    }
    wrong = [name for name, good in found.items() if not good]
    if wrong and asked is None:
        raise VerifyError(
            f"{run.folder.name} was explored ({wrong[0]} says so): stalls moved its figures, so such a run "
            "is never a sample of a gate"
        )
    if wrong:
        raise VerifyError(f"{wrong[0]} of {run.folder.name} is not of the exploration with {asked}")
