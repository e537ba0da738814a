"""junit.xml without pytest, and a verdict's properties for pytest's own.

Takes verdicts, gives XML or (name, value) pairs. The numbers stand in the failure's one-line message too,
since strict readers show no properties. INVALID and INCONCLUSIVE are failures of their own type: absence
of an answer is no success.
"""

from __future__ import annotations

from benchgate.base.gates import Verdict, Word
from benchgate.render.escape import xml
from benchgate.render.files.verdicts_json import as_object
from benchgate.render.view import SessionView, headline

NAME = "junit.xml"
FAILING = (Word.FAIL, Word.INVALID, Word.INCONCLUSIVE)


def properties(verdict: Verdict) -> tuple[tuple[str, str], ...]:
    """For `item.user_properties`: every field that applies, named benchgate.FIELD."""
    fields = as_object(verdict) | {"params": " ".join(f"{name}={value}" for name, value in verdict.params)}
    return tuple((f"benchgate.{name}", str(value)) for name, value in fields.items() if value is not None)


def render(view: SessionView) -> str:
    failing = [word for word in FAILING if view.inconclusive_fails or word is not Word.INCONCLUSIVE]
    verdicts = view.shown_verdicts
    failures = sum(one.outcome in failing for one in verdicts)
    skipped = sum(one.outcome is not Word.PASS and one.outcome not in failing for one in verdicts)
    counts = f'tests="{len(verdicts)}" failures="{failures}" errors="0" skipped="{skipped}"'
    stamp = f' timestamp="{xml(view.started)}"' if view.started else ""
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        f'<testsuites name="benchgate" {counts}>',
        f'  <testsuite name="benchgate" {counts} time="0"{stamp}>',
        *(line for one in verdicts for line in _case(one, failing)),
        f"    <system-out>{xml(headline(view))}</system-out>",
        "  </testsuite>",
        "</testsuites>",
    ]
    return "\n".join(lines) + "\n"


def _case(verdict: Verdict, failing: list[Word]) -> list[str]:
    group = xml(f"benchgate.{verdict.gate}")
    lines = [f'    <testcase classname="{group}" name="{xml(f"{verdict.id}-{verdict.metric}")}" time="0">']
    lines.append("      <properties>")
    for name, value in properties(verdict):
        lines.append(f'        <property name="{xml(name)}" value="{xml(value)}"/>')
    lines.append("      </properties>")
    reason = xml(verdict.reason)
    if verdict.outcome in failing:
        lines.append(f'      <failure type="{verdict.outcome}" message="{reason}">{reason}</failure>')
    elif verdict.outcome is not Word.PASS:
        lines.append(f'      <skipped type="{verdict.outcome}" message="{reason}"/>')
    return [*lines, "    </testcase>"]
