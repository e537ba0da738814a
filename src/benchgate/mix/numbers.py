"""Numbers as exact fractions, from texts that may come from anywhere. Pure.

Takes a text; gives a Fraction. Fails with ValueError. Digits and exponents are bounded before anything is
computed: the fraction of `1e999999999` would fill the memory.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Annotated

from benchgate.base.jsonfields import As

_WRITTEN = re.compile(
    r"[+-]?([0-9]{1,40}(\.[0-9]{0,40})?|\.[0-9]{1,40})([eE][+-]?[0-9]{1,2})?\Z|[+-]?[0-9]{1,40}/[0-9]{1,40}\Z"
)
_KEPT = re.compile(r"-?[0-9]{1,300}(/[0-9]{1,300})?\Z")


def written(word: str) -> Fraction:
    """By people and other programs: `0.8`, `.5`, `1e+16`, `1/3`."""
    return _fraction(word, _WRITTEN)


def kept(word: str) -> Fraction:
    """As `str` writes a Fraction, in files of a study."""
    return _fraction(word, _KEPT)


Kept = Annotated[Fraction, As(str, kept, str)]


def _fraction(word: str, pattern: re.Pattern[str]) -> Fraction:
    try:
        if pattern.match(word):
            return Fraction(word)
    except ZeroDivisionError:
        pass
    raise ValueError(f"{word!r:.60} is no number")
