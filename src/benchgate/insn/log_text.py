"""The text of a file that a run left, and the numbers in it.

Takes an untrusted file or word. `text_of` fails with VerifyError, `number` with ValueError, to which its
caller adds the line.
"""

from __future__ import annotations

import re
from pathlib import Path

from benchgate.base.errors import VerifyError
from benchgate.base.files import read_start

ADDRESS = re.compile(r"0|[1-9a-f][0-9a-f]{0,15}")
_NUMBER = re.compile(r"0|[1-9][0-9]{0,19}")
_LIMIT = 2**63


def text_of(path: Path, most: int, what: str) -> str:
    """Reads a file of at most `most` bytes. `what` is its content for messages, such as `moved lines`."""
    try:
        raw = read_start(path, most)
    except OSError as error:
        raise VerifyError(f"cannot read the {what} {path}: {error.strerror}") from error
    if len(raw) > most:
        raise VerifyError(f"{path}: a file of {what} has at most {most} bytes")
    return raw.decode("ascii", "replace")


def number(word: str, below: int = _LIMIT) -> int:
    """A number of an untrusted text, in decimal digits."""
    if not _NUMBER.fullmatch(word) or int(word) >= below:
        raise ValueError(f"`{word[:40]}` is not a number below {below}")
    return int(word)


def whole_lines(text: str) -> list[str]:
    """Without an incomplete last line: QEMU died while it wrote it."""
    return text.split("\n")[: text.count("\n")]
