"""A policy's YAML becomes a Policy.

Takes a path, or text with the path that complaints shall name; gives a Policy. Fails with CatalogError that
names file, line and key: an unknown, missing or repeated key, a wrong type; or values that contradict.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from benchgate import yamlfile
from benchgate.gates.base import Policy
from benchgate.systems import NAME
from benchgate.yamlfile import Section


def load(path: Path) -> Policy:
    return _read(yamlfile.load(path))


def parse(text: str, path: Path) -> Policy:
    return _read(yamlfile.parse(text, path))


def _read(top: Section) -> Policy:
    """The keys are the fields of a Policy, whose defaults so stand in one place; a session sets its own."""
    fields = (field for field in dataclasses.fields(Policy) if field.metadata.get("of") != "session")
    values = {field.name: _value(top, field) for field in fields}
    top.close()
    try:
        return Policy(**values)
    except ValueError as wrong:
        top.fail(str(wrong))


def _value(top: Section, field: dataclasses.Field[Any]) -> Any:
    if field.default is dataclasses.MISSING and not top.has(field.name):
        top.fail("is missing; fixtures/gates/default.yaml has all keys", field.name)
    default = None if field.default is dataclasses.MISSING else field.default
    match field.type:
        case "int":
            return top.integer(field.name, default)
        case "float":
            return top.number(field.name, default)
        case "tuple[int, ...]":
            return top.integers(field.name)
    name = top.text(field.name)
    if not NAME.match(name):
        top.fail(f"`{name}` is not a name: lower-case letters, digits and _, a letter first", field.name)
    return name
