"""Makes the JSON schemas of reports/schema, of what benchgate writes, from the types of dataclasses
and the columns of CSV files.

`python -m tools.schemas` writes them and those of the YAML that people write (input_schemas.py);
tests/unit/tools/test_schemas.py compares them with the committed ones. What a type cannot say, such as which
fields depend on another one, stands here. Does not fail.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from types import NoneType
from typing import Any

from benchgate import hooks
from benchgate.base.gates import SMALLEST_LOOK, Verdict
from benchgate.base.jsonfields import (
    LIMITS,
    MOST,
    ChoiceForm,
    Form,
    ListForm,
    MapForm,
    Matches,
    NumberForm,
    ObjectForm,
    Presence,
    RowForm,
    RuledForm,
    Size,
    UnionForm,
    form_of,
)
from benchgate.base.paths import data_root
from benchgate.base.runs import Outcome
from benchgate.evidence import metrics_csv, results_csv, session_folder
from benchgate.evidence.rows import CsvColumn
from benchgate.evidence.session_folder import COMPLETE, SessionHead
from benchgate.render.files import memory_csv
from benchgate.render.tables.threads import ThreadReport
from benchgate.session.kvm_report import KvmReport
from tools.input_schemas import FILES, schema_of_file

DIALECT = "https://json-schema.org/draft/2020-12/schema"
Schema = dict[str, Any]
_TYPES = {int: "integer", float: "number", str: "string", bool: "boolean", NoneType: "null"}


# ---- of a type


def schema_of(form: Form) -> Schema:
    match form:
        case ObjectForm():
            return _object(form)
        case RuledForm(form=inner, rules=rules):
            return schema_of(inner) | _ruled(rules)
        case UnionForm(plain=plain, other=other):
            others = (value for value in plain.values() if value is not other)
            return _union([schema_of(one) for one in (other, *others)])
    return _plain(form)


def _plain(form: Form) -> Schema:
    match form:
        case ListForm(item=item):
            return {"type": "array", "items": schema_of(item)}
        case RowForm(items=items):
            size = {"minItems": len(items), "maxItems": len(items)}
            return {"type": "array", "prefixItems": [*map(schema_of, items)], **size}
        case MapForm(item=item):
            return {"type": "object", "additionalProperties": schema_of(item)}
        case ChoiceForm(values=values):
            return {"enum": [*values]}
        case NumberForm(kind=kind, least=least, most=most):
            lower = {} if least == -MOST else {"minimum": least}
            upper = {} if most == LIMITS[kind][1] else {"maximum": most}
            return {"type": _TYPES[kind], **lower, **upper}
    return {"type": _TYPES[form.kind]} if form.kind in _TYPES else {}


def _ruled(rules: tuple[Any, ...]) -> Schema:
    result: Schema = {}
    for rule in rules:
        match rule:
            case Matches(pattern=pattern):
                result["pattern"] = f"^(?:{pattern})$" if "|" in pattern else f"^{pattern}$"
            case Size(least=least, most=most):
                result |= {"minItems": least, "maxItems": most}
    return result


def _union(schemas: list[Schema]) -> Schema:
    first, *others = schemas
    if others == [{"type": "null"}] and "enum" in first:
        return {"enum": [*first["enum"], None]}
    if all(one.keys() == {"type"} for one in others) and "type" in first and "properties" not in first:
        return {**first, "type": [schema["type"] for schema in schemas]}
    return {"anyOf": schemas}


def _object(form: ObjectForm) -> Schema:
    said, properties, required = _docstrings(form.kind), dict[str, Schema](), list[str]()
    for name, (inner, presence) in form.fields.items():
        found = schema_of(inner)
        if presence is Presence.INLINE:
            properties |= found["properties"]
            required += found["required"]
        else:
            properties[name] = found | ({"description": said[name]} if name in said else {})
            required += [name] if presence is None else []
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _docstrings(kind: type) -> Mapping[str, str]:
    """The text below a field says what it means."""
    (body,) = (one.body for one in ast.parse(inspect.getsource(kind)).body if isinstance(one, ast.ClassDef))
    result = {}
    for field, text in pairwise(body):
        match field, text:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(words))):
                result[name] = " ".join(words.split())
    return result


# ---- of a file


def file_schema(name: str, title: str, found: Schema, **head: object) -> Schema:
    """`head`: keys with one value, before the others."""
    top = {"$schema": DIALECT, "$id": f"benchgate/{name}", "title": title}
    if head:
        consts = {key: {"const": value} for key, value in head.items()}
        found = found | {
            "properties": consts | found["properties"],
            "required": [*head, *found["required"]],
        }
    return top | found


def closed(**properties: Schema) -> Schema:
    required = {"required": [*properties], "additionalProperties": False}
    return {"type": "object", "properties": properties, **required}


def _kvm() -> Schema:
    return file_schema(
        "kvm-1", "the file of `benchgate doctor --kvm-report`, version 1", schema_of(form_of(KvmReport))
    )


def _threads() -> Schema:
    return file_schema(
        "threads-1", "what `benchgate threads --json` prints, version 1", schema_of(form_of(ThreadReport))
    )


def _decided(gate: Schema, others: Schema, **types: str) -> Schema:
    """A PASS or FAIL of such gates rests on runs, and on figures of these types."""
    given = {"outcome": {"enum": ["PASS", "FAIL"]}, "gate": gate, **others}
    figures = {name: {"type": kind} for name, kind in types.items()}
    return {
        "if": {"properties": given},
        "then": {"properties": figures | {"lane": {"type": "string"}, "runs": {"minimum": SMALLEST_LOOK}}},
    }


def _verdicts() -> Schema:
    item = schema_of(form_of(Verdict))
    item["properties"]["ratio"]["exclusiveMinimum"] = item["properties"]["ratio"].pop("minimum")
    numbers = dict.fromkeys(("threshold", "low", "high"), "number")
    ratio = {"not": {"enum": ["efficiency", "weak", "scaling"]}}
    own = {"enum": ["limit", "efficiency", "weak", "overhead"]}
    item["allOf"] = [
        _decided(ratio, {"base_cpus": {"type": "integer"}}, **numbers, ratio="number"),
        _decided(own, {}, **numbers, value="number", unit="string"),
        _decided({"const": "scaling"}, {}, threshold="number", low="number", parameter="string"),
    ]
    return file_schema("verdicts-2", "verdicts.json, version 2", {"type": "array", "items": item})


def _csv(name: str, title: str, about: str, columns: Mapping[str, CsvColumn]) -> Schema:
    rows = {
        "type": "array",
        "items": closed(**{value: _column(column) for value, column in columns.items()}),
    }
    result = file_schema(name, f"{title}: its rows, each as an object of strings", rows)
    return {key: result[key] for key in ("$schema", "$id", "title")} | {"description": about} | result


def _column(column: CsvColumn) -> Schema:
    form: Schema = {"enum": [*column.words]} if column.words else {"type": "string"}
    pattern = {"pattern": column.form} if column.form else {}
    return form | pattern | ({"description": column.about} if column.about else {})


def _results() -> Schema:
    about = (
        "UTF-8, LF, a header line with these columns in this order, fields never quoted. A field that begins "
        "with one of = + - @ ' has a ' put before it."
    )
    result = _csv("results-1", "results.csv, version 1", about, results_csv.COLUMNS)
    verified, figures = (Outcome.OK, Outcome.WARMUP, Outcome.VOID), ("work", "total", "unit")
    others = (Outcome.VOID, Outcome.INVALID, Outcome.CRASHED)
    result["items"] |= {
        "if": {"properties": {"verified": {"const": "true"}}},
        "then": {
            "properties": {figure: {"minLength": 1} for figure in figures}
            | {"outcome": {"enum": [*verified]}}
        },
        "else": {
            "properties": {figure: {"const": ""} for figure in figures} | {"outcome": {"enum": [*others]}}
        },
    }
    return result


def _metrics() -> Schema:
    about = (
        "One line per verified run (warm-ups and void runs, too) and metric; written as results.csv is. The "
        "run's number finds its line there."
    )
    return _csv("metrics-3", "metrics.csv, version 3", about, metrics_csv.COLUMNS)


def _memory() -> Schema:
    about = (
        "The books of each counted run on a machine with memory: one line per phase and CPU. reads + "
        "writes + fetches + atomics = l1 + l2 + l3 + local + remote + the three transfers."
    )
    return _csv("memory-1", "memory.csv, version 1", about, memory_csv.COLUMNS)


def _session() -> Schema:
    head = {"format": session_folder.FORMAT, "version": session_folder.VERSION}
    result = file_schema("session-1", "session.json, version 1", schema_of(form_of(SessionHead)), **head)
    del result["additionalProperties"]
    return result | {
        "description": "Fields beyond these may be there (gates, policy, order, capacity ...); readers "
        "ignore what they do not know.",
        "if": {"properties": {"state": {"const": COMPLETE}}},
        "then": {
            "required": ["chain"],
            "properties": {
                "finished": {"type": "string"},
                "pid": {"type": "null"},
                "state_reason": {"const": ""},
            },
        },
        "else": {"properties": {"state_reason": {"minLength": 1}}},
    }


def _of_features() -> Iterator[Schema]:
    for path in sorted(hooks.FOLDER.glob("*/tools/schema.py")):
        yield importlib.import_module(f"benchgate.features.{path.parents[1].name}.tools.schema").schema()


def _reports() -> Sequence[Schema]:
    tables = (_results(), _metrics(), _memory())
    return (*_of_features(), _verdicts(), *tables, _session(), _kvm(), _threads())


def schemas() -> Mapping[str, str]:
    """The text of each file, by its path below the root."""
    result = [("reports/schema", report) for report in _reports()]
    result += [("fixtures/schema", schema_of_file(file)) for file in FILES]
    return {
        f"{folder}/{one['$id'].partition('/')[2]}.json": json.dumps(one, indent=2) + "\n"
        for folder, one in result
    }


if __name__ == "__main__":
    for name, text in schemas().items():
        (data_root() / name).write_text(text, encoding="utf-8")
