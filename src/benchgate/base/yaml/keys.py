"""The keys of YAML files as data: the kind of each value, its default, its limits and its meaning.

Takes types and rows, gives tables; does not fail. A `Section` (yamlfile.py) reads a file by the table of its
kind and knows no other key. The pages of docs/reference and the JSON Schemas of fixtures/schema are made of
the same tables. A frozen dataclass declares the keys that its fields have by a row beside the type, as in
`cpus: Annotated[int, Integer("its CPUs", low=1)] = 4`: `table` gives them, and `Section.read` reads them.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from enum import EnumType
from types import NoneType
from typing import Any, get_args, get_type_hints

LARGEST = 2**63 - 1
NAME = re.compile(r"[a-z][a-z0-9_]{0,31}\Z")
"""A valid name of a workload, system, setting or policy."""


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
    key: str = ""
    """Its name in the file, if the field that declares it has another one."""

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


@dataclass(frozen=True)
class FilledText(Text):
    """A text in which the values of settings take the places of their names in braces."""


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


# ---- keys that a dataclass declares


@dataclass(frozen=True)
class DeclaredKey:
    """A key that a field declares."""

    key: str
    row: Key
    kind: Any
    """The class of its value, or of each value of a list."""


def _declared(kind: type) -> Mapping[str, DeclaredKey]:
    """The keys of a dataclass, by field. A row need not say what the field says: the words of an enum, the
    keys of another dataclass, and the default."""
    hints = get_type_hints(kind, include_extras=True)
    result = {}
    for field in dataclasses.fields(kind):
        hint = hints[field.name]
        row = next((rule for rule in getattr(hint, "__metadata__", ()) if isinstance(rule, Key)), None)
        if row is not None:
            has_default = row.default is not None or row.otherwise or field.default is dataclasses.MISSING
            row = row if has_default else replace(row, default=field.default)
            value = _class_in(hint.__origin__)
            result[field.name] = DeclaredKey(row.key or field.name, _of_class(row, value), value)
    return result


declared: Callable[[type], Mapping[str, DeclaredKey]] = functools.cache(_declared)


def table(kind: type) -> Table:
    """The keys of a dataclass, in the order of its fields."""
    return {one.key: one.row for one in declared(kind).values()}


def _class_in(hint: Any) -> Any:
    """The class of a value, without None; of a list that of its values."""
    inner = [one for one in get_args(hint) if one is not NoneType]
    return _class_in(inner[0]) if inner else hint


def _of_class(row: Key, kind: Any) -> Key:
    match row:
        case Choice(choices=()) if isinstance(kind, EnumType):
            return replace(row, choices=tuple(kind))
        case Block(forms=(), others=None):
            return replace(row, forms=(table(kind),))
        case Blocks(item=Block(forms=()) as item):
            return replace(row, item=replace(item, forms=(table(kind),)))
    return row
