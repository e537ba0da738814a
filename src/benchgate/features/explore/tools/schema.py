"""The schema of explored.json, for tools/schemas.py."""

from __future__ import annotations

from benchgate.base.jsonfields import form_of
from benchgate.features.explore.exploration_result import Find, RunLine
from benchgate.features.explore.session import folder as exploration
from tools.schemas import Schema, closed, file_schema, schema_of


def schema() -> Schema:
    texts = {"type": "array", "items": {"type": "string"}}
    groups = closed(group={"type": "string"}, finds=texts | {"minItems": 1})
    result = closed(
        state={"enum": ["complete", "partial"]},
        expected={"type": "integer", "minimum": 0, "description": "How many runs are asked for."},
        notes=texts | {"description": "What was left out, and why."},
        runs={"type": "array", "items": schema_of(form_of(RunLine)), "description": "As in runs.jsonl."},
        finds={"type": "array", "items": schema_of(form_of(Find))},
        groups={"type": "array", "items": groups, "description": "In the order of their first find."},
    )
    head = {"format": exploration.FORMAT, "version": exploration.VERSION}
    return file_schema("exploration-1", "explored.json, version 1", result, **head)
