"""Runs a workload as a process on this host, without a virtual machine.

Takes a BootSpec whose argv is the program and its manifest words (including `bench.pin=`), and a folder;
gives a `GuestEnd`, with serial.log (standard output, byte for byte), stderr.log, affinity.json,
threads.json and host.json. The program pins its own workers; the affinity of the whole process is those CPUs
too. Fails with BootError if the program cannot be executed.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from pathlib import Path

from benchgate.base import process
from benchgate.base.files import write_json
from benchgate.base.interrupts import held
from benchgate.base.jsonfields import as_json
from benchgate.base.process import Child
from benchgate.base.runs import BootSpec
from benchgate.host.noise import host_snapshot
from benchgate.run import stale
from benchgate.run.console import ConsoleLimits, piped
from benchgate.run.follower import Follower
from benchgate.run.guest import GuestEnd, OnPhase
from benchgate.run.pinning import ThreadPlace, threads
from benchgate.run.thread_use import UseSample, keep_samples, sample
from benchgate.run.watch import Watch

_STOP_GRACE_S = 0.5
# Pauses before each search for the pinned workers. There are few, because each search costs CPU time on the
# host that is being measured.
_SEARCH_PAUSES_S = (0.01, 0.04, 0.15)


def run_native(  # noqa: PLR0913 - keyword arguments
    spec: BootSpec, folder: Path, *, watch: Watch, nonce: str, limits: ConsoleLimits, on_phase: OnPhase
) -> GuestEnd:
    """Runs the program to its end. No process of its group remains."""
    samples: list[UseSample] = []
    on_phase("starting")
    with contextlib.ExitStack() as stack:
        stack.callback(keep_samples, folder, samples)
        streams = stack.enter_context(piped(folder, limits))
        # Existing programs run in this folder, and may leave files there.
        scratch = tempfile.TemporaryDirectory(prefix="benchgate-", ignore_cleanup_errors=True)
        environment = {**spec.environment, "TMPDIR": stack.enter_context(scratch)}
        start_ns = time.monotonic_ns()
        with held():
            child = process.start(
                spec.argv,
                process.base_environment(environment),
                stdin=streams.child_input,
                stdout=streams.child_output,
                stderr=streams.child_error,
                affinity=spec.pins,
            )
            stack.callback(child.stop, 0)
        streams.close_child_ends()
        stack.enter_context(stale.recorded(child.pid, child.started, nonce))
        on_phase("running")

        def on_moment(moment: str) -> None:
            samples.append(sample(child.pid, moment, (), spec.pins))

        samples.append(UseSample("start", start_ns, (), host_snapshot(cpus=spec.pins or None)))
        write_json(folder / "affinity.json", [as_json(item) for item in _find_workers(child, spec.pins)])
        bounds = watch, spec.deadlines, limits
        follower = Follower(streams.console, streams.log, *bounds, on_moment, child, folder)
        seen = follower.follow()
        on_phase("ended")
        exited = follower.await_exit(seen)
        on_moment("exit" if exited else "stop")
        status = child.stop(0 if exited else _STOP_GRACE_S)
        return GuestEnd(*follower.judge(seen, status if exited else None), status, tuple(samples))


def _find_workers(child: Child, pins: tuple[int, ...]) -> tuple[ThreadPlace, ...]:
    """The threads that were found on one pinned CPU each. Threads that ended between two searches are
    missing."""
    workers: dict[int, ThreadPlace] = {}
    for pause in _SEARCH_PAUSES_S if pins else ():
        time.sleep(pause)
        if child.has_ended():
            break
        for pid in (child.pid, *_children(child.pid)):
            for thread, name in threads(pid).items():
                with contextlib.suppress(ProcessLookupError):
                    found = tuple(sorted(os.sched_getaffinity(thread)))
                    if len(found) == 1 and (len(pins) == 1 or thread != child.pid):
                        workers[thread] = ThreadPlace(thread, name, None, found, found)
        if {item.found[0] for item in workers.values()} >= set(pins):
            break
    return tuple(workers.values())


def _children(pid: int) -> tuple[int, ...]:
    result: list[int] = []
    for thread in threads(pid):
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{pid}/task/{thread}/children").read_text(encoding="ascii").split()
            result += [int(word) for word in words]
    return tuple(result)
