"""What the operations of micro.c must have done: how often, how many bytes, and a proof of each kind.

Takes the parameters, the reports and the clock's readings of a run; gives nothing if they are right, else
fails with VerifyError. A proof is a number that follows from the operations alone, such as the sum of the
answers of all children. Each worker did `WARM` operations before its window, or `iters` if that is less, and
its numbers continue from there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from benchgate import (
    OracleRun,
    ParamValue,
    VerifyError,
    WorkerReport,
    expect,
    expect_histogram,
    summed,
    whole,
)

WARM = 64
PAGE = 4096
FILE_BYTES = 1000


@dataclass(frozen=True)
class Done:
    """What one worker did in its window."""

    worker: int
    ops: int
    warm: int
    file: int
    """The number of the file or channel that it used."""

    @property
    def numbers(self) -> range:
        """The numbers of its operations, in order."""
        return range(self.warm + 1, self.warm + self.ops + 1)


def _nothing(done: Done) -> int:
    return 0


def _one(done: Done) -> int:
    return 1


def _every(done: Done) -> int:
    return done.ops


def _chunks(done: Done) -> int:
    return sum(done.numbers) + (done.worker << 32) * done.ops


def _answers(done: Done) -> int:
    return 3 * sum(done.numbers) + done.ops


PROOFS: Mapping[str, Callable[[Done], int]] = {
    "read_null": _nothing,
    "write_null": _nothing,
    "pipe": _chunks,
    "fork_exit": _answers,
    "open_close": lambda done: FILE_BYTES + done.file,
    "mmap_fault": lambda done: sum(done.numbers),
    "stat": lambda done: (FILE_BYTES + done.file) * done.ops,
    "sched_yield": _one,
    "futex_wake": _every,
    "signal_delivery": _every,
    "thread_create": _every,
    "context_switch": lambda done: done.ops // 2,
}
"""The proof of each operation. `getpid` is not among them: any number may be the process's, but only once."""
BYTES = {"write_null": 1, "pipe": PAGE, "mmap_fault": PAGE}
"""How many bytes an operation moved or faulted in; those that are not listed, none."""


def check(
    params: Mapping[str, ParamValue],
    reports: Sequence[WorkerReport],
    result: Mapping[str, int],
    run: OracleRun,
) -> None:
    op, iters, samples = str(params["op"]), whole(params, "iters"), whole(params, "samples")
    if op != "getpid" and op not in PROOFS:
        raise VerifyError(f"the oracle does not know what the operation {op} does")
    ops = iters * samples
    shared = params["share"] == "one"
    for report in reports:
        done = Done(report.id, ops, min(iters, WARM), 0 if shared else report.id)
        right = {"ops": ops, "time": _time(report, run), "bytes": BYTES.get(op, 0) * ops}
        proof = report.values.get("proof", 0)
        if op != "getpid" and not (op == "pipe" and shared):
            proof = PROOFS[op](done)
        expect(f"worker {report.id}", report.values, {**right, "proof": proof})
    if op == "getpid":
        _different(reports)
    if op == "pipe" and shared:
        _all_received(reports, ops, min(iters, WARM))
    expect("the result", result, {"ops": ops * len(reports), "iters": iters})
    expect_histogram(run, "sample", by_worker=[samples] * len(reports), at_most=run.work)


def _time(report: WorkerReport, run: OracleRun) -> int:
    """The sum of a worker's samples, which must fit into its window."""
    time = run.by_worker["sample"][report.id].sum
    if time > report.end - report.start:
        raise VerifyError(
            f"worker {report.id} timed {time} {run.unit} of operations in {report.end - report.start} of work"
        )
    return time


def _different(reports: Sequence[WorkerReport]) -> None:
    """Each worker is a process, so that no two have the same number."""
    numbers = [report.values["proof"] for report in reports]
    if 0 in numbers or len(set(numbers)) != len(numbers):
        raise VerifyError(f"wrong answer: the processes of the workers have the numbers {numbers}")


def _all_received(reports: Sequence[WorkerReport], ops: int, warm: int) -> None:
    """On one channel a worker receives whatever comes; all of them together receive what all sent."""
    sent = sum(_chunks(Done(report.id, ops, warm, 0)) for report in reports)
    if summed(reports, "proof") != sent:
        raise VerifyError(
            f"wrong answer: the numbers of the received chunks add up to "
            f"{summed(reports, 'proof')}, those of the sent ones to {sent}"
        )
