"""Reads a YAML file as typed values with their line numbers.

Takes a path and the table of its kind of file (keys.py), gives a `Section` for its top mapping. A getter
takes default and limits from the key's row, unless the caller knows better ones, and can read no other key.
It checks the type and marks the key as known; `close` refuses the other keys. Fails with CatalogError in the
form `file:line: key: what is wrong`: at the first problem, or inside `collecting` once for all of them. Only
plain values are read: tags and aliases are refused, and no Python object is constructed.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn, TypeVar

import yaml

from benchgate.base.errors import BenchgateError, CatalogError
from benchgate.base.text import filled, one_line, suggestion
from benchgate.base.yaml.keys import (
    Block,
    Blocks,
    Choice,
    Commands,
    DeclaredKey,
    FilledText,
    Integer,
    Integers,
    Key,
    Number,
    Pattern,
    Text,
    Texts,
    declared,
)
from benchgate.base.yaml.yaml_nodes import merged, regex, text_of, to_float, to_int, top_of

_QUOTED = re.compile(r"`([^`]{201,})`")
_STAND_IN = "0"
"""The value of a missing or invalid required scalar while problems are collected."""
SHOWN = 60
"""The most characters of a value that a message shows."""
Value = TypeVar("Value")
_Row = TypeVar("_Row", bound=Key)
_NONE: Mapping[str, str] = MappingProxyType({})


def _shortened(key: str, problem: str) -> str:
    """`KEY: PROBLEM`, in which a very long key or quoted value is shortened, but no command or pattern."""
    return f"{one_line(key)}: {_QUOTED.sub(lambda match: f'`{one_line(match[1], 60)}`', problem)}"


@dataclass(slots=True)
class Problems:
    """The problems of one file. `collected` is None while the first problem raises at once."""

    collected: list[tuple[int, str, str]] | None = None
    """Line, key and problem; each key at most once, because a second problem may come from the stand-in."""
    guessed: list[str] = field(default_factory=list)
    """Prefixes of the sections in which a choice was refused. The choice may decide which other keys are
    valid, so unknown keys are not reported there."""

    def add(self, line: int, key: str, problem: str) -> bool:
        """Adds a problem; False if problems are not collected."""
        if self.collected is None:
            return False
        if not self.has(key):
            self.collected.append((line, key, problem))
        return True

    def has(self, key: str) -> bool:
        return any(key == known for _, known, _ in self.collected or ())

    def text(self, path: Path) -> str:
        lines = [
            f"{path}:{line}: {_shortened(key, problem)}"
            for line, key, problem in sorted(self.collected or [])
        ]
        return lines[0] if len(lines) == 1 else "\n  ".join([f"{path}: {len(lines)} problems:", *lines])


def load(path: Path, kind: Block) -> Section:
    """The file's top mapping."""
    return parse(text_of(path), path, kind)


def parse(text: str, path: Path, kind: Block) -> Section:
    """The same for text that was read before; messages name `path`."""
    return of_node(top_of(text, path), path, kind)


def of_node(node: yaml.MappingNode, path: Path, kind: Block) -> Section:
    return Section(path, node, "", kind)


@contextlib.contextmanager
def collecting(top: Section) -> Iterator[Section]:
    """The file's top mapping, whose problems are collected inside the block and raised together at its end. A
    key that is refused there has a stand-in value: the default, or an empty one. `top` is closed too."""
    problems = top.problems
    problems.collected = []
    try:
        yield top
        top.close()
    except BenchgateError:  # also what follows from a stand-in, such as a setting without choices
        if not problems.collected:
            raise
    if problems.collected:
        raise CatalogError(problems.text(top.path)) from None


class Section:
    """One mapping of the file."""

    def __init__(
        self, path: Path, node: yaml.MappingNode, prefix: str, block: Block, problems: Problems | None = None
    ) -> None:
        self.path = path
        self.problems = problems or Problems()
        self.line = node.start_mark.line + 1
        self._node = node
        self._prefix = prefix
        self._block = block
        self._nodes: dict[str, yaml.Node] = {}
        self._lines: dict[str, int] = {}
        self._asked: set[str] = set()
        for key, value in node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else str(key.tag)
            line = key.start_mark.line + 1
            if name in self._nodes:
                self.refuse(f"is duplicated (first on line {self._lines[name]})", name, line)
            self._nodes[name], self._lines[name] = value, line

    def fail(self, problem: str, key: str = "", line: int = 0) -> NoReturn:
        """Refuses a key without which the rest cannot be read."""
        at = line or self._lines.get(key, self.line)
        name = f"{self._prefix}{key}" or "(top)"
        self.problems.add(at, name, problem)
        raise CatalogError(f"{self.path}:{at}: {_shortened(name, problem)}")

    def refuse(self, problem: str, key: str = "", line: int = 0) -> None:
        """Refuses a key. Inside `collecting` the caller goes on, with a stand-in for its value."""
        at = line or self._lines.get(key, self.line)
        if not self.problems.add(at, f"{self._prefix}{key}" or "(top)", problem):
            self.fail(problem, key, line)

    def refused(self, key: str) -> bool:
        """Whether the key's value is a stand-in, so that no other key can be checked against it."""
        return self.problems.has(f"{self._prefix}{key}")

    def _row(self, key: str, kind: type[_Row]) -> _Row:
        """The key's row of this kind. A key without one is a mistake of the reader, not of the file."""
        for row in self._block.rows(key):
            if isinstance(row, kind):
                return row
        raise LookupError(f"{self._prefix}{key}: there is no such {kind.__name__} in the table")

    def knows(self, key: str) -> bool:
        """Whether the table has the key, in the forms that the choices in this mapping leave."""
        return bool(self._block.rows(key))

    def has(self, key: str) -> bool:
        self._row(key, Key)
        self._asked.add(key)
        return key in self._nodes

    def keys(self) -> tuple[str, ...]:
        self._asked.update(self._nodes)
        return tuple(self._nodes)

    def prefer(self, more: Section) -> None:
        """Takes the values of `more` instead of its own; mappings are merged key by key."""
        for key in more.keys():  # noqa: SIM118 - a Section, not a dict
            self._nodes[key] = merged(self._nodes.get(key), more._nodes[key])
            self._lines[key] = more._lines[key]

    def close(self) -> None:
        """Refuses every key that no getter has read."""
        if any(self._prefix.startswith(prefix) for prefix in self.problems.guessed):
            return
        for key in self._nodes:
            if key not in self._asked:
                known = f"known: {', '.join(sorted(self._asked))}"
                self.refuse(f"unknown key; {suggestion(key, self._asked, known)}", key)

    # ---- the keys that a dataclass declares

    def read(self, kind: type[Value], settings: Mapping[str, str] = _NONE, /, **given: Any) -> Value:
        """An object of this type. A field that is not given is read by the key that it declares."""
        for name, one in declared(kind).items():
            if name not in given and (self.has(one.key) or not one.row.otherwise):
                given[name] = self._value(one, settings)
        return kind(**given)

    def _value(self, one: DeclaredKey, settings: Mapping[str, str]) -> Any:
        match one.row:
            case Block():
                with self.optional(one.key) as words:
                    return words.read(one.kind, settings)
            case Blocks():
                return tuple(words.whole(one.kind, settings) for words in self.sections(one.key))
            case Choice():
                return one.kind(self.choice(one.key))
            case FilledText():
                return filled(self.text(one.key), settings)
        return _GETTERS[type(one.row)](self, one.key)

    def whole(self, kind: type[Value], settings: Mapping[str, str] = _NONE, /, **given: Any) -> Value:
        """The same of a mapping that has no other key."""
        result = self.read(kind, settings, **given)
        self.close()
        return result

    # ---- scalars

    def text(self, key: str, default: str | None = None) -> str:
        """The text. A required key without a value counts as missing."""
        row = self._row(key, Text)
        default = row.default if default is None else default
        result = self._word(key, default, may_be_empty=row.may_be_empty)
        if row.wrong and result and not re.match(row.form, result):
            self.refuse(f"`{one_line(result, SHOWN)}` {row.wrong}", key)
        return result

    def _word(self, key: str, default: str | None, *, may_be_empty: bool = False) -> str:
        result = self._scalar(key, default, "text", str)
        if default is None and not may_be_empty and not result.strip():
            self.refuse("is missing: the key has no value", key)
        return result

    def integer(
        self, key: str, default: int | None = None, *, low: int | None = None, high: int | None = None
    ) -> int:
        row = self._row(key, Integer)
        low, high = row.low if low is None else low, row.high if high is None else high
        default = row.default if default is None else default
        value = self._scalar(key, default, "a whole number", to_int)
        if not low <= value <= high:
            self.refuse(f"is {one_line(str(value), SHOWN)}, not between {low} and {high}", key)
            return low if default is None else default
        return value

    def number(self, key: str, default: float | None = None) -> float:
        row = self._row(key, Number)
        low, high, default = row.low, row.high, row.default if default is None else default
        value = self._scalar(key, default, "a number", to_float)
        if not low <= value <= high:
            self.refuse(f"is {value:g}, not between {low:g} and {high:g}", key)
            return low if default is None else default
        return value

    def choice(self, key: str, choices: Sequence[str] = (), default: str | None = None) -> str:
        """`choices` are needed if the file itself lists them."""
        default = self._row(key, Choice).default if default is None else default
        rows = (row for row in self._block.rows(key) if isinstance(row, Choice))
        choices = choices or [word for row in rows for word in row.choices]
        value = self._word(key, default)
        if value not in choices:
            near, shown = suggestion(value, choices), one_line(value, SHOWN)
            self.refuse(f"is `{shown}`, not one of {', '.join(choices)}{near and f'; {near}'}", key)
            self.problems.guessed.append(self._prefix)
            value = next(iter(choices), "") if default is None else default
        self._block = self._block.narrowed(key, value)
        return value

    def pattern(self, key: str, default: str | None = None) -> str:
        """A valid regular expression that contains the row's named groups, unless it is empty."""
        row = self._row(key, Pattern)
        default = row.default if default is None else default
        value = self._word(key, default)
        try:
            compiled = regex(value)
        except ValueError as error:
            self.refuse(str(error), key)
            return default or ""
        missing = [group for group in row.groups if group not in compiled.groupindex]
        if value and missing:
            self.refuse(f"needs a named group (?P<{missing[0]}>...)", key)
        return value

    def _scalar(self, key: str, default: Value | None, kind: str, convert: Callable[[str], Value]) -> Value:
        self._asked.add(key)
        node = self._nodes.get(key)
        if node is None and default is not None:
            return default
        if node is None:
            self.refuse("is missing", key)
        elif not isinstance(node, yaml.ScalarNode):
            self.refuse(f"expected {kind}", key)
        else:
            try:
                return convert(node.value)
            except ValueError:
                self.refuse(f"expected {kind}, found `{one_line(node.value, SHOWN)}`", key)
        return convert(_STAND_IN) if default is None else default

    # ---- structure

    def is_mapping(self, key: str) -> bool:
        return isinstance(self._nodes.get(key), yaml.MappingNode)

    def section(self, key: str) -> Section | None:
        """The mapping under `key`; None if it is absent."""
        block = self._row(key, Block)
        self._asked.add(key)
        node = self._nodes.get(key)
        if node is None:
            return None
        if not isinstance(node, yaml.MappingNode):
            self.refuse("expected a mapping", key)
            return None
        return Section(self.path, node, f"{self._prefix}{key}.", block, self.problems)

    def sections(self, key: str) -> tuple[Section, ...]:
        """A list of mappings: `- {image: fs.img, format: raw}`."""
        result, block = [], self._row(key, Blocks).item
        for number, node in enumerate(self._items(key)):
            if isinstance(node, yaml.MappingNode):
                result.append(
                    Section(self.path, node, f"{self._prefix}{key}.{number}.", block, self.problems)
                )
            else:
                self.refuse("expected mappings: `- {key: value}`", key, node.start_mark.line + 1)
        return tuple(result)

    @contextlib.contextmanager
    def optional(self, key: str) -> Iterator[Section]:
        """The mapping under `key`, which is empty if it is absent; closed at the end of the block."""
        empty = yaml.MappingNode("", [], self._node.start_mark)
        block = self._row(key, Block)
        section = self.section(key) or Section(
            self.path, empty, f"{self._prefix}{key}.", block, self.problems
        )
        yield section
        section.close()

    def texts(self, key: str) -> tuple[str, ...]:
        default = self._row(key, Texts).default or ()
        return tuple(self._words(key, self._items(key))) if self.has(key) else default

    def one_or_more(self, key: str) -> tuple[str, ...]:
        """A text, or a list of texts."""
        node = self._nodes.get(key)
        return (self.text(key),) if isinstance(node, yaml.ScalarNode) else self.texts(key)

    def is_text(self, key: str) -> bool:
        """Whether the value is a text, and no mapping, list or absent key."""
        return isinstance(self._nodes.get(key), yaml.ScalarNode)

    def integers(self, key: str, default: tuple[int, ...] | None = None) -> tuple[int, ...]:
        default = self._row(key, Integers).default or () if default is None else default
        words = self._words(key, self._items(key))
        try:
            return tuple(to_int(word) for word in words) if self.has(key) else default
        except ValueError:
            self.refuse(f"expected whole numbers, found {one_line(', '.join(words), SHOWN)}", key)
            return default

    def commands(self, key: str) -> tuple[tuple[str, ...], ...]:
        """A list of argument lists: `- [make, -C, kernel]`."""
        self._row(key, Commands)
        result = []
        for node in self._items(key):
            if not isinstance(node, yaml.SequenceNode) or not node.value:
                self.refuse("expected commands as lists: `- [make, all]`", key, node.start_mark.line + 1)
                return ()
            result.append(tuple(self._words(key, node.value)))
        return tuple(result)

    def plain(self, key: str) -> Mapping[str, str]:
        """A mapping of names to scalars, as text."""
        section = self.section(key)
        if section is None:
            return {}
        names = section.keys()
        return {name: section.text(name) for name in names}

    def _items(self, key: str) -> list[yaml.Node]:
        self._asked.add(key)
        node = self._nodes.get(key)
        if node is None:
            return []
        if not isinstance(node, yaml.SequenceNode):
            self.refuse("expected a list", key)
            return []
        return list(node.value)

    def _words(self, key: str, nodes: list[yaml.Node]) -> list[str]:
        for node in nodes:
            if not isinstance(node, yaml.ScalarNode):
                self.refuse("expected words", key, node.start_mark.line + 1)
                return []
        return [str(node.value) for node in nodes]


_GETTERS: Mapping[type[Key], Callable[[Section, str], object]] = {
    Text: Section.text,
    Pattern: Section.pattern,
    Integer: Section.integer,
    Number: Section.number,
    Texts: Section.texts,
    Integers: Section.integers,
}
