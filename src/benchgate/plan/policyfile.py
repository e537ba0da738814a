"""Reads a policy's YAML file.

Takes a path, or text and the path to name in messages; gives a Policy. Fails with CatalogError, which names
file, line and key, for an unknown, missing or duplicate key, a wrong type, or inconsistent values.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from benchgate.base import yamlfile
from benchgate.base.gates import Policy
from benchgate.base.yamlfile import Section


def load(path: Path) -> Policy:
    return _read(yamlfile.load(path))


def parse(text: str, path: Path) -> Policy:
    return _read(yamlfile.parse(text, path))


def _read(top: Section) -> Policy:
    """The keys and defaults are the fields of Policy, except those that the session sets."""
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
    return top.name(field.name)
