"""The schemas that are committed are those of the types."""

from __future__ import annotations

import json
from dataclasses import dataclass

import jsonschema
import pytest
from jsonschema.validators import validator_for

from benchgate.base.jsonfields import form_of
from benchgate.base.paths import data_root
from tools.schemas import schema_of, schemas

SCHEMAS = schemas()


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_committed_schema_is_that_of_its_types(name: str) -> None:
    text = (data_root() / name).read_text(encoding="utf-8")
    assert text == SCHEMAS[name], "next: python -m tools.schemas"
    schema = json.loads(text)
    validator_for(schema).check_schema(schema)


@dataclass(frozen=True)
class Two:
    one: int | None
    """What it means,
    in one line."""
    other: tuple[str, ...]


def test_a_schema_says_what_the_reader_requires() -> None:
    result = schema_of(form_of(Two))
    one = {"type": ["integer", "null"], "minimum": 0, "description": "What it means, in one line."}
    assert result["properties"] == {"one": one, "other": {"type": "array", "items": {"type": "string"}}}
    assert result["required"] == ["one", "other"]
    jsonschema.validate({"one": None, "other": ["x"]}, result)
    for wrong in (
        {"one": 1},
        {"one": -1, "other": []},
        {"one": 1, "other": [], "more": 1},
        {"one": 1, "other": [2]},
    ):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, result)
