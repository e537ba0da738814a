"""verdicts.json: a list with one object per verdict; a field that does not apply is null (version 2).

Takes a SessionView; gives JSON. Does not fail.
"""

from __future__ import annotations

import json

from benchgate.base.gates import Verdict
from benchgate.render.view import SessionView

NAME = "verdicts.json"
FIELDS = (
    "id",
    "gate",
    "system",
    "workload",
    "params",
    "mode",
    "metric",
    "base_system",
    "base_cpus",
    "cpus",
    "lane",
    "threshold",
    "bound",
    "ratio",
    "value",
    "low",
    "high",
    "unit",
    "runs",
    "outcome",
    "reason",
)
LATER = ("parameter", "smallest_effect", "baseline")
"""Fields that earlier versions did not write, so that a reader must not require them."""


def as_object(verdict: Verdict) -> dict[str, object]:
    plain: dict[str, object] = {name: getattr(verdict, name) for name in (*FIELDS, *LATER)}
    return plain | {"params": dict(verdict.params)}


def render(view: SessionView) -> str:
    return json.dumps([as_object(one) for one in view.verdicts], indent=2, allow_nan=False) + "\n"
