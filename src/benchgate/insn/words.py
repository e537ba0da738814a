"""Reads bounded texts, numbers and addresses, for all readers of the clock's files.

Takes a path, or a word of a line; gives text, or a number. Both are untrusted. Fails with VerifyError for a
file that cannot be read or is too long, with ValueError for another word.
"""

from __future__ import annotations

import re
from pathlib import Path

from benchgate.base.errors import VerifyError
from benchgate.base.files import read_start

LIMIT = 2**63
_NUMBER = re.compile(r"0|[1-9][0-9]{0,19}")
ADDRESS = re.compile(r"0|[1-9a-f][0-9a-f]{0,15}")


def number(word: str, below: int = LIMIT) -> int:
    if not _NUMBER.fullmatch(word) or int(word) >= below:
        raise ValueError(f"`{word[:40]}` is not a number below {below}")
    return int(word)


def text_of(path: Path, most: int, what: str) -> str:
    """Reads a file of at most `most` bytes. `what` is its content for messages, such as `moved lines`."""
    try:
        raw = read_start(path, most)
    except OSError as error:
        raise VerifyError(f"cannot read the {what} {path}: {error.strerror}") from error
    if len(raw) > most:
        raise VerifyError(f"{path}: a file of {what} has at most {most} bytes")
    return raw.decode("ascii", "replace")
