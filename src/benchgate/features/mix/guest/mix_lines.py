"""Splits the console of a mix into what its conductor says and what each run of a part printed. Pure.

Takes the bytes of a console and the nonce of the run; gives a `MixTranscript`, parsed but not verified (see
mix_verify.py). The format is in `benchgate docs wire`. Fails with WireError, which names the line of the
console and what is wrong with it. The console is untrusted; what a part printed is in output lines only, so
it can be no line of the conductor.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType

from benchgate.features.mix.guest.mix_runs import PART_USES
from benchgate.judge import wire_lines
from benchgate.judge.wire import MAX_CONSOLE_BYTES, failure_line
from benchgate.judge.wire_lines import WireError, WireLine, framed

ENDED = ("least", "limit", "full", "stopped")
KINDS = ("program", "dummy")
LIMITS = ("cpu_us", "period_us", "memory", "disk", "network")
_TEXTS = ("v", "nonce", "system", "workload", "mode")
_BEGIN = (*_TEXTS, "workers", "online", "unit", "hz", "least", "limit_ms", "memory_bytes")
_PART = ("id", "kind", "runs", "oom_kills", *LIMITS)
_USE = ("id", "name", "value", "why", "error")
_RUN = ("id", "run", "start", "end", "exit", "bytes")
_WINDOW = ("start", "end", "ended")
_AFTER: Mapping[str, tuple[str, ...]] = {
    "": ("begin",),
    "begin": ("part",),
    "part": ("use",),
    "use": ("use", "part", "run", "window"),
    "run": ("output", "run", "window"),
    "output": ("output", "run", "window"),
    "window": ("foreign",),
    "foreign": ("end",),
    "end": (),
}


@dataclass(frozen=True, slots=True)
class UseReading:
    value: int | None
    why: str
    """Why there is no value: a word of the conductor's, or `na`."""
    error: int


@dataclass(frozen=True, slots=True)
class PartLine:
    kind: str
    oom_kills: int | None
    limits: Mapping[str, int | None]
    """The limits that its control group has."""
    uses: Mapping[str, UseReading]


@dataclass(frozen=True, slots=True)
class PartExecution:
    part: int
    number: int
    start: int
    end: int
    exit: int
    size: int
    text: bytes
    """What it printed; shorter than `size` if that is too much."""


@dataclass(frozen=True, slots=True)
class MixTranscript:
    system: str
    online: int
    least: int
    limit_ms: int
    memory_bytes: int
    parts: tuple[PartLine, ...]
    runs: tuple[PartExecution, ...]
    start: int
    end: int
    ended: str
    foreign: int | None


def parse(console: bytes, *, nonce: str) -> MixTranscript:
    if len(console) > MAX_CONSOLE_BYTES:
        raise WireError(f"the console has {len(console)} bytes; more than {MAX_CONSOLE_BYTES} are not read")
    lines: list[WireLine] = []
    for line in framed(console):
        before = lines[-1].kind if lines else ""
        if line.kind not in _AFTER[before]:
            expected = " or ".join(_AFTER[before]) or "nothing more"
            raise line.fail(f"out of order: expected {expected} after {before or 'the start'}")
        lines.append(line)
    if not lines or lines[-1].kind != "end":
        failure = failure_line(console)
        raise WireError(f"the run did not finish{failure and f'; the guest printed `{failure}`'}")
    lines[-1].need(("lines",), only=True)
    if lines[-1].number("lines") != len(lines) - 1:
        raise lines[-1].fail(f"lines={lines[-1].number('lines')}, but there are {len(lines) - 1} before it")
    return _transcript(lines, nonce)


def _transcript(lines: Sequence[WireLine], nonce: str) -> MixTranscript:
    begin, window, foreign = lines[0], lines[-3], lines[-2]
    _check_begin(begin, nonce)
    window.need(_WINDOW, only=True)
    foreign.need(("time",), only=True)
    if window.fields["ended"] not in ENDED:
        raise window.fail(f"ended={window.fields['ended']} is none of {', '.join(ENDED)}")
    parts = tuple(_parts(lines))
    if len(parts) != begin.number("workers"):
        raise begin.fail(f"workers={begin.number('workers')}, but there are {len(parts)} part lines")
    return MixTranscript(
        system=begin.fields["system"],
        online=begin.number("online"),
        least=begin.number("least"),
        limit_ms=begin.number("limit_ms"),
        memory_bytes=begin.number("memory_bytes"),
        parts=parts,
        runs=tuple(_runs(lines, len(parts))),
        start=window.bounded("start", 2**63),
        end=window.bounded("end", 2**63),
        ended=window.fields["ended"],
        foreign=_or_na(foreign, "time"),
    )


def _check_begin(line: WireLine, nonce: str) -> None:
    line.need(_BEGIN, only=True)
    asked = {"v": "2", "nonce": nonce, "workload": "mix", "mode": "process", "unit": "ns"}
    for key, value in asked.items():
        if line.fields[key] != value:
            raise line.fail(f"{key}={line.fields[key]}, expected {value}: this is the console of another run")
    if line.number("hz") != 1_000_000_000:
        raise line.fail("hz is not how many ns a second has")


def _parts(lines: Sequence[WireLine]) -> Iterator[PartLine]:
    heads = [place for place, line in enumerate(lines) if line.kind == "part"]
    for number, place in enumerate(heads):
        head, uses = lines[place], lines[place + 1 : place + 1 + len(PART_USES)]
        head.need(_PART, only=True)
        if head.number("id") != number or head.fields["kind"] not in KINDS:
            raise head.fail(f"it is not part {number}, a {' or a '.join(KINDS)}")
        head.number("runs")
        yield PartLine(
            kind=head.fields["kind"],
            oom_kills=_or_na(head, "oom_kills"),
            limits=MappingProxyType({name: _or_na(head, name) for name in LIMITS}),
            uses=MappingProxyType(dict(_use(line, number, name) for line, name in _paired(head, uses))),
        )


def _paired(head: WireLine, uses: Sequence[WireLine]) -> list[tuple[WireLine, str]]:
    if [line.kind for line in uses] != ["use"] * len(PART_USES):
        raise head.fail(f"it is not followed by a use line for each of {', '.join(PART_USES)}")
    return list(zip(uses, PART_USES, strict=True))


def _use(line: WireLine, part: int, name: str) -> tuple[str, UseReading]:
    line.need(_USE, only=True)
    if line.number("id") != part or line.fields["name"] != name:
        raise line.fail(f"it is not {name} of part {part}")
    return name, UseReading(_or_na(line, "value"), line.fields["why"], line.bounded("error", 4096))


def _runs(lines: Sequence[WireLine], parts: int) -> Iterator[PartExecution]:
    heads = [place for place, line in enumerate(lines) if line.kind == "run"]
    window = len(lines) - 3
    for place, following in pairwise([*heads, window]):
        head = lines[place]
        head.need(_RUN, only=True)
        yield PartExecution(
            part=head.bounded("id", parts),
            number=head.bounded("run", 2**32),
            start=head.bounded("start", 2**63),
            end=head.bounded("end", 2**63),
            exit=head.bounded("exit", 256),
            size=head.bounded("bytes", 2**32),
            text=wire_lines.read_output(lines[place + 1 : following]),
        )


def _or_na(line: WireLine, key: str) -> int | None:
    return None if line.fields[key] == "na" else line.bounded(key, 2**63)
