"""Reads what the schbench program of others prints: its text, and the JSON of its option -j.

Takes the text; gives a frozen `Output` of its last report, and sentences about what in it cannot be right.
Fails with ValueError if there is no report in it. Times are in microseconds, as that program prints them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from benchgate.base.files import read_json

WAKEUP, REQUEST, RPS = "wakeup", "request", "rps"
_KINDS = {"Wakeup Latencies": WAKEUP, "Request Latencies": REQUEST, "RPS": RPS}
_HEAD = re.compile(
    r"(Wakeup Latencies|Request Latencies|RPS) percentiles \(\w+\).*?(?:\((\d+) total samples\))?$"
)
_PERCENTILE = re.compile(r"\s*\*?\s*(\d+\.\d)th: (\d+)\s+\((\d+) samples\)$")
_ENDS = re.compile(r"\s*min=(\d+), max=(\d+)$")
_AVERAGE = re.compile(r"average rps: (\d+\.\d+)$")
_TRANSFERS = re.compile(r"avg worker transfer: (\d+\.\d+) ops/sec")
_JSON_KEY = re.compile(r"(wakeup_latency|request_latency|rps)_(?:pct(\d+\.\d)|(min|max))$")


@dataclass(frozen=True, slots=True)
class Figures:
    at: Mapping[float, int]
    """The value of each percentile."""
    min: int
    max: int
    samples: int | None = None
    """None: the output does not say."""
    counted: Mapping[float, int] = field(default_factory=dict)
    """How many samples are above the percentile before and up to this one."""


@dataclass(frozen=True, slots=True)
class Output:
    figures: Mapping[str, Figures]
    """The figures called WAKEUP, REQUEST and RPS."""
    average_rps: float | None = None
    """Also of transfers; None: the output does not say."""

    def doubts(self) -> Iterator[str]:
        """What cannot be right in it, whatever the system did."""
        for name, figures in self.figures.items():
            for percent, value in figures.at.items():
                if value > figures.max:
                    yield f"{name}: percentile {percent:g} is {value}, above the maximum {figures.max}"
            if figures.samples is not None and sum(figures.counted.values()) > figures.samples:
                counted = sum(figures.counted.values())
                yield f"{name}: its percentiles have {counted} samples, but there are {figures.samples}"
            if name == RPS and figures.at and 0 == min(figures.at.values()) < figures.min:
                yield f"{name}: a percentile is 0, below the minimum {figures.min}"


def read_text(text: str) -> Output:
    """A later report replaces the ones before it: each of them counts from the start."""
    result: dict[str, Figures] = {}
    average: float | None = None
    name, samples = "", None
    at: dict[float, int] = {}
    counted: dict[float, int] = {}
    for line in text.splitlines():
        if head := _HEAD.match(line):
            name, samples = _KINDS[head[1]], int(head[2]) if head[2] else None
            at, counted = {}, {}
        elif (match := _PERCENTILE.match(line)) and name:
            at[float(match[1])], counted[float(match[1])] = int(match[2]), int(match[3])
        elif (ends := _ENDS.match(line)) and name:
            result[name] = Figures(at, int(ends[1]), int(ends[2]), samples, counted)
            name = ""
        elif last := _AVERAGE.match(line) or _TRANSFERS.match(line):
            average = float(last[1])
    if not result:
        raise ValueError("there is no report of schbench in this text")
    return Output(result, average)


def read_json_output(text: str) -> Output:
    top = read_json(text)
    values = top.get("int") if isinstance(top, dict) else None
    if not isinstance(values, dict):
        raise ValueError(  # noqa: TRY004 - the text is wrong, not a type in the program
            "this is not the JSON of schbench: it has no object `int`"
        )
    at: dict[str, dict[float, int]] = {}
    ends: dict[str, dict[str, int]] = {}
    for key, value in values.items():
        if (parts := _JSON_KEY.match(key)) and isinstance(value, int):
            name = parts[1].removesuffix("_latency")
            if parts[2]:
                at.setdefault(name, {})[float(parts[2])] = value
            else:
                ends.setdefault(name, {})[parts[3]] = value
    result = {
        name: Figures(each, ends[name]["min"], ends[name]["max"])
        for name, each in at.items()
        if len(ends.get(name, {})) == 2
    }
    if not result:
        raise ValueError("there is no report of schbench in this JSON")
    return Output(result)
