"""Whether a run of the instruction clock, made twice with one seed, was the same run twice.

Takes two RawRuns, reads their consoles and clock logs; gives what differs in one sentence, or nothing. In
parallel mode nothing is promised, so nothing is compared. A guest that the host ended, once it had said
everything, is compared as far as both runs go. Fails with VerifyError where a log cannot be read.
"""

from __future__ import annotations

from benchgate import insn
from benchgate.insn import ClockMode
from benchgate.model import RawRun
from benchgate.verify import read_console


def difference(first: RawRun, second: RawRun) -> str:
    if first.clock_log is None or second.clock_log is None:
        return ""
    logs = insn.read_log(first.clock_log), insn.read_log(second.clock_log)
    if any(log.mode is not ClockMode.SERIAL for log in logs):
        return ""
    where = f"seed {first.seed} made {first.folder.name} and {second.folder.name} differ"
    for one, two in zip(logs[0].marks, logs[1].marks, strict=False):
        if one != two:
            return (
                f"{where}: mark {one.kind} at {one.time} on vCPU {one.vcpu}, then at {two.time} on {two.vcpu}"
            )
    ended_by_host = None in (first.exit_status, second.exit_status)
    if logs[0].marks != logs[1].marks or (logs[0].totals != logs[1].totals and not ended_by_host):
        return f"{where} in their instruction counts"
    said = read_console(first), read_console(second)
    if ended_by_host:
        said = said[0][: len(said[1])], said[1][: len(said[0])]
    return f"{where} in their consoles" if said[0] != said[1] else ""
