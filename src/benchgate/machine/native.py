"""The same workload as one process on this host: no machine around it, the same care for its life.

Takes a BootSpec whose argv is the program and its manifest words (`bench.pin=` among them), and a folder;
gives a `GuestEnd`, with serial.log (standard output, byte for byte), stderr.log, affinity.json and
threads.json. The program pins its own workers; the whole process is kept on those CPUs too. Fails as
run_guest does.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

from benchgate.machine import process, stale
from benchgate.machine.accounting import Sample, sample
from benchgate.machine.console import Follower, Limits
from benchgate.machine.guest import GuestEnd, OnPhase, keep_samples, piped, write_json
from benchgate.machine.pinning import Placed, threads
from benchgate.machine.process import Child
from benchgate.machine.watch import NATIVE_WATCH, Watch
from benchgate.model import BootSpec

_STOP_GRACE_S = 0.5
# When to look for the pinned workers. Few looks: each costs CPU time on a machine that is being measured.
_LOOKS_S = (0.01, 0.04, 0.15)


def run_native(  # noqa: PLR0913 - what a run needs, by name
    spec: BootSpec,
    folder: Path,
    *,
    watch: Watch = NATIVE_WATCH,
    nonce: str,
    limits: Limits | None = None,
    on_phase: OnPhase = lambda _: None,
) -> GuestEnd:
    """Runs the program to its end; nothing of its group is left afterwards."""
    limits = limits or Limits()
    samples: list[Sample] = []
    on_phase("starting")
    with contextlib.ExitStack() as stack:
        stack.callback(keep_samples, folder, samples)
        streams = stack.enter_context(piped(folder, limits))
        began = time.monotonic_ns()
        child = process.start(
            spec.argv,
            process.base_environment(spec.environment),
            stdin=streams.child_input,
            stdout=streams.child_output,
            stderr=streams.child_error,
            affinity=spec.pins,
        )
        stack.callback(child.stop, 0)
        streams.close_childs()
        stack.enter_context(stale.recorded(child.pid, child.started, nonce))
        on_phase("running")

        def on_moment(moment: str) -> None:
            samples.append(sample(child.pid, moment, ()))

        samples.append(Sample("start", began, ()))
        write_json(folder / "affinity.json", [item.as_json() for item in _find_workers(child, spec.pins)])
        follower = Follower(
            streams.console, streams.log, watch, spec.deadlines, limits, on_moment, child, folder
        )
        sight = follower.follow()
        on_phase("ended")
        left = follower.await_exit(sight)
        on_moment("exit" if left else "stop")
        status = child.stop(0 if left else _STOP_GRACE_S)
        return GuestEnd(*follower.judge(sight, status if left else None), status, tuple(samples))


def _find_workers(child: Child, pins: tuple[int, ...]) -> tuple[Placed, ...]:
    """The threads seen on one pinned CPU each; fewer than the pins where they came and went unseen."""
    seen: dict[int, Placed] = {}
    for pause in _LOOKS_S if pins else ():
        time.sleep(pause)
        if child.has_ended():
            break
        for pid in (child.pid, *_children(child.pid)):
            for thread, name in threads(pid).items():
                with contextlib.suppress(ProcessLookupError):
                    found = tuple(sorted(os.sched_getaffinity(thread)))
                    if len(found) == 1 and (len(pins) == 1 or thread != child.pid):
                        seen[thread] = Placed(thread, name, None, found, found)
        if {item.found[0] for item in seen.values()} >= set(pins):
            break
    return tuple(seen.values())


def _children(pid: int) -> tuple[int, ...]:
    found: list[int] = []
    for thread in threads(pid):
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{pid}/task/{thread}/children").read_text(encoding="ascii").split()
            found += [int(word) for word in words]
    return tuple(found)
