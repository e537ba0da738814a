"""How much CPU time in the window went to anything but the workers: in a quiet guest very little.

Takes a run, its transcript, the `result` settings of its system, and how the host disturbed it. Gives nothing
(empty text), or the sentence why the run is void: the host stopped a vCPU, and the guest charged that time to
a task. Fails with VerifyError if the guest did not count the time, or if it is too much for a quiet host.
"""

from __future__ import annotations

from benchgate.base.cells import Lane
from benchgate.base.errors import VerifyError
from benchgate.base.results import Result
from benchgate.base.runs import RawRun
from benchgate.judge.metrics import SECOND_NS
from benchgate.judge.noise import Disturbance
from benchgate.judge.wire import Transcript

FOREIGN_SHARE = 0.005
FOREIGN_FLOOR_NS = 2_000_000
"""Foreign CPU time per CPU that is always allowed. The time is counted from before the first spawn to after
the last join, and part of it is work for the workers: the kernel's RCU thread completes their starts and
exits. In quiet guests 0.2 to 2.3 ms in total were seen. A task that really competes takes half of a CPU."""
FOREIGN_FLOOR_TCG_NS = 10_000_000
"""The same for TCG in wall time, where this code runs for the first time and must be translated: 2.8 to
7.6 ms at one CPU and 3.3 to 13.7 ms at two were seen in 49 runs on a quiet host. It only matters for short
windows; from 2 s per CPU the share is larger."""
CYCLES_PER_NS = 3
"""Of a guest that counts cycles of the host. On the instruction clock a cycle is a nanosecond."""


def foreign_limit(run: RawRun, transcript: Transcript) -> float:
    """The foreign CPU time that is allowed in a run, over all its CPUs."""
    share = FOREIGN_SHARE * _capacity(transcript)
    floor = FOREIGN_FLOOR_TCG_NS if run.lane is Lane.TCG else FOREIGN_FLOOR_NS
    if transcript.unit != "ns" and run.lane is not Lane.INSN:
        floor *= CYCLES_PER_NS
    return max(share, floor * transcript.online)


def check_foreign(
    run: RawRun, transcript: Transcript, result: Result, seen: Disturbance, disturbed: str
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
    what = (
        f"tasks other than the workers used {transcript.foreign} {transcript.unit} of CPU time, "
        f"{transcript.foreign / _capacity(transcript):.1%} of the work window; at most {limit:.0f} is allowed"
    )
    host = "" if run.lane is Lane.INSN else _stalls(seen, disturbed, transcript, limit)
    if host:
        return f"{what}; {host}"
    raise VerifyError(f"the guest was not quiet: {what}")


def _stalls(seen: Disturbance, disturbed: str, transcript: Transcript, limit: float) -> str:
    """Why this may be the host's time and not the guest's; empty if the host was quiet."""
    if disturbed:
        return f"the host was not quiet: {disturbed}"
    if seen.stall_ns is None:
        return "the host does not count how long vCPUs wait for its CPUs, so it may have stopped them"
    excess = (transcript.foreign or 0) - limit
    if transcript.hz and seen.stall_ns >= excess * SECOND_NS / transcript.hz:
        return f"the host made its vCPUs wait for {seen.stall_ns} ns"
    return ""


def _capacity(transcript: Transcript) -> int:
    return (transcript.work_end - transcript.work_start) * transcript.online
