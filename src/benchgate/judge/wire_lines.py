"""The framed lines of a console (`benchgate docs wire`), without their meaning. Pure.

Takes the bytes of a console; gives `WireLine`s with correct frames, in order, and what an existing program
printed, from its output lines. These bytes are untrusted. Fails with WireError, which names the line of the
console and what is wrong with it.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from benchgate.base.errors import VerifyError

MAX_LINE_BYTES = 511
"""The line ending does not count; with the newline it is 512."""

_PREFIX = b"@bench "
_MARKER = b"@bench"
_FRAMED = re.compile(rb"@bench ([a-z]{1,16})((?: [a-z][a-z0-9_]*=[A-Za-z0-9_.:+-]{1,64})+)")
_CRC = re.compile(rb"(.*) crc=([0-9a-f]{8})", re.DOTALL)
_DECIMAL = re.compile(r"0|[1-9][0-9]{0,19}")
_HEX = re.compile(r"0x[0-9a-f]{16}")


class WireError(VerifyError):
    """The console is not one complete transcript of this run."""


@dataclass(frozen=True, slots=True)
class WireLine:
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


def framed(console: bytes) -> Iterator[WireLine]:
    """The framed lines in order, without seq and crc."""
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
        yield WireLine(where, line.kind, {k: v for k, v in line.fields.items() if k not in ("seq", "crc")})


def _frame(piece: bytes, where: int) -> WireLine:
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
    line = WireLine(where, kind, dict(pairs))
    if len(line.fields) != len(pairs):
        raise line.fail("duplicate key")
    if [key for key, _ in pairs[-2:]] != ["seq", "crc"]:
        raise line.fail("seq and crc must be the last fields")
    return line


# ---- what an existing program printed


MAX_BYTES = 1 << 16
_KEYS = ("a", "b", "c", "d", "e", "f")
_PIECE = re.compile(r"(?:[A-Za-z0-9_.:-]|\+[0-9a-f]{2})+")
_CODE = re.compile(rb"\+([0-9a-f]{2})")


def read_output(lines: Sequence[WireLine]) -> bytes:
    result = b""
    for line in lines:
        pieces = list(line.fields)[1:]
        if not pieces or tuple(line.fields) != ("at", *_KEYS[: len(pieces)]):
            raise line.fail(f"its fields must be `at`, then some of `{' '.join(_KEYS)}` in order")
        if line.number("at") != len(result):
            raise line.fail(f"at={line.fields['at']}, but the lines before it have {len(result)} bytes")
        for key in pieces:
            result += _decoded(line, key)
        if len(result) > MAX_BYTES:
            raise line.fail(f"the program's output is longer than {MAX_BYTES} bytes")
    return result


def _decoded(line: WireLine, key: str) -> bytes:
    text = line.fields[key]
    if not _PIECE.fullmatch(text):
        raise line.fail(f"{key}={text} is not text in which `+` and two hex digits stand for a byte")
    return _CODE.sub(lambda code: bytes([int(code[1], 16)]), text.encode("ascii"))
