"""Makes the JSON Schemas of YAML files that people write, from the tables by which the files are read.

tools.schemas writes them to fixtures/schema, beside the files that they describe and in the wheel: editors
complete and check a file by them. A schema knows each key alone; what concerns several keys only the reader
knows. Does not fail.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from benchgate import hooks
from benchgate.base.yaml.keys import (
    LARGEST,
    Block,
    Blocks,
    Choice,
    Commands,
    Either,
    Integer,
    Integers,
    Key,
    Number,
    Pattern,
    Table,
    Text,
    Texts,
    YamlFile,
)
from benchgate.build.programs import RECIPES
from benchgate.plan.machine_keys import MACHINE
from benchgate.plan.policyfile import POLICY
from benchgate.plan.system_keys import SYSTEM
from benchgate.plan.workload_keys import WORKLOAD

Schema = dict[str, Any]
OF_FEATURES = [place for feature in hooks.shipped().values() for place in feature.files]
FILES: tuple[YamlFile, ...] = (
    *(SYSTEM, WORKLOAD, MACHINE, POLICY, RECIPES),
    *map(hooks.object_at, OF_FEATURES),
)
DIALECT = "http://json-schema.org/draft-07/schema#"
"""The newest one that the YAML language server knows whole."""
_FLAGS = {"true": True, "false": False, "yes": True, "no": False, "on": True, "off": False}
"""How YAML's own types, which the reader does not use, have such words."""
_SCALARS = ["string", "number", "boolean"]
_INT, _FLOAT = r"^[+-]?[0-9][0-9_]*$", r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"


def schema_of_file(file: YamlFile) -> Schema:
    head = {
        "$schema": DIALECT,
        "$id": f"benchgate/{file.name}",
        "title": file.title,
        "description": file.about,
    }
    return head | _mapping(file)


def _value(row: Key, *, partial: bool = False) -> Schema:
    result = _kind(row, partial=partial) | {"description": row.about}
    plain = isinstance(row.default, (str, int, float)) and row.default != ""
    return result | ({"default": row.default} if plain else {})


def _kind(row: Key, *, partial: bool) -> Schema:
    match row:
        case Either(kinds=kinds):
            return {"anyOf": [_value(kind, partial=partial) for kind in kinds]}
        case Block():
            return _mapping(row, partial=partial)
        case Blocks(item=item):
            return {"type": "array", "items": _mapping(item)}
        case Texts() | Integers() | Commands():
            return {"type": "array", "items": _item(row)}
    return _scalar(row)


def _item(row: Texts | Integers | Commands) -> Schema:
    match row:
        case Texts(choices=choices):
            return _one_of(choices) if choices else {"type": _SCALARS}
        case Integers():
            return {"type": ["integer", "string"], "pattern": _INT}
        case Commands():
            return {"type": "array", "items": {"type": _SCALARS}, "minItems": 1}


def _scalar(row: Key) -> Schema:
    match row:
        case Integer(low=low, high=high):
            upper = {} if high == LARGEST else {"maximum": high}
            return {"type": ["integer", "string"], "minimum": low, **upper, "pattern": _INT}
        case Number(low=low, high=high):
            return {"type": ["number", "string"], "minimum": low, "maximum": high, "pattern": _FLOAT}
        case Choice(choices=choices) if choices:
            return _one_of(choices)
        case Pattern(groups=groups) if groups:
            return _text(row, "".join(rf"(?=.*\(\?P<{group}>)" for group in groups))
        case Text(form=form):
            return _text(row, form and rf"^(?:{form.removesuffix(chr(92) + 'Z')})$")
    raise TypeError(f"{row} is no kind of key that a schema can describe")


def _one_of(words: Iterable[str]) -> Schema:
    plain = [*map(str, words)]
    return {"enum": [*plain, *(_FLAGS[word] for word in plain if word in _FLAGS)]}


def _text(row: Text, pattern: str) -> Schema:
    """Any scalar, if a number can have its form. Without a value it is absent."""
    may_be_empty = row.may_be_empty or row.default is not None
    types = [*(_SCALARS if not pattern or re.match(pattern, "1") else ["string"]), *(["null"] * may_be_empty)]
    if pattern:
        return {"type": types, "pattern": f"^$|{pattern}" if may_be_empty else pattern}
    return {"type": types, **({} if may_be_empty else {"pattern": r"\S"})}


_EXTENDS, _OF_ITS_OWN = "extends", ("version", "name")
"""The key of a file that extends another one, and what it has itself."""


def _mapping(block: Block, *, partial: bool = False) -> Schema:
    partial = partial or block.is_partial
    forms = [_form(form, block, partial=partial) for form in block.forms or ({},)]
    return forms[0] if len(forms) == 1 else {"anyOf": forms}


def _form(form: Table, block: Block, *, partial: bool) -> Schema:
    others = block.others and _value(block.others, partial=partial)
    properties = {key: _value(row, partial=partial) for key, row in form.items()}
    result: Schema = {"type": "object", "properties": properties}
    if block.allowed:
        result["propertyNames"] = {"enum": [*block.allowed]}
    parts = [key for key, row in form.items() if _is_put_over(row)]
    needed = [key for key, row in form.items() if row.is_needed and not partial]
    if parts:  # the part has every key but these, and may be the only one that has it
        later = [key for key in needed if key in _keys_of_part(form[parts[0]])]
        needed = [key for key in needed if key not in later]
        result["anyOf"] = [{"required": later}, {"required": parts}]
    if _EXTENDS in form:  # what it extends has all but these
        own = [key for key in needed if key in _OF_ITS_OWN]
        complete = {"required": [key for key in needed if key not in own], "anyOf": result["anyOf"]}
        needed, result["anyOf"] = own, [complete, {"required": [_EXTENDS]}]
    return result | {
        **({"required": needed} if needed else {}),
        "additionalProperties": others or False,
    }


def _is_put_over(row: Key) -> bool:
    return isinstance(row, Block) and isinstance(row.others, Block) and row.others.is_partial


def _keys_of_part(row: Key) -> Sequence[str]:
    assert isinstance(row, Block)
    assert isinstance(row.others, Block)
    return [key for form in row.others.forms for key in form]
