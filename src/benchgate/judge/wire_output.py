"""What an existing program printed, from the output lines of a console (docs/wire.md). Pure.

Takes the framed lines; gives the bytes. Fails with WireError if a piece is missing, or is not what the runner
writes. The bytes are untrusted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from benchgate.judge.wire_lines import Line

MAX_BYTES = 1 << 16
_KEYS = ("a", "b", "c", "d", "e", "f")
_PIECE = re.compile(r"(?:[A-Za-z0-9_.:-]|\+[0-9a-f]{2})+")
_CODE = re.compile(rb"\+([0-9a-f]{2})")


def read(lines: Sequence[Line]) -> bytes:
    found = b""
    for line in lines:
        pieces = list(line.fields)[1:]
        if not pieces or tuple(line.fields) != ("at", *_KEYS[: len(pieces)]):
            raise line.fail(f"its fields must be `at`, then some of `{' '.join(_KEYS)}` in order")
        if line.number("at") != len(found):
            raise line.fail(f"at={line.fields['at']}, but the lines before it have {len(found)} bytes")
        for key in pieces:
            found += _decoded(line, key)
        if len(found) > MAX_BYTES:
            raise line.fail(f"the program's output is longer than {MAX_BYTES} bytes")
    return found


def _decoded(line: Line, key: str) -> bytes:
    text = line.fields[key]
    if not _PIECE.fullmatch(text):
        raise line.fail(f"{key}={text} is not text in which `+` and two hex digits stand for a byte")
    return _CODE.sub(lambda code: bytes([int(code[1], 16)]), text.encode("ascii"))
