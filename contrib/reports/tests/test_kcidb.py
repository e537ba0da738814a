"""kcidb.json: the form that KCIDB documents, and its own check where the package kcidb-io is."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import jsonschema
import pytest

from benchgate.base.gates import Word
from contrib.reports import kcidb
from tests import optional
from tests.unit.factories import failing, scaled_view, view

ID = {"type": "string", "pattern": "^[a-z0-9_]+:[^\\u0000]*$"}
ORIGIN = {"type": "string", "pattern": "^[a-z0-9_]+$"}
TEXT = {"type": "string", "pattern": "^[^\\u0000]*$"}
TIME = {"type": "string", "format": "date-time"}


def thing(required: list[str], **more: object) -> dict[str, object]:
    return {
        "type": "object",
        "properties": {"id": ID, "origin": ORIGIN, "start_time": TIME, "comment": TEXT, **more},
        "required": ["id", "origin", *required],
        "additionalProperties": False,
    }


SCHEMA = {
    "type": "object",
    "required": ["version"],
    "additionalProperties": False,
    "properties": {
        "version": {"const": {"major": 5, "minor": 3}},
        "checkouts": {"type": "array", "items": thing([], git_commit_hash={"pattern": "^[0-9a-f]{40}$"})},
        "builds": {"type": "array", "items": thing(["checkout_id"], checkout_id=ID)},
        "tests": {
            "type": "array",
            "items": thing(
                ["build_id"],
                build_id=ID,
                path={"type": "string", "pattern": r"^([a-zA-Z0-9_-]+(\.[a-zA-Z0-9_-]+)*)?$"},
                status={"enum": ["FAIL", "ERROR", "MISS", "PASS", "DONE", "SKIP"]},
                log_excerpt={**TEXT, "maxLength": 16384},
                number={
                    "type": "object",
                    "properties": {"value": {"type": "number"}, "unit": TEXT},
                    "required": ["value"],
                    "additionalProperties": False,
                },
                environment={
                    "type": "object",
                    "properties": {"comment": TEXT, "misc": {"type": "object"}},
                    "additionalProperties": False,
                },
                misc={"type": "object"},
            ),
        },
    },
}
"""The part of I/O schema 5.3 that we use, from its documentation; no property may be null."""

COMMIT = "0123456789abcdef0123456789abcdef01234567"
HOSTILE = "\x00\x1b[2J/../ \u2028 é" * 2000


def read(text: str | None) -> dict[str, Any]:
    assert text is not None
    data: dict[str, Any] = json.loads(text)
    jsonschema.Draft202012Validator(SCHEMA).validate(data)
    builds = {one["id"] for one in data["builds"]}
    assert {one["checkout_id"] for one in data["builds"]} == {one["id"] for one in data["checkouts"]}
    assert {one["build_id"] for one in data["tests"]} == builds
    ids = [one["id"] for kind in ("checkouts", "builds", "tests") for one in data[kind]]
    assert len(set(ids)) == len(ids)
    return data


def test_a_verdict_is_a_test_of_its_system() -> None:
    data = read(kcidb.render(replace(scaled_view(), commit=COMMIT)))
    assert data["checkouts"] == [
        {
            "id": "benchgate:20260102T030405Z-abcdef",
            "origin": "benchgate",
            "git_commit_hash": COMMIT,
            "start_time": "2026-01-02T03:04:05Z",
        }
    ]
    (test,) = data["tests"]
    assert (test["path"], test["status"]) == ("benchgate.primes.speedup.smp2", "PASS")
    assert test["number"]["value"] == pytest.approx(1.93357, abs=1e-5)
    assert test["number"]["unit"] == "x"
    assert test["log_excerpt"].startswith("PASS: primes-linux smp2/smp1")
    assert test["misc"]["benchgate"]["threshold"] == 1.6


@pytest.mark.parametrize(
    ("word", "status"),
    [("PASS", "PASS"), ("FAIL", "FAIL"), ("SKIP", "SKIP"), ("INCONCLUSIVE", "DONE"), ("INVALID", "ERROR")],
)
def test_each_outcome_has_its_status(word: str, status: str) -> None:
    (test,) = read(kcidb.render(failing(Word(word))))["tests"]
    assert test["status"] == status


def test_what_is_not_known_is_left_out() -> None:
    first = scaled_view()
    bare = replace(first.verdicts[0], ratio=None, low=None, high=None, unit=None)
    data = read(kcidb.render(replace(first, verdicts=(bare,), commit="unavailable", started="")))
    assert "git_commit_hash" not in data["checkouts"][0]
    assert "start_time" not in data["checkouts"][0]
    assert "number" not in data["tests"][0]


def test_without_verdicts_there_is_no_file() -> None:
    assert kcidb.render(view()) is None
    assert kcidb.render(scaled_view(is_verified=False)) is None


def hostile() -> str | None:
    first = scaled_view()
    named = replace(first.verdicts[0], id=HOSTILE, system=HOSTILE, workload=HOSTILE, reason=HOSTILE)
    return kcidb.render(replace(first, verdicts=(named,), id=HOSTILE, isolation=HOSTILE))


def test_hostile_text_stays_in_the_schema() -> None:
    (test,) = read(hostile())["tests"]
    assert "\x1b" not in json.dumps(test, ensure_ascii=False)


@pytest.mark.parametrize("wrong", [{"status": "INVALID"}, {"path": "a..b"}, {"number": None}, {"id": "none"}])
def test_the_schema_refuses_what_is_wrong(wrong: dict[str, object]) -> None:
    data = json.loads(str(kcidb.render(scaled_view())))
    data["tests"][0] |= wrong
    with pytest.raises(jsonschema.ValidationError):
        read(json.dumps(data))


def test_kcidb_itself_accepts_it() -> None:
    schema = optional.module("kcidb_io.schema")
    for text in (kcidb.render(replace(scaled_view(), commit=COMMIT)), hostile()):
        assert text is not None
        data = json.loads(text)
        assert schema.V5_3.is_compatible_exactly(data)
        schema.V5_3.validate(data)
    data["tests"][0]["status"] = "INVALID"
    assert not schema.V5_3.is_valid(data)
