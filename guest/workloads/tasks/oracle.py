"""The correct answers of tasks.c: sums of a linear congruential sequence, in closed form.

Takes the parameters and reports of a run; gives nothing if they are correct, else fails with VerifyError.
`grain` steps x -> x * A + C are equivalent to one step x -> x * A' + C'. A worker's sum is therefore A' times
the sum of its step numbers plus C' times their count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchgate import ParamValue, WorkerReport, equal_cost, expect, ranges, whole

A, C = 6364136223846793005, 1442695040888963407
_MODULUS = 2**64


def powered(grain: int) -> tuple[int, int]:
    """(A', C') for `grain` steps, by repeated squaring of the map."""
    multiplier, addend = 1, 0
    square_multiplier, square_addend = A, C
    while grain:
        if grain & 1:
            multiplier, addend = (
                multiplier * square_multiplier % _MODULUS,
                (addend * square_multiplier + square_addend) % _MODULUS,
            )
        square_multiplier, square_addend = (
            square_multiplier * square_multiplier % _MODULUS,
            (square_addend * square_multiplier + square_addend) % _MODULUS,
        )
        grain >>= 1
    return multiplier, addend


def share(lo: int, hi: int, grain: int) -> int:
    """The sum over the steps lo..hi-1."""
    multiplier, addend = powered(grain)
    numbers = (lo + hi - 1) * (hi - lo) // 2
    return (multiplier * numbers + addend * (hi - lo)) % _MODULUS


def check(
    params: Mapping[str, ParamValue], reports: Sequence[WorkerReport], result: Mapping[str, int]
) -> None:
    steps, grain = whole(params, "steps"), whole(params, "grain")
    for report, (lo, hi) in zip(reports, ranges(reports, 0, steps), strict=True):
        correct = {"lo": lo, "hi": hi, "steps": hi - lo, "sum": share(lo, hi, grain)}
        expect(f"worker {report.id}", report.values, correct)
    expect("the result", result, {"steps": steps, "sum": share(0, steps, grain)})
    equal_cost(reports, "steps", grain=1)
