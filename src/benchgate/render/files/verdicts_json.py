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
    "parameter",
    "smallest_effect",
    "runs",
    "outcome",
    "reason",
)


def as_object(verdict: Verdict) -> dict[str, object]:
    plain: dict[str, object] = {name: getattr(verdict, name) for name in FIELDS}
    # Only of gates that have one: earlier versions wrote no such field, and their reports must still follow.
    more = {"baseline": verdict.baseline} if verdict.baseline else {}
    return plain | {"params": dict(verdict.params)} | more


def render(view: SessionView) -> str:
    return json.dumps([as_object(one) for one in view.verdicts], indent=2, allow_nan=False) + "\n"
