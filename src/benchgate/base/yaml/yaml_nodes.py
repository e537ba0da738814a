"""YAML as nodes: reads a text, refuses what could be expensive or surprising, and checks single values.

Takes a path, or text and the path to name in messages; gives the top mapping's node. Fails with CatalogError
for a file that is no UTF-8, is too long, is no YAML, or has tags, aliases or deep nesting. Of a scalar's text
it gives the number or the pattern, or fails with ValueError; one mapping can be put over another.
"""

from __future__ import annotations

import functools
import re
import warnings
from pathlib import Path
from typing import AnyStr

import yaml

from benchgate.base.errors import CatalogError
from benchgate.base.files import read_start

MAX_CHARACTERS = 64 * 1024
MAX_BYTES = 4 * MAX_CHARACTERS
"""No UTF-8 text of that many characters is longer."""
MAX_DEPTH = 16
_INT = re.compile(r"[+-]?[0-9][0-9_]*\Z")
_FLOAT = re.compile(r"[+-]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)([eE][+-]?[0-9]+)?\Z")


def text_of(path: Path) -> str:
    try:
        raw = read_start(path, MAX_BYTES, follow=True)
    except OSError as error:
        raise CatalogError(f"{path}: cannot be read: {error.strerror or error}") from error
    if len(raw) > MAX_BYTES:
        raise CatalogError(f"{path}: has more than {MAX_BYTES} bytes")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CatalogError(f"{path}: is not UTF-8 at byte {error.start}") from error


@functools.lru_cache(maxsize=64)
def top_of(text: str, path: Path) -> yaml.MappingNode:
    """The top of the same text and path is the same node, which nobody changes: what judges a session again
    asks for its systems and workloads once for each run."""
    if len(text) > MAX_CHARACTERS:
        raise CatalogError(f"{path}: has {len(text)} characters, more than {MAX_CHARACTERS}")
    try:
        _refuse_traps(text, path)
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = getattr(error.problem_mark, "line", 0) + 1
        raise CatalogError(f"{path}:{line}: is not YAML: {error.problem}") from error
    except yaml.YAMLError as error:
        raise CatalogError(f"{path}: is not YAML: {error}") from error
    if not isinstance(node, yaml.MappingNode):
        raise CatalogError(f"{path}:1: expected `key: value` lines at the top")
    return node


def _refuse_traps(text: str, path: Path) -> None:
    """Refuses aliases, which can expand a small file to a huge value; tags, which change a value's type; and
    deep nesting."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        line = getattr(event.start_mark, "line", 0) + 1
        anchor, tag = getattr(event, "anchor", None), getattr(event, "tag", None)
        if anchor or tag:
            what = f"the tag {tag}" if tag else f"aliases and anchors ({anchor})"
            raise CatalogError(f"{path}:{line}: {what}: not supported; write the value itself")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise CatalogError(f"{path}:{line}: is nested more than {MAX_DEPTH} deep")


def regex(pattern: AnyStr) -> re.Pattern[AnyStr]:
    """The compiled pattern; ValueError if it is invalid. Python's warnings count as errors too, because under
    `-W error` they would end the session that uses the pattern first."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return re.compile(pattern)
    except (re.error, OverflowError, RecursionError, ValueError, Warning) as error:
        raise ValueError(f"is not a regular expression: {error}") from None


def to_int(text: str) -> int:
    if not _INT.match(text):
        raise ValueError(text)
    return int(text.replace("_", ""))


def to_float(text: str) -> float:
    if not _FLOAT.match(text):
        raise ValueError(text)
    return float(text)


def merged(node: yaml.Node | None, preferred: yaml.Node) -> yaml.Node:
    if not (isinstance(node, yaml.MappingNode) and isinstance(preferred, yaml.MappingNode)):
        return preferred
    pairs = {key.value: (key, value) for key, value in node.value}
    for key, value in preferred.value:
        pairs[key.value] = key, merged(pairs[key.value][1] if key.value in pairs else None, value)
    return yaml.MappingNode(node.tag, list(pairs.values()), node.start_mark)
