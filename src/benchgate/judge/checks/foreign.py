"""How much CPU time in the window went to anything but the workers: in a quiet guest very little.

Takes a run, its transcript, the `result` settings of its system, and how the host disturbed it. Gives nothing
(empty text), or the sentence why the run is void: too much of that time, in wall time. Fails with VerifyError
if the guest did not count the time, or if it is certain that another task competed with the workers.

No limit of lane `tcg` is a time of the host: on a slower host the same guest code takes more time, and no
number of nanoseconds is right for all of them. What a quiet guest's own tasks do in a run is to begin and to
end its workers, and how long that takes is known from the run itself: the total window less the work window.
Lane `kvm` always allows that too, since its host may be emulated. What is below the limit is not ignored
either, but counts as doubt about the sample (judge/samples.py).
"""

from __future__ import annotations

from benchgate.base.cells import Lane
from benchgate.base.errors import VerifyError
from benchgate.base.runs import RawRun
from benchgate.base.system.results import ResultDefinition
from benchgate.base.workload.metrics import SECOND_NS
from benchgate.judge.noise import Disturbance
from benchgate.judge.wire import Transcript

FOREIGN_SHARE = 0.005
FOREIGN_FLOOR_NS = 2_000_000
"""Foreign CPU time per CPU that is always allowed where a nanosecond is about an instruction: not on `tcg`.
The time is counted from before the first spawn to after the last join, and part of it is work for the
workers: the kernel's RCU thread completes their starts and exits. In quiet guests 0.2 to 2.3 ms were seen."""
START_AND_END = 2
"""Lanes `tcg` and `kvm` always allow so many times the total window less the work window. In 48 runs on an
idle host, foreign time was 0.1 to 1.7 times that long (`benchgate docs write-a-workload`)."""
COMPETES = 0.25
"""A share of the work window in wall time that only a task with work of its own uses: it takes half of a CPU
for as long as it competes with a worker, at any number of CPUs."""
CYCLES_PER_NS = 3
"""The limit assumes so many if a guest counts the host's cycles. The instruction clock has one per ns."""


def foreign_limit(run: RawRun, transcript: Transcript) -> float:
    """The foreign CPU time that is allowed in a run, over all its CPUs."""
    share = FOREIGN_SHARE * _window(transcript) * transcript.online
    outside = transcript.total_end - transcript.total_start - _window(transcript)
    if run.lane is Lane.TCG:
        return max(share, START_AND_END * outside)
    floor = FOREIGN_FLOOR_NS * transcript.online
    least = max(share, floor if transcript.unit == "ns" or run.lane is Lane.INSN else floor * CYCLES_PER_NS)
    return max(least, START_AND_END * outside) if run.lane is Lane.KVM else least


def check_foreign(
    run: RawRun, transcript: Transcript, result: ResultDefinition, seen: Disturbance, disturbed: str
) -> str:
    """`disturbed`: the counters of the host that are above their limits; empty if it was quiet."""
    if transcript.foreign is None:
        if result.counts_foreign:
            raise VerifyError(
                "the guest did not count foreign CPU time (foreign time=na), so nothing shows that it was "
                "quiet; for a system that cannot count it, write `foreign: na` under `result` in its YAML"
            )
        return ""
    limit = foreign_limit(run, transcript)
    if transcript.foreign <= limit:
        return ""
    share = transcript.foreign / _window(transcript)
    what = (
        f"tasks other than the workers used {transcript.foreign} {transcript.unit} of CPU time, {share:.1%} "
        f"of the work window; at most {limit:.0f} is allowed"
    )
    if run.lane is Lane.INSN:
        raise VerifyError(f"the guest was not quiet: {what}")
    if host := _stalls(seen, disturbed, transcript, limit):
        return f"{what}; {host}"
    if share > COMPETES:
        raise VerifyError(f"the guest was not quiet: {what}")
    return what


def _stalls(seen: Disturbance, disturbed: str, transcript: Transcript, limit: float) -> str:
    """Why this may be the host's time and not the guest's; empty if the host was quiet. A guest charges the
    time for which the host stopped a vCPU to the task that was running."""
    if disturbed:
        return f"the host was not quiet: {disturbed}"
    if seen.stall_ns is None:
        return "the host does not count how long vCPUs wait for its CPUs, so it may have stopped them"
    excess = (transcript.foreign or 0) - limit
    if transcript.hz and seen.stall_ns >= excess * SECOND_NS / transcript.hz:
        return f"the host made its vCPUs wait for {seen.stall_ns} ns"
    return ""


def _window(transcript: Transcript) -> int:
    return transcript.work_end - transcript.work_start
