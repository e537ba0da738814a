"""The columns of CSV files as data: the form of a field, and what it means.

Data only: takes nothing and does not fail. The schemas of reports/schema are made of the
columns of each file.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class CsvColumn:
    form: str = ""
    """The pattern of its fields; empty for any text."""
    words: tuple[str, ...] = ()
    """The only fields that there are."""
    about: str = ""

    def saying(self, about: str) -> CsvColumn:
        """The same column with another meaning."""
        return replace(self, about=about)


def words(found: Iterable[str]) -> CsvColumn:
    return CsvColumn(words=tuple(map(str, found)))


ANY = CsvColumn()
WORD = CsvColumn(".")
POSITIVE = CsvColumn("^[1-9][0-9]*$")
NUMBER = CsvColumn("^[0-9]+$")
PARAMS = CsvColumn(
    "^('?[^;=]+=[^;=]*(;[^;=]+=[^;=]*)*)?$",
    about='name=value, joined by `;`; , ; = " and % are percent-encoded',
)
RUN = POSITIVE.saying("counts every attempt of the session from 1")
