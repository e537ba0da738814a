"""Reads an untrusted JSON object strictly: every key must be known and have the right type and range.

Takes parsed JSON; gives typed values. Fails with ValueError that names the object and the key; the caller
adds the name of the file.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import StrEnum
from typing import Any, TypeVar

MOST = 1e12
"""No valid threshold, ratio or figure is larger."""
_WORD = re.compile(r"[A-Za-z0-9_.:+-]{1,128}")
_Word = TypeVar("_Word", bound=StrEnum)


class Fields:
    """One object. `done` refuses keys that were not read."""

    def __init__(self, value: object, where: str) -> None:
        if not isinstance(value, dict):
            raise ValueError(f"{where} is not an object")  # noqa: TRY004 - the data is wrong, not an argument
        self._left: dict[str, Any] = dict(value)
        self._where = where

    def take(self, key: str, *kinds: type) -> Any:
        if key not in self._left:
            raise ValueError(f"{self._where} has no {key}")
        value = self._left.pop(key)
        if type(value) not in kinds:
            raise self._wrong(key, value, "has a wrong type")
        return value

    def drop(self, key: str) -> None:
        """Ignores a key that earlier versions wrote."""
        self._left.pop(key, None)

    def is_null(self, key: str) -> bool:
        """Whether the key is present and null. If so, it counts as read."""
        found = self._left.get(key, "") is None
        if found:
            self._left.pop(key)
        return found

    def is_absent(self, key: str, word: str) -> bool:
        """Whether the key has this word in place of a value. If so, it counts as read."""
        found = self._left.get(key) == word
        if found:
            self._left.pop(key)
        return found

    def has(self, key: str) -> bool:
        return key in self._left

    def names(self) -> tuple[str, ...]:
        """The keys that were not read yet."""
        return tuple(self._left)

    def text(self, key: str, default: str | None = None) -> str:
        if default is not None and key not in self._left:
            return default
        return str(self.take(key, str))

    def texts(self, key: str, default: tuple[str, ...] | None = None) -> tuple[str, ...]:
        if default is not None and key not in self._left:
            return default
        values = self.take(key, list)
        if not all(type(value) is str for value in values):
            raise self._wrong(key, values, "is not a list of texts")
        return tuple(values)

    def word(self, key: str, *, empty: bool = False) -> str:
        value = self.text(key)
        if not _WORD.fullmatch(value) and (value or not empty):
            raise self._wrong(key, value, "is not a plain word")
        return value

    def flag(self, key: str) -> bool:
        return bool(self.take(key, bool))

    def number(self, key: str, minimum: int = 0) -> int:
        return self._whole(key, self.take(key, int), minimum)

    def number_or_none(self, key: str) -> int | None:
        """A count from 0, or None if the value is null."""
        return None if self.is_null(key) else self.number(key)

    def numbers(self, key: str) -> tuple[int, ...]:
        return tuple(self._whole(key, value, 0) for value in self.take(key, list))

    def real(self, key: str, default: float | None = None) -> float:
        """A finite number. Python reads 1e999, which is valid JSON, as infinity."""
        if default is not None and key not in self._left:
            return default
        value = self.take(key, int, float)
        if not -MOST <= value <= MOST:
            raise self._wrong(key, value, "is not a finite number")
        return float(value)

    def real_or_none(self, key: str) -> float | None:
        return None if self.is_null(key) else self.real(key)

    def choice(self, key: str, kind: Callable[[str], _Word]) -> _Word:
        return kind(self.text(key))

    def done(self) -> None:
        if self._left:
            raise ValueError(f"{self._where} has an unknown key {min(self._left)!r}")

    def _whole(self, key: str, value: object, minimum: int) -> int:
        if type(value) is not int or not minimum <= value < 2**63:
            raise self._wrong(key, value, f"is not a whole number of at least {minimum}")
        return value

    def _wrong(self, key: str, value: object, why: str) -> ValueError:
        return ValueError(f"{self._where}: {key} {value!r:.40} {why}")
