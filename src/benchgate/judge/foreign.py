"""Checks that a guest was quiet: how much CPU time in the window went to anything but the workers.

Takes a run, its transcript and the `result` settings of its system; gives nothing. Fails with VerifyError if
this foreign CPU time exceeds its limit, or if the guest did not count it.
"""

from __future__ import annotations

from benchgate.base.cells import Lane
from benchgate.base.errors import VerifyError
from benchgate.base.runs import RawRun
from benchgate.base.systems import Result
from benchgate.judge.wire import Transcript

FOREIGN_SHARE = 0.005
FOREIGN_FLOOR_NS = 2_000_000
"""Foreign CPU time per CPU that is always allowed. The time is counted from before the first spawn to after
the last join, and part of it is work for the workers: the kernel's RCU thread completes their starts and
exits. In quiet guests 0.2 to 2.3 ms in total were seen. A task that really competes takes half of a CPU."""
FOREIGN_FLOOR_TCG_NS = 6_000_000
"""The same for TCG in wall time, where this code runs for the first time and must be translated: up to 4.3 ms
at one CPU were seen on a quiet host. It only matters for short windows; from 1.2 s per CPU the share is
larger."""
HOST_STALL_NS = 15_000_000
HOST_STALL_SHARE = 0.1
"""The maximum that stalls of the host may add: per CPU, or as a share of the window on all CPUs (the larger).
A guest's clock continues while the host makes a vCPU wait, and the guest charges that time to the task that
was running. With five busy programs on a host with two CPUs, 5 to 84 ms (at most 5%) were seen instead of 2.
Only the delay that the host counted is allowed; if the host does not count it, the maximum; on the
instruction clock nothing."""


def foreign_limit(run: RawRun, transcript: Transcript) -> float:
    """The foreign CPU time that is allowed in a run, over all its CPUs."""
    capacity = (transcript.work_end - transcript.work_start) * transcript.online
    share = FOREIGN_SHARE * capacity
    if transcript.unit != "ns":
        return share
    stall = max(HOST_STALL_NS * transcript.online, HOST_STALL_SHARE * capacity)
    if run.lane is Lane.INSN:
        stall = 0.0
    elif run.host_delay_ns is not None:
        stall = min(stall, run.host_delay_ns)
    floor = FOREIGN_FLOOR_TCG_NS if run.lane is Lane.TCG else FOREIGN_FLOOR_NS
    return max(share, floor * transcript.online) + stall


def check_foreign(run: RawRun, transcript: Transcript, result: Result) -> None:
    if transcript.foreign is None:
        if result.counts_foreign:
            raise VerifyError(
                "the guest did not count foreign CPU time (foreign time=na), so nothing shows that it was "
                "quiet; for a system that cannot count it, write `foreign: na` under `result` in its YAML"
            )
        return
    limit = foreign_limit(run, transcript)
    if transcript.foreign > limit:
        capacity = (transcript.work_end - transcript.work_start) * transcript.online
        raise VerifyError(
            f"the guest was not quiet: tasks other than the workers used {transcript.foreign} "
            f"{transcript.unit} of CPU time, {transcript.foreign / capacity:.1%} of the work window; "
            f"at most {limit:.0f} is allowed"
        )
