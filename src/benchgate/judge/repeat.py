"""Compares two runs on the instruction clock with the same seed, which must be equal.

Takes two RawRuns and reads their consoles and clock logs; gives one sentence about the first difference, or
an empty string. If the host killed a guest after its result, only the part that both runs have is compared.
Fails with VerifyError if a file cannot be read.
"""

from __future__ import annotations

from benchgate.base.runs import RawRun
from benchgate.insn.log_reader import read_log
from benchgate.judge.run_files import read_console


def difference(first: RawRun, second: RawRun) -> str:
    if first.clock_log is None or second.clock_log is None:
        return ""
    logs = read_log(first.clock_log), read_log(second.clock_log)
    where = f"{first.folder.name} and {second.folder.name} have the same seed {first.seed} but differ"
    for mark, other in zip(logs[0].marks, logs[1].marks, strict=False):
        if mark != other:
            return (
                f"{where}: mark {mark.kind} at {mark.time} on vCPU {mark.vcpu}, "
                f"mark {other.kind} at {other.time} on vCPU {other.vcpu}"
            )
    ended_by_host = None in (first.exit_status, second.exit_status)
    if logs[0].marks != logs[1].marks or (logs[0].totals != logs[1].totals and not ended_by_host):
        return f"{where} in their instruction counts"
    one, two = read_console(first), read_console(second)
    if ended_by_host:
        one, two = one[: len(two)], two[: len(one)]
    return f"{where} in their consoles" if one != two else ""
