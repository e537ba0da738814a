"""verdicts.json: a list with one object a verdict, null where a field does not apply (version 1).

Takes a SessionView, gives text; takes text, gives Verdicts. Reading fails with EvidenceError.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from benchgate.base.cells import Lane, Mode
from benchgate.base.errors import EvidenceError
from benchgate.base.files import read_json
from benchgate.base.gates import Verdict, Word
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
    "base_cpus",
    "cpus",
    "lane",
    "threshold",
    "ratio",
    "low",
    "high",
    "runs",
    "outcome",
    "reason",
)


def as_object(verdict: Verdict) -> dict[str, object]:
    plain: dict[str, object] = {name: getattr(verdict, name) for name in FIELDS}
    return plain | {"params": dict(verdict.params)}


def render(view: SessionView) -> str:
    return json.dumps([as_object(one) for one in view.verdicts], indent=2, allow_nan=False) + "\n"


def parse(text: str, where: str) -> tuple[Verdict, ...]:
    try:
        data = read_json(text)
    except (ValueError, RecursionError) as wrong:
        raise EvidenceError(f"{where}: not JSON: {wrong}") from None
    if not isinstance(data, list):
        raise EvidenceError(f"{where}: verdicts are a list, not {type(data).__name__}")
    return tuple(_verdict(one, f"{where}: verdict {n}") for n, one in enumerate(data))


def _verdict(data: object, where: str) -> Verdict:
    if not isinstance(data, dict) or set(data) != set(FIELDS):
        raise EvidenceError(f"{where} must have exactly the fields {', '.join(FIELDS)}")
    optional_number = (int, float, type(None))
    kinds: Mapping[str, type | tuple[type, ...]] = dict.fromkeys(FIELDS, str) | {
        "params": dict,
        "base_cpus": (int, type(None)),
        "cpus": int,
        "lane": (str, type(None)),
        "runs": int,
        **dict.fromkeys(("threshold", "ratio", "low", "high"), optional_number),
    }
    for name, kind in kinds.items():
        if not isinstance(data[name], kind) or isinstance(data[name], bool):
            raise EvidenceError(f"{where}: {name} cannot be {data[name]!r:.80}")
    try:
        words = {"mode": Mode(data["mode"]), "outcome": Word(data["outcome"])}
        lane = None if data["lane"] is None else Lane(data["lane"])
    except ValueError as wrong:
        raise EvidenceError(f"{where}: {wrong}") from None
    return Verdict(**{**data, **words, "lane": lane, "params": tuple(sorted(data["params"].items()))})
