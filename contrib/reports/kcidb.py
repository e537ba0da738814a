"""kcidb.json: the verdicts as a submission to KCIDB, the database of kernel CI systems (I/O schema 5.3).

Takes a SessionView; gives JSON, or None without verdicts. One test per verdict: PASS, FAIL and SKIP keep
their names, INCONCLUSIVE is DONE (a figure, and no decision) and INVALID is ERROR (the state of the kernel is
not known). The origin is `benchgate`; `benchgate docs run-in-ci` has the command that puts a submitter's own
origin and build into it. Does not fail.
"""

from __future__ import annotations

import json
import math
import re

from benchgate import SessionView, Verdict, Word, as_json, visible

NAME = "kcidb.json"
ORIGIN = "benchgate"
MAJOR, MINOR = 5, 3
LONGEST_EXCERPT = 16_384
STATUS = {
    Word.PASS: "PASS",
    Word.FAIL: "FAIL",
    Word.SKIP: "SKIP",
    Word.INCONCLUSIVE: "DONE",
    Word.INVALID: "ERROR",
}
_COMMIT = re.compile(r"[0-9a-f]{40}")
_STAMP = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")


def render(view: SessionView) -> str | None:
    verdicts = view.shown_verdicts
    if not verdicts:
        return None
    checkout = f"{ORIGIN}:{visible(view.id)}"
    start = {"start_time": view.started} if _STAMP.fullmatch(view.started) else {}
    commit = {"git_commit_hash": view.commit} if _COMMIT.fullmatch(view.commit) else {}
    systems = sorted({verdict.system for verdict in verdicts})
    builds = {name: f"{checkout}/{visible(name)}" for name in systems}
    data = {
        "version": {"major": MAJOR, "minor": MINOR},
        "checkouts": [{"id": checkout, "origin": ORIGIN, **commit, **start}],
        "builds": [
            {"id": build, "origin": ORIGIN, "checkout_id": checkout, "comment": visible(name), **start}
            for name, build in builds.items()
        ],
        "tests": [
            {
                "id": f"{checkout}/{number}",
                "origin": ORIGIN,
                "build_id": builds[verdict.system],
                **_test(view, verdict),
                **start,
            }
            for number, verdict in enumerate(verdicts, start=1)
        ],
    }
    return json.dumps(data, indent=2, allow_nan=False) + "\n"


def _test(view: SessionView, verdict: Verdict) -> dict[str, object]:
    figure = verdict.figure
    number = {"value": figure, **({"unit": visible(verdict.unit)} if verdict.unit else {})}
    return {
        "path": ".".join(map(_word, (ORIGIN, verdict.workload, verdict.gate, f"smp{verdict.cpus}"))),
        "status": STATUS[verdict.outcome],
        "comment": visible(f"{verdict.id} {verdict.gate} {verdict.metric}"),
        "log_excerpt": visible(verdict.reason)[:LONGEST_EXCERPT],
        **({"number": number} if figure is not None and math.isfinite(figure) else {}),
        "environment": {
            "comment": visible("; ".join(f"{name}: {text}" for name, text in view.machine)),
            "misc": {"isolation": visible(view.isolation)},
        },
        "misc": {"benchgate": as_json(verdict) | {"session": view.id}},
    }


def _word(text: str) -> str:
    """A part of a test's path, which has only these characters."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", text) or "_"
