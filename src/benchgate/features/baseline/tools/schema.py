"""The schema of a baseline, for tools/schemas.py."""

from __future__ import annotations

from benchgate.base.jsonfields import MOST, form_of
from benchgate.base.workload.metrics import WINDOWS
from benchgate.features.baseline import baseline_file
from benchgate.features.baseline.baseline_file import BaselineFile
from tools.schemas import Schema, file_schema, schema_of


def schema() -> Schema:
    head = {"format": baseline_file.FORMAT, "version": baseline_file.VERSION}
    result = schema_of(form_of(BaselineFile))
    metrics = result["properties"]["cells"]["items"]["properties"]["metrics"]
    metrics["minItems"] = len(WINDOWS)
    metrics["items"]["properties"]["samples"]["items"]["maximum"] = MOST
    return file_schema("baseline-1", "a baseline, version 1", result, **head)
