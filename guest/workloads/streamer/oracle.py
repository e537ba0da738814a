"""The correct answers of streamer.c: all words of a pass at once, in numpy.

Takes the parameters and reports of a run; gives nothing if they are correct, else fails with VerifyError.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from benchgate import (
    ParamValue,
    WorkerReport,
    after_turns,
    equal_share,
    expect,
    random_numbers,
    total,
    whole,
)


@lru_cache(maxsize=64)
def sum_read(lo: int, hi: int, passes: int) -> int:
    """What lies at lo..hi-1 before each pass and after the last one, together."""
    words, result = random_numbers(lo, hi), 0
    for _ in range(passes):
        result += total(words)
        words = after_turns(words, 1)
    return (result + total(words)) % 2**64


def check(
    params: Mapping[str, ParamValue], reports: Sequence[WorkerReport], result: Mapping[str, int]
) -> None:
    passes = whole(params, "passes")
    words = whole(params, "array_kb") * 1024 // whole(params, "stride")
    everything = 0
    for k, report in enumerate(reports):
        lo, hi = equal_share(words, len(reports), k)
        right = sum_read(lo, hi, passes)
        correct = {"written": (hi - lo) * passes, "read": (hi - lo) * (passes + 1), "sum": right}
        expect(f"worker {report.id}", report.values, {"lo": lo, "hi": hi, **correct})
        everything += right
    expect("the result", result, {"sum": everything % 2**64})
