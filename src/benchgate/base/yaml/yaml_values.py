"""Checks values in a YAML file (names, numbers, regular expressions), and puts one mapping over another.

Takes a scalar's text or two nodes; gives the value. A text that is not such a value raises ValueError.
"""

from __future__ import annotations

import re
import warnings
from typing import AnyStr

import yaml

NAME = re.compile(r"[a-z][a-z0-9_]{0,31}\Z")
"""A valid name of a workload, system, setting or policy."""
_INT = re.compile(r"[+-]?[0-9][0-9_]*\Z")
_FLOAT = re.compile(r"[+-]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)([eE][+-]?[0-9]+)?\Z")


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


def merged(one: yaml.Node | None, preferred: yaml.Node) -> yaml.Node:
    if not (isinstance(one, yaml.MappingNode) and isinstance(preferred, yaml.MappingNode)):
        return preferred
    pairs = {key.value: (key, value) for key, value in one.value}
    for key, value in preferred.value:
        pairs[key.value] = key, merged(pairs[key.value][1] if key.value in pairs else None, value)
    return yaml.MappingNode(one.tag, list(pairs.values()), one.start_mark)
