"""A system that extends a shipped one: `extends: linux`, a name, and the keys that differ.

Takes the path of a system's file; gives its top mapping with those of the other system's keys that it does
not have, or the same as text. So a session records, and judges again, a file that needs no other. Fails with
CatalogError if the file cannot be read or extends what it cannot.
"""

from __future__ import annotations

import os
from pathlib import Path

import yaml

from benchgate.base.errors import CatalogError
from benchgate.base.paths import data_root
from benchgate.base.yaml.yaml_nodes import merged, text_of, top_of
from benchgate.plan.system_keys import EXTENDED

LINUX = "linux"
"""What our PID 1 says that the system is (guest/port/linux)."""
_KEY = "extends"
_OWN = ("version", "name")
_PATHS = ("folder", "sources")
"""The keys of `build` that are relative to the file in which they stand."""


def node_of(path: Path) -> yaml.MappingNode:
    own = top_of(text_of(path), path)
    base = next((value for key, value in own.value if key.value == _KEY), None)
    if base is None:
        return own
    line = base.start_mark.line + 1
    if base.value not in EXTENDED:
        raise CatalogError(
            f"{path}:{line}: {_KEY}: expected {' or '.join(EXTENDED)}, a shipped system with a guest"
        )
    missing = [word for word in _OWN if not any(key.value == word for key, _ in own.value)]
    if missing:
        raise CatalogError(
            f"{path}:{line}: {_KEY}: `{missing[0]}` is missing: a system of your own has its own"
        )
    file = data_root() / "fixtures" / "systems" / f"{base.value}.yaml"
    shipped = top_of(text_of(file), file)
    named = top_of(f"result: {{system: {base.value}}}", file)
    inherited = merged(named, _placed(shipped, file.parent, path.absolute().parent))
    rest = [(key, value) for key, value in own.value if key.value != _KEY]
    result = merged(inherited, yaml.MappingNode(own.tag, rest, own.start_mark))
    assert isinstance(result, yaml.MappingNode)
    return result


def text_for(path: Path) -> str:
    """The file's own text, unless it extends a system."""
    text = text_of(path)
    node = node_of(path)
    return text if node is top_of(text, path) else yaml.serialize(node, Dumper=yaml.SafeDumper, width=1 << 20)


def _placed(node: yaml.MappingNode, home: Path, place: Path) -> yaml.MappingNode:
    """Its relative paths as they are from `place`."""
    pairs = [
        (key, _moved(value, home, place) if key.value == "build" else value) for key, value in node.value
    ]
    return yaml.MappingNode(node.tag, pairs, node.start_mark)


def _moved(build: yaml.Node, home: Path, place: Path) -> yaml.Node:
    def moved(node: yaml.Node) -> yaml.Node:
        if isinstance(node, yaml.SequenceNode):
            return yaml.SequenceNode(node.tag, [moved(each) for each in node.value], node.start_mark)
        return yaml.ScalarNode(node.tag, os.path.relpath(home / node.value, place), node.start_mark)

    pairs = [(key, moved(value) if key.value in _PATHS else value) for key, value in build.value]
    return yaml.MappingNode(build.tag, pairs, build.start_mark)
