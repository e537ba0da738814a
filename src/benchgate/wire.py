"""Parser of what guests print: docs/wire.md, version 1. Pure; never trusts its input.

Takes the bytes of a console and the nonce that the host asked for, gives a `Transcript`. Fails with
WireError, which names the console's line and what is wrong with it; a transcript is whole or there is none.
Between the framed lines anything may stand, it is log. No value is ever evaluated.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from benchgate.errors import VerifyError
from benchgate.model import WorkerReport

MAX_CONSOLE_BYTES = 16 * 2**20
MAX_LINE_BYTES = 511
"""Without its line ending; the newline makes it 512."""
MAX_WORKERS = 64

_PREFIX = b"@bench "
_TRACE = b"@bench"
_FRAMED = re.compile(rb"@bench ([a-z]{1,16})((?: [a-z][a-z0-9_]*=[A-Za-z0-9_.:+-]{1,64})+)")
_CRC = re.compile(rb"(.*) crc=([0-9a-f]{8})", re.DOTALL)
_DECIMAL = re.compile(r"0|[1-9][0-9]{0,19}")
_HEX = re.compile(r"0x[0-9a-f]{16}")
_TROUBLE = re.compile(rb"^(?:benchfail:|panic:)|Kernel panic", re.MULTILINE)

_BEGIN = ("v", "nonce", "system", "workload", "mode", "workers", "online", "unit")
_WORKER = ("id", "cpu", "cpu_end", "start", "end")
_WINDOW = ("work_start", "work_end", "total_start", "total_end")
_MEASURE = ("phase", "cpu", "name", "value")
_BALANCE = ("name", "left", "right")
_AFTER = {
    "": ("begin",),
    "begin": ("worker",),
    "worker": ("worker", "window"),
    "window": ("result",),
    "result": ("foreign",),
    "foreign": ("measure", "balance", "end"),
    "measure": ("measure", "balance", "end"),
    "balance": ("balance", "end"),
    "end": (),
}
"""Which kinds may follow a kind; the order of the table in docs/wire.md."""


class WireError(VerifyError):
    """A console that is not one whole transcript of this run."""


@dataclass(frozen=True, slots=True)
class Measure:
    """One bucket of attribution; None where the system has no such bucket."""

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
    """All that one run said of itself, in types. Whether it is true is for `verify` to find out."""

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
    """None where the system cannot tell."""
    measures: tuple[Measure, ...]
    balances: tuple[Balance, ...]


@dataclass(frozen=True, slots=True)
class _Line:
    """One framed line whose frame is right: CRC, grammar and sequence number."""

    where: int
    kind: str
    fields: Mapping[str, str]

    def fail(self, why: str) -> WireError:
        return WireError(f"console line {self.where} ({self.kind}): {why}")

    def number(self, key: str) -> int:
        """A field as a number below 2^64."""
        text = self.fields[key]
        if _HEX.fullmatch(text):
            return int(text, 16)
        if not _DECIMAL.fullmatch(text) or int(text) >= 2**64:
            raise self.fail(f"{key}={text} is not a number as the wire writes them")
        return int(text)

    def bounded(self, key: str, limit: int) -> int:
        value = self.number(key)
        if value >= limit:
            raise self.fail(f"{key}={value} is not below {limit}")
        return value

    def need(self, keys: tuple[str, ...], *, only: bool = False) -> None:
        """The fields of a kind come first and in order; `only` forbids any further ones."""
        have = tuple(self.fields)
        if have[: len(keys)] != keys:
            raise self.fail(f"its fields must begin with `{' '.join(keys)}`")
        if only and have != keys:
            raise self.fail(f"it has more fields than `{' '.join(keys)}`")

    def numbers_after(self, keys: tuple[str, ...]) -> Mapping[str, int]:
        rest = list(self.fields)[len(keys) :]
        return MappingProxyType({key: self.number(key) for key in rest})


def parse(console: bytes, *, nonce: str) -> Transcript:
    """The one transcript of this run. Anything missing, torn, doubled or reordered is a WireError."""
    if len(console) > MAX_CONSOLE_BYTES:
        raise WireError(f"the console has {len(console)} bytes; more than {MAX_CONSOLE_BYTES} are not read")
    lines = []
    kind = ""
    for line in _framed(console, nonce):
        if line.kind not in _AFTER[kind]:
            due = " or ".join(_AFTER[kind]) or "nothing more"
            raise line.fail(f"out of order: after {kind or 'the start'} comes {due}")
        kind = line.kind
        lines.append(line)
    if kind != "end":
        raise WireError(_unfinished(console, kind))
    end = lines[-1]
    end.need(("lines",), only=True)
    if end.number("lines") != len(lines) - 1:
        raise end.fail(f"it counts {end.number('lines')} lines before it, but there are {len(lines) - 1}")
    return _transcript(lines)


def trouble(console: bytes) -> str:
    """The last log line with which a guest gave up, made safe to show; empty where there is none."""
    found = list(_TROUBLE.finditer(console[-MAX_CONSOLE_BYTES:]))
    if not found:
        return ""
    text = console[-MAX_CONSOLE_BYTES:][found[-1].start() :].split(b"\n", 1)[0][:160]
    return "".join(chr(byte) if 32 <= byte < 127 else "?" for byte in text.rstrip(b"\r"))


def _unfinished(console: bytes, kind: str) -> str:
    said = trouble(console)
    if said:
        return f"the run did not finish; the guest said `{said}`"
    if not kind:
        return "the console holds no @bench line: the workload never reported"
    return f"the console ends after its {kind} line: the end line is missing"


def _framed(console: bytes, nonce: str) -> Iterator[_Line]:
    """The framed lines in order, each with a good frame; the nonce is looked at as soon as it is there."""
    pieces = console.split(b"\n")
    seq = 0
    for where, piece in enumerate(pieces, 1):
        if _TRACE not in piece:
            continue
        if where == len(pieces):
            raise WireError(f"console line {where}: it is cut off before its line ending")
        line = _frame(piece.removesuffix(b"\r"), where)
        if line.number("seq") != seq:
            raise line.fail(
                f"seq={line.fields['seq']} where {seq} was due: a line is missing, doubled or out of order"
            )
        seq += 1
        line = _Line(where, line.kind, {k: v for k, v in line.fields.items() if k not in ("seq", "crc")})
        if line.kind == "begin":
            _check_begin(line, nonce)
        yield line


def _frame(piece: bytes, where: int) -> _Line:
    """CRC first: after it, whatever is wrong was written so and not damaged on the way."""
    at = f"console line {where}"
    if not piece.startswith(_PREFIX) or piece.count(_TRACE) > 1:
        raise WireError(f"{at}: `@bench` inside a line: two writers got mixed, or a line is torn")
    if len(piece) > MAX_LINE_BYTES:
        raise WireError(f"{at}: it has {len(piece)} bytes; at most {MAX_LINE_BYTES} are allowed")
    sealed = _CRC.fullmatch(piece)
    if sealed is None:
        raise WireError(f"{at}: it does not end with a CRC: it is torn, or other output got into it")
    if zlib.crc32(sealed[1]) != int(sealed[2], 16):
        raise WireError(f"{at}: its CRC does not match: it was changed, torn or mixed with other output")
    framed = _FRAMED.fullmatch(piece)
    if framed is None:
        raise WireError(
            f"{at}: it is not `@bench KIND key=value ...` with single spaces and short plain words"
        )
    kind = framed[1].decode("ascii")
    pairs = [word.split("=", 1) for word in framed[2].decode("ascii").split()]
    line = _Line(where, kind, dict(pairs))
    if len(line.fields) != len(pairs):
        raise line.fail("a key stands twice")
    if kind not in _AFTER:
        raise line.fail("there is no such kind of line")
    if [key for key, _ in pairs[-2:]] != ["seq", "crc"]:
        raise line.fail("seq and crc must be its last fields")
    return line


def _check_begin(line: _Line, nonce: str) -> None:
    line.need(_BEGIN)
    if line.fields["v"] != "1":
        raise line.fail(f"wire format {line.fields['v']} is not known; this program reads version 1")
    if line.fields["nonce"] != nonce:
        raise line.fail(f"nonce {line.fields['nonce']} is not this run's {nonce}: another run's console")


def _transcript(lines: list[_Line]) -> Transcript:
    begin = lines[0]
    workers = [line for line in lines if line.kind == "worker"]
    window, result, foreign = lines[len(workers) + 1 : len(workers) + 4]
    count = begin.bounded("workers", MAX_WORKERS + 1)
    if len(workers) != count:
        raise begin.fail(f"workers={count}, but {len(workers)} reported")
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
        params=MappingProxyType(dict(list(text.items())[len(_BEGIN) :])),
        reports=tuple(_report(line, number) for number, line in enumerate(workers)),
        work_start=work_start,
        work_end=work_end,
        total_start=total_start,
        total_end=total_end,
        result=result.numbers_after(()),
        foreign=_or_na(foreign, "time", 2**63),
        measures=tuple(_measure(line) for line in lines if line.kind == "measure"),
        balances=tuple(_balance(line) for line in lines if line.kind == "balance"),
    )


def _report(line: _Line, number: int) -> WorkerReport:
    line.need(_WORKER)
    if line.number("id") != number:
        raise line.fail(f"id={line.fields['id']} where worker {number} was due")
    return WorkerReport(
        id=number,
        cpu=line.bounded("cpu", 2**16),
        cpu_end=line.bounded("cpu_end", 2**16),
        start=line.bounded("start", 2**63),
        end=line.bounded("end", 2**63),
        values=line.numbers_after(_WORKER),
    )


def _or_na(line: _Line, key: str, limit: int = 2**64) -> int | None:
    return None if line.fields[key] == "na" else line.bounded(key, limit)


def _measure(line: _Line) -> Measure:
    line.need(_MEASURE, only=True)
    return Measure(line.fields["phase"], _or_na(line, "cpu"), line.fields["name"], _or_na(line, "value"))


def _balance(line: _Line) -> Balance:
    line.need(_BALANCE, only=True)
    return Balance(line.fields["name"], line.number("left"), line.number("right"))
