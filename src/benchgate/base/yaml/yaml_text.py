"""Reads YAML text as nodes, and refuses what could be expensive or surprising.

Takes a path, or text and the path to name in messages; gives the top mapping's node. Fails with CatalogError
for a file that is no UTF-8, is too long, is no YAML, or has tags, aliases or deep nesting.
"""

from __future__ import annotations

from pathlib import Path

import yaml

from benchgate.base.errors import CatalogError
from benchgate.base.files import read_start

MAX_CHARACTERS = 64 * 1024
MAX_BYTES = 4 * MAX_CHARACTERS
"""No UTF-8 text of that many characters is longer."""
MAX_DEPTH = 16


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


def top_of(text: str, path: Path) -> yaml.MappingNode:
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
