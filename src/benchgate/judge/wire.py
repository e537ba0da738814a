"""Parser for the wire format, version 1 (docs/wire.md). Pure.

Takes the bytes of a console and the nonce of the run; gives a complete `Transcript`. Fails with WireError,
which names the line of the console and what is wrong with it. The console is untrusted, and values are never
evaluated. Lines without a frame are log and are ignored.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from benchgate.base.errors import VerifyError
from benchgate.base.runs import WorkerReport
from benchgate.base.text import one_line

MAX_CONSOLE_BYTES = 16 * 2**20
MAX_LINE_BYTES = 511
"""Without its line ending; with the newline it is 512."""
MAX_WORKERS = 64

_PREFIX = b"@bench "
_MARKER = b"@bench"
_FRAMED = re.compile(rb"@bench ([a-z]{1,16})((?: [a-z][a-z0-9_]*=[A-Za-z0-9_.:+-]{1,64})+)")
_CRC = re.compile(rb"(.*) crc=([0-9a-f]{8})", re.DOTALL)
_DECIMAL = re.compile(r"0|[1-9][0-9]{0,19}")
_HEX = re.compile(r"0x[0-9a-f]{16}")
_FAILURE = re.compile(rb"^(?:benchfail:|panic:)|Kernel panic", re.MULTILINE)

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
"""The kinds that may follow each kind, in the order of the table in docs/wire.md."""


class WireError(VerifyError):
    """The console is not one complete transcript of this run."""


@dataclass(frozen=True, slots=True)
class Measure:
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
    measures: tuple[Measure, ...]
    balances: tuple[Balance, ...]


@dataclass(frozen=True, slots=True)
class _Line:
    """One framed line with a valid frame."""

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
            raise self.fail(f"{key}={text} is not a number of the wire format")
        return int(text)

    def bounded(self, key: str, limit: int) -> int:
        value = self.number(key)
        if value >= limit:
            raise self.fail(f"{key}={value} is not below {limit}")
        return value

    def need(self, keys: tuple[str, ...], *, only: bool = False) -> None:
        """Requires these fields first, in this order; `only` forbids further fields."""
        have = tuple(self.fields)
        if have[: len(keys)] != keys:
            raise self.fail(f"its fields must begin with `{' '.join(keys)}`")
        if only and have != keys:
            raise self.fail(f"it has more fields than `{' '.join(keys)}`")

    def numbers_after(self, keys: tuple[str, ...]) -> Mapping[str, int]:
        rest = list(self.fields)[len(keys) :]
        return MappingProxyType({key: self.number(key) for key in rest})


def parse(console: bytes, *, nonce: str) -> Transcript:
    """The transcript of this run. A missing, truncated, duplicate or reordered line is a WireError."""
    if len(console) > MAX_CONSOLE_BYTES:
        raise WireError(f"the console has {len(console)} bytes; more than {MAX_CONSOLE_BYTES} are not read")
    lines = []
    kind = ""
    for line in _framed(console, nonce):
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
    found = list(_FAILURE.finditer(console[-MAX_CONSOLE_BYTES:]))
    if not found:
        return ""
    return one_line(console[-MAX_CONSOLE_BYTES:][found[-1].start() :].split(b"\n", 1)[0])


def _unfinished(console: bytes, kind: str) -> str:
    if failure := failure_line(console):
        return f"the run did not finish; the guest printed `{failure}`"
    if not kind:
        return "the console has no @bench line: the workload did not report"
    return f"the console ends after its {kind} line; the end line is missing"


def _framed(console: bytes, nonce: str) -> Iterator[_Line]:
    """The framed lines in order, without seq and crc. The begin line is checked at once, for its nonce."""
    pieces = console.split(b"\n")
    seq = 0
    for where, piece in enumerate(pieces, 1):
        if _MARKER not in piece:
            continue
        if where == len(pieces):
            raise WireError(f"console line {where}: it is truncated: it has no line ending")
        line = _frame(piece.removesuffix(b"\r"), where)
        if line.number("seq") != seq:
            raise line.fail(
                f"seq={line.fields['seq']}, expected {seq}: a line is missing, duplicate or out of order"
            )
        seq += 1
        line = _Line(where, line.kind, {k: v for k, v in line.fields.items() if k not in ("seq", "crc")})
        if line.kind == "begin":
            _check_begin(line, nonce)
        yield line


def _frame(piece: bytes, where: int) -> _Line:
    """Checks the CRC first, so that a later error is a mistake of the writer and not a damaged line."""
    at = f"console line {where}"
    if not piece.startswith(_PREFIX) or piece.count(_MARKER) > 1:
        raise WireError(
            f"{at}: `@bench` inside a line: the output of two writers is mixed, or a line is truncated"
        )
    if len(piece) > MAX_LINE_BYTES:
        raise WireError(f"{at}: it has {len(piece)} bytes; at most {MAX_LINE_BYTES} are allowed")
    sealed = _CRC.fullmatch(piece)
    if sealed is None:
        raise WireError(f"{at}: it does not end with a CRC: it is truncated, or mixed with other output")
    if zlib.crc32(sealed[1]) != int(sealed[2], 16):
        raise WireError(f"{at}: its CRC does not match: it was changed, truncated or mixed with other output")
    framed = _FRAMED.fullmatch(piece)
    if framed is None:
        raise WireError(
            f"{at}: it is not `@bench KIND key=value ...` with single spaces and short plain words"
        )
    kind = framed[1].decode("ascii")
    pairs = [word.split("=", 1) for word in framed[2].decode("ascii").split()]
    line = _Line(where, kind, dict(pairs))
    if len(line.fields) != len(pairs):
        raise line.fail("duplicate key")
    if kind not in _AFTER:
        raise line.fail("unknown kind of line")
    if [key for key, _ in pairs[-2:]] != ["seq", "crc"]:
        raise line.fail("seq and crc must be the last fields")
    return line


def _check_begin(line: _Line, nonce: str) -> None:
    line.need(_BEGIN)
    if line.fields["v"] != "1":
        raise line.fail(f"unknown wire format version {line.fields['v']}; this program reads version 1")
    if line.fields["nonce"] != nonce:
        raise line.fail(
            f"nonce {line.fields['nonce']} is not this run's {nonce}: this is the console of another run"
        )


def _transcript(lines: list[_Line]) -> Transcript:
    begin = lines[0]
    workers = [line for line in lines if line.kind == "worker"]
    window, result, foreign = lines[len(workers) + 1 : len(workers) + 4]
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
        raise line.fail(f"id={line.fields['id']}, expected worker {number}")
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
