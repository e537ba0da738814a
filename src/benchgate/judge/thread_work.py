"""On the lanes of wall time: did each vCPU run, according to the host's account of its thread? Pure.

Takes the files of a run and its work window; gives why that is not known, and then the run is void, because a
guest that prints its own figures could claim CPUs that never ran. Fails with VerifyError if a vCPU that the
row counts was idle but for a small part of the window.
"""

from __future__ import annotations

from benchgate.base.errors import VerifyError
from benchgate.base.metrics import SECOND_NS
from benchgate.judge.console_clock import LEAST_SHARE
from benchgate.judge.noise import vcpu_time
from benchgate.judge.run_files import RunFiles
from benchgate.judge.wire import MAX_HZ


def check_threads(files: RunFiles, unit: str, work: int) -> str:
    """Empty: each vCPU took part. A thread's time also has what the vCPU did before the window, and its waits
    for a busy host, so this refuses too little, never too much. Cycles are taken for as short as they can
    be."""
    cpus = files.run.cell.cpus
    if cpus == 1:
        return ""
    window_ns = work if unit == "ns" else work * SECOND_NS // MAX_HZ
    ran = vcpu_time(files.moments, window_ns)
    if ran is None or len(ran) != cpus:
        return (
            f"nothing shows that each of its {cpus} CPUs worked, because the host could not read the time of "
            "their threads between the guest's figure and its end; let the guest stay until it is stopped "
            "(`end: {by: kill}`), or use --clock insn"
        )
    least = LEAST_SHARE * window_ns / cpus
    for vcpu, time_ns in enumerate(ran):
        if time_ns < least:
            raise VerifyError(
                f"work: the row counts {cpus} CPUs and its window is {work} {unit} long, but until the guest "
                f"printed that figure the thread of vCPU {vcpu} ran or waited for the host for only "
                f"{time_ns} ns: that CPU did not take part in the work"
            )
    return ""
