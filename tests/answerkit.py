"""Helpers for tests of oracles: reports of correct workers, every way to change one number of them, and one
process for many sessions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import ModuleType

import pytest

from benchgate import Histogram, OracleRun, VerifyError, WorkerReport
from benchgate.judge.oracles.oracle import ORACLES

Reports = Sequence[WorkerReport]
Result = Mapping[str, int]

MODULUS = 2**64


class _KeptOracles:
    def close(self) -> None:
        pass


@contextmanager
def kept_oracle(*users: ModuleType) -> Iterator[None]:
    """What these modules do at the end of a session leaves the oracle's process to the next one: to start
    another takes as much CPU time as a whole session without a guest. It ends when this does."""
    with pytest.MonkeyPatch.context() as patch:
        for module in users:
            patch.setattr(module, "ORACLES", _KeptOracles())
        try:
            yield
        finally:
            ORACLES.close()


def reports_of(rows: Sequence[Mapping[str, int]]) -> list[WorkerReport]:
    return [WorkerReport(k, k, k, 1, 2, row) for k, row in enumerate(rows)]


def turned(x: int, turns: int) -> int:
    """One turn at a time, as guest/work.h has it."""
    for _ in range(turns):
        x = (x * 6364136223846793005 + 1442695040888963407) % MODULUS
    return x


def mixed(index: int) -> int:
    """One random number of guest/work.h."""
    z = (index + 1) * 0x9E3779B97F4A7C15 % MODULUS
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % MODULUS
    z = (z ^ z >> 27) * 0x94D049BB133111EB % MODULUS
    return z ^ z >> 31


def folded(values: Sequence[int]) -> int:
    fold = 0
    for value in values:
        fold = (fold * 0x9FB21C651E98DF25 + value) % MODULUS
    return fold


def lies(reports: Reports, result: Result) -> Iterator[tuple[str, list[WorkerReport], Result]]:
    """Each number of the run, one more and one less (or absent); and a worker less."""
    for k, report in enumerate(reports):
        for key, value in report.values.items():
            for wrong in (value + 1, abs(value - 1)):
                changed = replace(report, values={**report.values, key: wrong})
                yield f"worker {k}: {key}={wrong}", [*reports[:k], changed, *reports[k + 1 :]], result
            less = {other: number for other, number in report.values.items() if other != key}
            yield (
                f"worker {k} without {key}",
                [*reports[:k], replace(report, values=less), *reports[k + 1 :]],
                result,
            )
    for key, value in result.items():
        yield f"result: {key}", list(reports), {**result, key: value + 1}
        yield f"result without {key}", list(reports), {k: v for k, v in result.items() if k != key}
    if len(reports) > 1:  # the verifier refuses a run without workers
        yield "a worker less", list(reports[:-1]), result


def refuses_every_lie(check: Callable[[Reports, Result], None], reports: Reports, result: Result) -> None:
    """Accepts the run as it is, and refuses each single change of a number."""
    check(reports, result)
    for what, wrong_reports, wrong_result in lies(reports, result):
        try:
            check(wrong_reports, wrong_result)
        except VerifyError:
            continue
        pytest.fail(f"accepted: {what}")


def histogram_run(name: str, counts: Sequence[int], cpus: int, work: int = 10**9) -> OracleRun:
    """A run whose workers have this many values of 100 ns each in a histogram."""
    ones = tuple(
        Histogram(n, 100 * n, *((100, 100, {100: n}) if n else (0, 0, {})))  # below 128 a value is its bucket
        for n in counts
    )
    return OracleRun(cpus, "ns", 10**9, work, work, {name: ones})
