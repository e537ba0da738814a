"""Compares what the files of a run say twice: run.json, and the files of those who carried the run out.

Takes the files of a run and its system; gives nothing. Fails with VerifyError if the lane, the placement, the
pins, the CPU count, the nonce, the cell or the exploration in run.json contradict argv.json, affinity.json,
threads.json or clock.log, if conversation.json contradicts clock.log, or if the guest printed, or left in its
memory, what argv.json did not ask for.
"""

from __future__ import annotations

import os
from itertools import pairwise

from benchgate.base.cells import Lane, Placement
from benchgate.base.errors import VerifyError
from benchgate.base.exploration import Exploration
from benchgate.base.runs import RawRun
from benchgate.base.system.guest_topology import topology_of
from benchgate.base.system.qemu import guest_name, host_ports
from benchgate.base.system.results import ResultFormat
from benchgate.base.system.script import port_values
from benchgate.base.system.systems import AskMethod, System, SystemKind
from benchgate.base.text import filled, one_line
from benchgate.base.workload.workloads import GUEST_FILES
from benchgate.insn.arguments import turn_asked
from benchgate.judge.checks.machine_agreement import check_exploration, check_machine, files_of_plugins
from benchgate.judge.checks.start_agreement import check_start
from benchgate.judge.run_files import AFFINITY, ARGV, CONVERSATION, THREADS, Moment, RunFiles
from benchgate.run.argv import manifest
from benchgate.run.end_memory import FILE as MEMORY
from benchgate.run.end_memory import keeps_memory, leaves_memory
from benchgate.run.record import clock_log

CLOCKS_DIFFER = 1.001
"""The host's clock follows a time server; the one by which it counts the time of threads does not."""
MEASURE = "bench.measure=1"
_BESIDE = tuple(f"bench.{key}=" for key in ("needs", "measure", "pin", GUEST_FILES))
"""The guest is told these besides the cell."""


def check_agreement(files: RunFiles, system: System, exploration: Exploration | None = None) -> None:
    check_host(files, system, exploration)
    _check_asked(files, system)
    _check_threads(files)
    if system.result.format is ResultFormat.BENCH:
        _check_measures(files)


def check_host(files: RunFiles, system: System, exploration: Exploration | None = None) -> None:
    """What the host's own files say, whatever the guest printed. `exploration`: the one that was asked."""
    _check_argv(files, system)
    _check_placement(files.run)
    _check_pins(files)
    if files.run.lane is Lane.INSN:
        if files.clock.vcpus != files.run.cell.cpus:
            raise _differs(files.run, f"{files.run.cell.cpus} CPUs", f"clock.log is of {files.clock.vcpus}")
        _check_turned(files)
        _check_typed(files, system)
        check_machine(files, system)
        check_exploration(files, exploration)
        _check_end_memory(files)
    elif os.path.lexists(clock_log(files.run.folder)):
        raise _differs(files.run, f"lane {files.run.lane}", "there is a log of the instruction clock")
    if files.run.lane is not Lane.NATIVE:
        check_start(files, system)


def _check_turned(files: RunFiles) -> None:
    asked, found = turn_asked(files.argv), files.clock.turned
    if len(found) != (asked is not None) or (asked and not found[0].is_of(asked)):
        raise _differs(files.run, f"seed {files.run.seed}", "the clock turned to other rules, or did not")


def _differs(run: RawRun, ours: str, theirs: str) -> VerifyError:
    return VerifyError(f"run.json of {run.folder.name} says {ours}, but {theirs}")


def _check_argv(files: RunFiles, system: System) -> None:
    run, argv = files.run, files.argv
    lane = _lane(argv)
    if lane != run.lane or (lane is Lane.NATIVE) != (system.kind is SystemKind.NATIVE):
        raise _differs(run, f"lane {run.lane}", f"{ARGV} is a command line of lane {lane}")
    if lane is Lane.NATIVE:
        cpus, nonce = f"bench.cpus={run.cell.cpus}" in argv, f"bench.nonce={run.nonce}" in argv
    else:
        cpus = _option(argv, "-smp") == topology_of(system, run.cell.cpus).smp
        nonce = _option(argv, "-name").startswith(f"guest={guest_name(run.nonce)},")
    if not cpus:
        raise _differs(run, f"{run.cell.cpus} CPUs", f"{ARGV} asks for another number")
    if not nonce:
        raise _differs(run, f"nonce {run.nonce}", f"{ARGV} has another one")


def _check_asked(files: RunFiles, system: System) -> None:
    """The words of the command line that chose the guest's machine, and asked it for this cell."""
    run, argv, own = files.run, files.argv, ""
    if run.lane is Lane.NATIVE:
        asked = list(argv[1:])
    else:
        for option, due in (("-machine", system.qemu.machine), ("-m", system.qemu.memory)):
            if _option(argv, option) != due:
                raise _differs(run, f"system {run.cell.system} ({option} {due})", f"{ARGV} has another one")
        own = filled(system.boot.append, {name: str(port) for name, port in _ports(files, system).items()})
        found = [value for option, value in pairwise(argv) if option == "-append"]
        text = found[0] if len(found) == 1 else ""
        if system.boot.takes_words:
            text = files.words if text == own else ""
        if len(found) > 1 or not f"{text} ".startswith(f"{own} ".lstrip(" ")):
            raise _differs(run, f"system {run.cell.system}", f"-append in {ARGV} is not the one of its YAML")
        asked = text[len(own) :].split()
    is_asked = run.lane is Lane.NATIVE or system.ask is AskMethod.CMDLINE
    due_words = manifest(run.cell, run.nonce).split(" ") if is_asked else []
    others = [word for word in asked if not (is_asked and word.startswith(_BESIDE))]
    if sorted(others) != sorted(due_words):
        odd = sorted({*others} ^ {*due_words}) or others
        raise _differs(run, f"{run.cell.id}, nonce {run.nonce}", f"{ARGV} asks otherwise: {one_line(odd[0])}")


def _ports(files: RunFiles, system: System) -> dict[str, int]:
    try:
        return port_values(host_ports(files.argv, system.ports))
    except ValueError as error:
        raise VerifyError(f"{ARGV}: {error}") from None


def _check_threads(files: RunFiles) -> None:
    """The vCPUs' threads in threads.json are those of affinity.json, and no time on a CPU shrinks. At the
    first moment no vCPU has begun, so at each later one it has run at most from there to the next. Between
    two others it may seem to run for longer: the host adds to the time of a running thread at ticks only."""
    moments = files.moments
    for before, moment, after in zip(moments, moments[1:], (*moments[2:], None), strict=False):
        for thread in moment.vcpus:
            if thread not in files.vcpu_threads:
                raise _contradicts(files, f"{AFFINITY} has no vCPU's thread {thread}")
            grown, ran = _ran_ns(thread, before, moment), _ran_ns(thread, moments[0], moment)
            if grown < 0:
                raise _contradicts(files, f"the time of thread {thread} is less at {moment.name} than before")
            if after and ran > CLOCKS_DIFFER * (after.t_ns - moments[0].t_ns):
                raise _contradicts(files, f"thread {thread} ran for {ran} ns until {moment.name}")


def _ran_ns(thread: int, begin: Moment, end: Moment) -> int:
    """0: not known."""
    then, now = begin.vcpus.get(thread), end.vcpus[thread]
    return 0 if then is None or then.run_ns is None or now.run_ns is None else now.run_ns - then.run_ns


def _contradicts(files: RunFiles, why: str) -> VerifyError:
    return VerifyError(f"{THREADS} of {files.run.folder.name} contradicts itself or {AFFINITY}: {why}")


def _lane(argv: tuple[str, ...]) -> str:
    """The lane of a command line that benchgate made (base/system/qemu.py). The instruction clock is a plugin
    that is told to write its log."""
    accelerator = _option(argv, "-accel").partition(",")[0]
    if not accelerator:
        return Lane.NATIVE
    has_clock = "clock.log" in files_of_plugins(argv, "out")
    return Lane.INSN if accelerator == "tcg" and has_clock else accelerator


def _option(argv: tuple[str, ...], name: str) -> str:
    """The value of the first such option; empty if there is none."""
    return next((value for option, value in pairwise(argv) if option == name), "")


def _check_placement(run: RawRun) -> None:
    """Placement follows from the pins, as far as they tell; plan/seats.py has the rules."""
    if run.lane is Lane.INSN:
        if run.pins or run.placement is not Placement.VIRTUAL:
            raise _differs(run, f"placement {run.placement}", "CPUs of the instruction clock are not pinned")
    elif run.pins and (len(set(run.pins)) < run.cell.cpus) != (run.placement is Placement.OVERSUBSCRIBED):
        raise _differs(run, f"placement {run.placement}", f"it has {run.cell.cpus} CPUs on pins {run.pins}")


def _check_pins(files: RunFiles) -> None:
    """The CPUs that were read back are the pins. Workers of a native run may have ended before they were
    found; a guest has a thread per vCPU."""
    run, native = files.run, files.run.lane is Lane.NATIVE
    known = [(vcpu, cpus) for vcpu, cpus in files.affinity if vcpu is not None]
    found = files.affinity if native else sorted(known)
    if not native and [vcpu for vcpu, _ in found] != list(range(run.cell.cpus)):
        raise _differs(run, f"{run.cell.cpus} CPUs", "affinity.json has threads of other vCPUs")
    for place, (_, cpus) in enumerate(found) if run.pins else ():
        allowed = run.pins if native else run.pins[place : place + 1]
        if len(cpus) != 1 or not set(cpus) <= set(allowed):
            raise _differs(run, f"pins {run.pins}", f"a thread in affinity.json was on CPUs {cpus}")


def _check_typed(files: RunFiles, system: System) -> None:
    """What was typed, and when, is what the clock brought to the guest."""
    record = files.typed if system.script else ()
    ours = [(line.at, len(line.text), line.time) for line in record if line.text]
    theirs = [(typed.console, typed.count, typed.time) for typed in files.clock.inputs]
    if ours != theirs:
        raise VerifyError(
            f"{CONVERSATION} says that lines were typed at (bytes of the console, length, ns) {ours[:8]}, "
            f"but clock.log has {theirs[:8]}"
        )


def _check_end_memory(files: RunFiles) -> None:
    """A run has digests of its memory if its command line asks for them, and if its guest came to its end."""
    run = files.run
    due = keeps_memory(files.argv) and leaves_memory(run.ending, run.exit_status)
    if (files.end_memory is not None) != due:
        raise VerifyError(f"{MEMORY} of {run.folder.name} {'is missing' if due else 'is of another run'}")


def _check_measures(files: RunFiles) -> None:
    asked = any(MEASURE in word.split(" ") for word in (*files.argv, files.words))
    if files.transcript.measures and not asked:
        raise VerifyError(f"the guest printed measure lines, but {ARGV} does not ask for them ({MEASURE})")
