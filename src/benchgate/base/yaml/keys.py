"""The keys of YAML files as data: the kind of each value, its default, its limits and its meaning.

Data only: takes nothing and does not fail. A `Section` (yamlfile.py) reads a file by the table of its kind
and knows no other key. The pages of docs/reference and the JSON Schemas of fixtures/schema are made of
the same tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

from benchgate.base.yaml.yaml_nodes import NAME

LARGEST = 2**63 - 1


@dataclass(frozen=True)
class Key:
    """One key of a mapping."""

    about: str
    """Its meaning, in one line."""
    _: KW_ONLY
    default: Any = None
    """Its value if the file leaves it out; None if there is no fixed one."""
    otherwise: str = ""
    """What holds if the file leaves it out and there is no fixed default; the reader knows it."""

    @property
    def is_needed(self) -> bool:
        return self.default is None and not self.otherwise


Table = Mapping[str, Key]


@dataclass(frozen=True, kw_only=True)
class Text(Key):
    """A scalar."""

    default: str | None = None
    may_be_empty: bool = False
    """Whether it may be empty although it is needed; one with a default may be."""
    form: str = ""
    """The pattern that all of it matches."""
    wrong: str = ""
    """What is said of a text that has another form, behind it; empty if the reader says it."""


@dataclass(frozen=True, kw_only=True)
class Integer(Key):
    default: int | None = None
    low: int = 0
    high: int = LARGEST


@dataclass(frozen=True, kw_only=True)
class Number(Key):
    default: float | None = None
    low: float = 0.0
    high: float = 1e12


@dataclass(frozen=True)
class Choice(Text):
    """One of some words. If there are none here, the file itself lists them."""

    choices: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Pattern(Text):
    """A regular expression."""

    groups: tuple[str, ...] = ()
    """The named groups that it must have."""


@dataclass(frozen=True, kw_only=True)
class Texts(Key):
    """A list of words."""

    default: tuple[str, ...] | None = None
    choices: Sequence[str] = ()
    """The words that are valid, if not all are. The reader refuses others."""
    what: str = "words"


@dataclass(frozen=True, kw_only=True)
class Integers(Key):
    """A list of whole numbers."""

    default: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Commands(Key):
    """A list of argument lists."""


@dataclass(frozen=True, kw_only=True)
class Block(Key):
    """A mapping. With several forms, the file has the keys of one of them."""

    forms: tuple[Table, ...] = ()
    others: Key | None = None
    """The value of each key whose name the file chooses."""
    names: str = "NAME"
    """What such a name is called."""
    allowed: Sequence[str] = ()
    """The names that are valid, if not all are. The reader refuses others."""
    is_partial: bool = False
    """Whether each key may be left out, because this mapping is put over another one."""

    def rows(self, name: str) -> Sequence[Key]:
        """The rows of a key in the tables; a value of several kinds has one for each."""
        keys = [form[name] for form in self.forms if name in form] or [*filter(None, [self.others])]
        return [kind for row in keys for kind in (row.kinds if isinstance(row, Either) else (row,))]

    def narrowed(self, name: str, word: str) -> Block:
        """Only the forms in which the key may have this word."""
        rows = ((form, form.get(name)) for form in self.forms)
        kept = (form for form, row in rows if not isinstance(row, Choice) or word in (row.choices or (word,)))
        return replace(self, forms=tuple(kept))


@dataclass(frozen=True)
class Blocks(Key):
    """A list of mappings."""

    item: Block


@dataclass(frozen=True)
class Either(Key):
    """A value of one of several kinds."""

    kinds: tuple[Key, ...]


@dataclass(frozen=True, kw_only=True)
class YamlFile(Block):
    """A kind of file."""

    name: str = ""
    """The name of its schema and of its page."""
    title: str = ""
    places: tuple[str, ...] = ()
    """Where the shipped files are, as patterns of paths."""


def name(about: str) -> Text:
    """The name of what a file describes."""
    wrong = "is not a name: lower-case letters, digits and _, beginning with a letter"
    return Text(about, form=NAME.pattern, wrong=wrong)


def each(about: str, value: Key, *, otherwise: str = "none", **more: Any) -> Block:
    """A mapping whose names the file chooses."""
    return Block(about, others=value, otherwise=otherwise, **more)
