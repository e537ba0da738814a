"""What oracles ask of answers: right values, tasks that cover the work exactly, shares of equal cost,
complete histograms; and the work of guest/work.h in closed form, by which they know the right values.

The checks take the reports of a run's workers, or its OracleRun; they give nothing, the tasks, a sum or a
histogram, and fail with VerifyError that names the worker. The closed forms take numbers or arrays of 64-bit
words and give the same; all sums and products are modulo 2^64, and nothing fails. Exported from `benchgate`;
our oracles and a user's own use the same functions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from benchgate.base.cells import ParamValue
from benchgate.base.errors import VerifyError
from benchgate.base.runs import OracleRun, WorkerReport
from benchgate.base.statistics.histogram import Histogram
from benchgate.base.workload.metrics import SECOND_NS

BALANCE = 0.02
"""How far a worker's share of an equal-cost split may be from the mean."""


def whole(params: Mapping[str, ParamValue], key: str) -> int:
    """The parameter as a number."""
    value = params[key]
    if not isinstance(value, int):
        raise VerifyError(f"parameter {key}={value} is not a number")
    return value


def expect(who: str, reported: Mapping[str, int], right: Mapping[str, int]) -> None:
    """Requires exactly these values. `who` is the subject of the error message: `worker 1`, `the result`."""
    if set(reported) != set(right):
        raise VerifyError(f"{who} reported the fields {sorted(reported)}, expected {sorted(right)}")
    expect_some(who, reported, right)


def expect_some(who: str, reported: Mapping[str, int], right: Mapping[str, int]) -> None:
    """Requires these values; there may be others, too."""
    for key, value in right.items():
        if reported.get(key) != value:
            raise VerifyError(
                f"wrong answer: {who} reported {key}={reported.get(key)}, expected {key}={value}"
            )


def expect_inside(run: OracleRun, key: str, length_ns: int, rounding_ns: int) -> None:
    """Requires that a length which a program measured itself fits into the work window. The program rounds it
    to a multiple of `rounding_ns`."""
    work_ns = run.work * SECOND_NS // (run.hz or SECOND_NS)
    if length_ns - rounding_ns > work_ns:
        raise VerifyError(
            f"the program reported {key}={length_ns} ns, but the whole work window has {work_ns} ns"
        )


def together(reports: Sequence[WorkerReport]) -> dict[str, int]:
    """The sum of each value over all workers, modulo 2^64. For work that the workers divide among themselves
    as they go, so that only the whole is known. All must have reported the same names."""
    sums = dict.fromkeys(reports[0].values, 0)
    for report in reports:
        if report.values.keys() != sums.keys():
            raise VerifyError(
                f"worker {report.id} reported the fields {sorted(report.values)}, "
                f"but worker {reports[0].id} {sorted(sums)}"
            )
        for key, value in report.values.items():
            sums[key] = (sums[key] + value) % 2**64
    return sums


def summed(reports: Sequence[WorkerReport], key: str) -> int:
    """What all workers together reported under this name."""
    for report in reports:
        if key not in report.values:
            raise VerifyError(f"worker {report.id} did not report {key}")
    return sum(report.values[key] for report in reports)


def add_up(what: str, whole: int, parts: Mapping[str, int]) -> None:
    """Requires that nothing is lost or done twice: `add_up("posted", 9, {"completed": 7, "pending": 2})`."""
    if sum(parts.values()) != whole:
        listed = " + ".join(f"{name}={value}" for name, value in parts.items())
        raise VerifyError(f"{what}={whole} is not {listed}, which is {sum(parts.values())}")


def expect_histogram(
    run: OracleRun,
    name: str,
    *,
    count: int | None = None,
    by_worker: Sequence[int] | None = None,
    at_most: int | None = None,
) -> Histogram:
    """The histogram of all workers. Requires as many values as `count`, for each worker as many as
    `by_worker` has, and no value above `at_most`, such as `run.total`."""
    if name not in run.by_worker:
        raise VerifyError(f"there is no histogram {name}")
    histogram = run.histograms[name]
    if count is not None and histogram.count != count:
        raise VerifyError(f"histogram {name} has {histogram.count} values, expected {count}")
    counts = [one.count for one in run.by_worker[name]]
    right = counts if by_worker is None else by_worker
    if len(right) != len(counts):
        raise VerifyError(f"{len(counts)} workers have a histogram {name}, expected {len(right)}")
    for worker, (has, wanted) in enumerate(zip(counts, right, strict=True)):
        if has != wanted:
            raise VerifyError(f"worker {worker} has {has} values in histogram {name}, expected {wanted}")
    if at_most is not None and histogram.max > at_most:
        raise VerifyError(f"histogram {name} has a value of {histogram.max}, above {at_most}")
    return histogram


def expect_no_overlap(run: OracleRun, name: str) -> None:
    """Requires that each worker's lengths in this histogram fit into the work window one after the other."""
    for worker, histogram in enumerate(run.by_worker[name]):
        if histogram.sum > run.work:
            raise VerifyError(
                f"histogram {name} of worker {worker} has {histogram.sum} {run.unit} together, but the work "
                f"window is {run.work} {run.unit} long"
            )


def ranges(reports: Sequence[WorkerReport], first: int, end: int) -> list[tuple[int, int]]:
    """Each worker's task from `lo` up to but not including `hi`. The tasks must cover first..end without a
    gap or an overlap."""
    tasks = []
    at = first
    for report in reports:
        values = report.values
        if "lo" not in values or "hi" not in values:
            raise VerifyError(f"worker {report.id} did not report its range")
        lo, hi = values["lo"], values["hi"]
        if lo != at or not lo <= hi <= end:
            raise VerifyError(
                f"wrong task: worker {report.id} had {lo}..{hi}, but its range starts at {at}, "
                f"and no range goes beyond {end}"
            )
        tasks.append((lo, hi))
        at = hi
    if at != end:
        raise VerifyError(f"wrong task: the workers' ranges end at {at}, but the work ends at {end}")
    return tasks


def all_in_one(reports: Sequence[WorkerReport]) -> None:
    """Requires that the first worker had all of the work, as `split=one` says."""
    for report in reports[1:]:
        lo, hi = report.values["lo"], report.values["hi"]
        if lo != hi:
            raise VerifyError(
                f"wrong split: worker {report.id} had {lo}..{hi}, but worker 0 should have all of the work"
            )


def equal_width(reports: Sequence[WorkerReport], first: int, end: int) -> None:
    """Requires that the workers' item counts differ by at most one."""
    width = (end - first) / len(reports)
    for report in reports:
        had = report.values["hi"] - report.values["lo"]
        if abs(had - width) >= 1:
            raise VerifyError(
                f"wrong split: worker {report.id} had {had} items, but each should have {width:.1f}"
            )


def equal_cost(reports: Sequence[WorkerReport], key: str, grain: int) -> None:
    """Requires that every worker's `key` is within BALANCE of the mean, or within `grain`, the cost of an
    item."""
    mean = sum(report.values[key] for report in reports) / len(reports)
    allowed = max(BALANCE * mean, grain)
    for report in reports:
        if abs(report.values[key] - mean) > allowed:
            raise VerifyError(
                f"unequal split: worker {report.id} had {key}={report.values[key]}, more than "
                f"{BALANCE:.0%} from the mean {mean:.0f}"
            )


Words = NDArray[np.uint64]

_MODULUS = 2**64
TURN = (6364136223846793005, 1442695040888963407)
"""The factor and the addend of one turn."""
FOLD = 0x9FB21C651E98DF25


def random_numbers(first: int, end: int, seed: int = 0) -> Words:
    """Elements first..end-1 of the splitmix64 sequence for this seed."""
    z = (np.arange(first, end, dtype=np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z += np.uint64(seed)
    z = (z ^ z >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    result: Words = z ^ z >> np.uint64(31)
    return result


def after_turns(start: Words, turns: Words | int) -> Words:
    """What `turns` turns make of each number. 2 * n turns are the map of n turns, applied to itself; so each
    bit of a number of turns takes one multiplication."""
    value, left = np.broadcast_arrays(start, np.asarray(turns, dtype=np.uint64))
    factor, addend = TURN
    while left.any():
        odd = (left & np.uint64(1)).astype(bool)
        value = np.where(odd, value * np.uint64(factor) + np.uint64(addend), value)
        factor, addend = factor * factor % _MODULUS, addend * (factor + 1) % _MODULUS
        left = left >> np.uint64(1)
    return np.array(value, dtype=np.uint64)


def after_turns_from(start: int, turns: int) -> int:
    """Turns one number any number of times: after 2^64 turns every number is what it was."""
    return int(after_turns(np.array([start % _MODULUS], dtype=np.uint64), turns % _MODULUS)[0])


def total(values: Words) -> int:
    return int(values.sum(dtype=np.uint64))


def folded(values: Words) -> int:
    """fold * FOLD + value over all values in their order, from 0."""
    powers = np.full(len(values), FOLD, dtype=np.uint64)
    powers[:1] = 1
    return total(values[::-1] * np.multiply.accumulate(powers))


def equal_share(items: int, workers: int, worker: int) -> tuple[int, int]:
    """The part of 0..items-1 that bench_share() gives to a worker: from lo up to but not including hi."""
    return items * worker // workers, items * (worker + 1) // workers
