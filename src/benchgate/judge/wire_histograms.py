"""Reads the histograms of a transcript, and checks them before anything uses them. Pure.

Takes the `hist` and `bucket` lines of `benchgate docs wire`; gives each worker's histograms by name. Fails
with WireError if a line is missing, duplicated or out of order, or if the figures of a histogram contradict
each other, as they do if a value was moved from one bucket to another.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import takewhile
from types import MappingProxyType

from benchgate.base.statistics.histogram import BUCKETS, Histogram, bounds
from benchgate.base.yaml.keys import NAME
from benchgate.judge.wire_lines import WireLine

MAX_HISTOGRAMS = 4
"""One worker has at most so many: BENCH_HISTS in guest/bench.h."""

_HIST = ("worker", "name", "count", "sum", "min", "max", "places", "squares", "lines")
_BUCKET = ("worker", "name")
_KEY = re.compile(r"b(0|[1-9][0-9]{0,3})")

Histograms = Mapping[str, tuple[Histogram, ...]]
"""Each name has one histogram for each worker, in the order of their ids."""


def read(lines: Sequence[WireLine], workers: int) -> Histograms:
    """`lines`: all hist and bucket lines in their order; the first is a hist line."""
    result: list[tuple[WireLine, Histogram]] = []
    at = 0
    while at < len(lines):
        head = lines[at]
        head.need(_HIST, only=True)
        rest = list(takewhile(lambda line: line.kind == "bucket", lines[at + 1 :]))
        if len(rest) != head.number("lines"):
            raise head.fail(f"lines={head.fields['lines']}, but {len(rest)} bucket lines follow it")
        result.append((head, _histogram(head, rest)))
        at += 1 + len(rest)
    names = _names([head for head, _ in result], workers)
    return MappingProxyType(
        {name: tuple(histogram for _, histogram in result[at :: len(names)]) for at, name in enumerate(names)}
    )


def _names(heads: Sequence[WireLine], workers: int) -> list[str]:
    """The names, which are the same for every worker and in the same order."""
    names = [head.fields["name"] for head in heads if head.number("worker") == 0]
    if len(names) > MAX_HISTOGRAMS:
        raise heads[MAX_HISTOGRAMS].fail(f"a worker has at most {MAX_HISTOGRAMS} histograms")
    for head, name in zip(heads, names, strict=False):
        if not NAME.match(name) or names.count(name) > 1:
            raise head.fail(f"name={name} is not a name for a histogram, or is duplicate")
    expected = [(worker, name) for worker in range(workers) for name in names]
    for head, (worker, name) in zip(heads, expected, strict=False):
        if (head.number("worker"), head.fields["name"]) != (worker, name):
            raise head.fail(f"expected histogram {name} of worker {worker} here")
    if len(heads) != len(expected):
        raise heads[-1].fail(
            f"{workers} workers with {len(names)} histograms each have {len(expected)}, not {len(heads)}"
        )
    return names


def _histogram(head: WireLine, rest: Sequence[WireLine]) -> Histogram:
    buckets: dict[int, int] = {}
    for line in rest:
        line.need(_BUCKET)
        if any(line.fields[key] != head.fields[key] for key in _BUCKET):
            raise line.fail("it is of another histogram than the hist line before it")
        for key, count in line.numbers_after(_BUCKET).items():
            _add(line, buckets, key, count)
    histogram = Histogram(
        count=head.number("count"),
        sum=head.number("sum"),
        min=head.number("min"),
        max=head.number("max"),
        buckets=MappingProxyType(buckets),
    )
    if problem := _contradiction(histogram, head.number("places"), head.number("squares")):
        raise head.fail(f"histogram {head.fields['name']} of worker {head.fields['worker']}: {problem}")
    return histogram


def _add(line: WireLine, buckets: dict[int, int], key: str, count: int) -> None:
    number = _KEY.fullmatch(key)
    if number is None or int(number[1]) >= BUCKETS:
        raise line.fail(f"{key} is not a bucket: b0 to b{BUCKETS - 1}")
    if buckets and int(number[1]) <= next(reversed(buckets)):
        raise line.fail(f"{key} follows b{next(reversed(buckets))}: a bucket is duplicate or out of order")
    if count == 0:
        raise line.fail(f"{key}=0: an empty bucket is not printed")
    buckets[int(number[1])] = count


def _contradiction(seen: Histogram, places: int, squares: int) -> str:
    """What is wrong with these figures; empty: nothing."""
    counted = {
        "count": (seen.count, sum(seen.buckets.values())),
        "places": (places, sum(bucket * count for bucket, count in seen.buckets.items())),
        "squares": (squares, sum(bucket * bucket * count for bucket, count in seen.buckets.items())),
    }
    for name, (said, right) in counted.items():
        if said != right:
            return f"{name}={said}, but its buckets have {right}"
    if not seen.count:
        return "" if (seen.sum, seen.min, seen.max) == (0, 0, 0) else "it is empty, but its figures are not 0"
    numbers = list(seen.buckets)
    ends = (("min", seen.min, "first", bounds(numbers[0])), ("max", seen.max, "last", bounds(numbers[-1])))
    for name, value, which, (low, high) in ends:
        if not low <= value <= high:
            return f"{name}={value} is not in {low}..{high}, the {which} bucket"
    low, high = _sums(seen)
    return "" if low <= seen.sum <= high else f"sum={seen.sum}, but by its buckets it is {low} to {high}"


def _sums(seen: Histogram) -> tuple[int, int]:
    """The smallest and the largest possible sum: one value is the minimum, one is the maximum, and every
    other one is between them and in its bucket."""
    spans = [
        (max(bounds(bucket)[0], seen.min), min(bounds(bucket)[1], seen.max), count)
        for bucket, count in seen.buckets.items()
    ]
    least = sum(low * count for low, _, count in spans) + seen.max - spans[-1][0]
    most = sum(high * count for _, high, count in spans) - (spans[0][1] - seen.min)
    return least, most
