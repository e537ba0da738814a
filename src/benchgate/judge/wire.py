"""Parser for the wire format, versions 1 and 2 (`benchgate docs wire`). Pure.

Takes the bytes of a console and the nonce of the run; gives a complete `Transcript`. Fails with WireError,
which names the line of the console and what is wrong with it. The console is untrusted, and values are never
evaluated. Lines without a frame are log and are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from benchgate.base.runs import WorkerReport
from benchgate.base.text import one_line
from benchgate.base.workload.metrics import SECOND_NS
from benchgate.judge import wire_histograms, wire_lines
from benchgate.judge.wire_histograms import Histograms
from benchgate.judge.wire_lines import WireError, WireLine, framed

MAX_CONSOLE_BYTES = 16 * 2**20
MAX_WORKERS = 64
MAX_HZ = 10_000_000_000
"""No CPU has a counter faster than 10 GHz."""

_FAILURE = re.compile(rb"^(?:benchfail:|panic:)|Kernel panic", re.MULTILINE)

_BEGIN = ("v", "nonce", "system", "workload", "mode", "workers", "online", "unit")
_BEGIN_OF = {"1": _BEGIN, "2": (*_BEGIN, "hz")}
"""The fields before the parameters, by version."""
_WORKER = ("id", "cpu", "cpu_end", "start", "end")
_WINDOW = ("work_start", "work_end", "total_start", "total_end")
_MEASURE = ("phase", "cpu", "name", "value")
_BALANCE = ("name", "left", "right")
_AFTER = {
    "": ("begin",),
    "begin": ("worker",),
    "worker": ("worker", "hist", "window"),
    "hist": ("hist", "bucket", "window"),
    "bucket": ("hist", "bucket", "window"),
    "window": ("output", "result"),
    "output": ("output", "result"),
    "result": ("foreign",),
    "foreign": ("measure", "balance", "end"),
    "measure": ("measure", "balance", "end"),
    "balance": ("balance", "end"),
    "end": (),
}
"""The kinds that may follow each kind, in the order of the table in `benchgate docs wire`."""


@dataclass(frozen=True, slots=True)
class AttributionBucket:
    """One bucket of attribution; None if the system does not have this bucket."""

    phase: str
    cpu: int | None
    name: str
    value: int | None


@dataclass(frozen=True, slots=True)
class Balance:
    name: str
    left: int
    right: int


@dataclass(frozen=True, slots=True)
class Transcript:
    """Everything that one run reported, parsed but not verified (see verify.py)."""

    system: str
    workload: str
    mode: str
    workers: int
    online: int
    unit: str
    params: Mapping[str, str]
    reports: tuple[WorkerReport, ...]
    work_start: int
    work_end: int
    total_start: int
    total_end: int
    result: Mapping[str, int]
    foreign: int | None
    """None if the system cannot count it."""
    measures: tuple[AttributionBucket, ...]
    balances: tuple[Balance, ...]
    hz: int | None = None
    """How many of `unit` are a second; None: a guest of version 1 that counts cycles does not say."""
    histograms: Histograms = field(default_factory=dict)
    output: bytes = b""
    """What an existing program printed."""


def parse(console: bytes, *, nonce: str) -> Transcript:
    """The transcript of this run. A missing, truncated, duplicate or reordered line is a WireError."""
    if len(console) > MAX_CONSOLE_BYTES:
        raise WireError(f"the console has {len(console)} bytes; more than {MAX_CONSOLE_BYTES} are not read")
    lines = []
    kind = ""
    for line in framed(console):
        if line.kind not in _AFTER:
            raise line.fail("unknown kind of line")
        if line.kind == "begin":  # at once, because a wrong nonce explains whatever else is wrong
            _check_begin(line, nonce)
        if line.kind not in _AFTER[kind]:
            expected = " or ".join(_AFTER[kind]) or "nothing more"
            raise line.fail(f"out of order: expected {expected} after {kind or 'the start'}")
        kind = line.kind
        lines.append(line)
    if kind != "end":
        raise WireError(_unfinished(console, kind))
    end = lines[-1]
    end.need(("lines",), only=True)
    if end.number("lines") != len(lines) - 1:
        raise end.fail(f"lines={end.number('lines')}, but there are {len(lines) - 1} lines before it")
    return _transcript(lines)


def failure_line(console: bytes) -> str:
    """The last log line that reports a failure or a panic, safe to display; empty if there is none."""
    matches = list(_FAILURE.finditer(console[-MAX_CONSOLE_BYTES:]))
    if not matches:
        return ""
    return one_line(console[-MAX_CONSOLE_BYTES:][matches[-1].start() :].split(b"\n", 1)[0])


def _unfinished(console: bytes, kind: str) -> str:
    if failure := failure_line(console):
        return f"the run did not finish; the guest printed `{failure}`"
    if not kind:
        return "the console has no @bench line: the workload did not report"
    return f"the console ends after its {kind} line; the end line is missing"


def _check_begin(line: WireLine, nonce: str) -> None:
    line.need(_BEGIN)
    version = line.fields["v"]
    if version not in _BEGIN_OF:
        known = " and ".join(_BEGIN_OF)
        raise line.fail(f"unknown wire format version {version}; this program reads versions {known}")
    line.need(_BEGIN_OF[version])
    if line.fields["nonce"] != nonce:
        raise line.fail(
            f"nonce {line.fields['nonce']} is not this run's {nonce}: this is the console of another run"
        )


def _transcript(lines: list[WireLine]) -> Transcript:
    begin = lines[0]
    head = _BEGIN_OF[begin.fields["v"]]
    workers = [line for line in lines if line.kind == "worker"]
    samples = [line for line in lines if line.kind in ("hist", "bucket")]
    if samples and "hz" not in head:
        raise samples[0].fail("histograms need version 2 of the wire format")
    window, result, foreign = (line for line in lines if line.kind in ("window", "result", "foreign"))
    printed = [line for line in lines if line.kind == "output"]
    if printed and "hz" not in head:
        raise printed[0].fail("output needs version 2 of the wire format")
    count = begin.bounded("workers", MAX_WORKERS + 1)
    if len(workers) != count:
        raise begin.fail(f"workers={count}, but there are {len(workers)} worker lines")
    window.need(_WINDOW, only=True)
    foreign.need(("time",), only=True)
    text = begin.fields
    work_start, work_end, total_start, total_end = (window.bounded(key, 2**63) for key in _WINDOW)
    return Transcript(
        system=text["system"],
        workload=text["workload"],
        mode=text["mode"],
        workers=count,
        online=begin.bounded("online", 2**16),
        unit=text["unit"],
        params=MappingProxyType(dict(list(text.items())[len(head) :])),
        reports=tuple(_report(line, number) for number, line in enumerate(workers)),
        work_start=work_start,
        work_end=work_end,
        total_start=total_start,
        total_end=total_end,
        result=result.numbers_after(()),
        foreign=_or_na(foreign, "time", 2**63),
        measures=tuple(_measure(line) for line in lines if line.kind == "measure"),
        balances=tuple(_balance(line) for line in lines if line.kind == "balance"),
        hz=_hz(begin, is_said="hz" in head),
        histograms=wire_histograms.read(samples, count),
        output=wire_lines.read_output(printed),
    )


def _hz(begin: WireLine, *, is_said: bool) -> int | None:
    """A parameter of version 1 may have this name too."""
    of_ns = SECOND_NS if begin.fields["unit"] == "ns" else None
    if not is_said:
        return of_ns
    hz = begin.bounded("hz", MAX_HZ + 1)
    if hz == 0 or of_ns not in (None, hz):
        raise begin.fail(f"hz={hz} is not how many {begin.fields['unit']} a second has")
    return hz


def _report(line: WireLine, number: int) -> WorkerReport:
    line.need(_WORKER)
    if line.number("id") != number:
        raise line.fail(f"id={line.fields['id']}, expected worker {number}")
    return WorkerReport(
        id=number,
        cpu=line.bounded("cpu", 2**16),
        cpu_end=line.bounded("cpu_end", 2**16),
        start=line.bounded("start", 2**63),
        end=line.bounded("end", 2**63),
        values=line.numbers_after(_WORKER),
    )


def _or_na(line: WireLine, key: str, limit: int = 2**64) -> int | None:
    return None if line.fields[key] == "na" else line.bounded(key, limit)


def _measure(line: WireLine) -> AttributionBucket:
    line.need(_MEASURE, only=True)
    return AttributionBucket(
        line.fields["phase"], _or_na(line, "cpu"), line.fields["name"], _or_na(line, "value")
    )


def _balance(line: WireLine) -> Balance:
    line.need(_BALANCE, only=True)
    return Balance(line.fields["name"], line.number("left"), line.number("right"))
