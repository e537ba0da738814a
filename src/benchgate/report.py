"""From judged runs to what is shown: rows, figures, and the one `SessionView` that every format renders.

Takes results and the facts of session.json, gives plain data. Pure; the same for a session that has just
ended and for one that is judged again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchgate import plan
from benchgate.attribution import Table
from benchgate.bundle import SESSION
from benchgate.errors import EvidenceError
from benchgate.gates.base import CapacityBound, Policy
from benchgate.host.facts import UNAVAILABLE
from benchgate.model import Lane, Verdict, Word
from benchgate.options import Options
from benchgate.plan import Ground, PlannedCell, SweepPlan
from benchgate.render import units
from benchgate.render.model import RunRow, SessionView, row_of
from benchgate.sweep import JudgedRun

NOTHING = ("none", UNAVAILABLE)
UNDECIDED = 5
"""The exit code where nothing, or not everything that was asked, was decided."""


@dataclass(frozen=True, slots=True)
class ReportLine:
    """One pytest report, as much of it as the outcome needs."""

    nodeid: str
    outcome: str
    duration_s: float
    message: str


def row(judged: JudgedRun) -> RunRow:
    return row_of(judged.run, judged.verified, judged.reason, outcome=judged.outcome)


def figure(judged: JudgedRun) -> str:
    """What the progress line says of a run that has ended."""
    if judged.verified is None:
        return f"{judged.outcome.upper()}: {judged.reason}"
    shown = units.shown(judged.verified.work, judged.verified.unit)
    return f"{shown}, verified" + (f" ({judged.outcome})" if judged.run.warmup else "")


def expected_runs(sweep: SweepPlan, options: Options) -> int:
    """Up to the first look, warm-ups included."""
    runs = sum(plan.runs_of(cell, options) for cell in sweep.runnable)
    wall = sum(cell.seats.lane is not Lane.INSN for cell in sweep.runnable)
    return runs + wall + (wall < len(sweep.runnable))


def reseated(planned: PlannedCell, cpus: int, ground: Ground, options: Options) -> PlannedCell:
    """The same system and workload at another CPU count."""
    seats = plan.seats(planned.system, planned.workload, cpus, ground, replace(options, smp=None))
    return replace(planned, cell=replace(planned.cell, cpus=cpus), seats=seats)


def view(  # noqa: PLR0913 - a session has this many sides
    *,
    facts: Mapping[str, Any],
    rows: Sequence[RunRow],
    verdicts: Sequence[Verdict],
    capacity: Mapping[int, CapacityBound],
    policy: Policy,
    attributions: tuple[Table, ...] | None = None,
) -> SessionView:
    """`facts` is what session.json holds. EvidenceError where it holds something else than was written."""
    envelope, inputs = _object(facts, "envelope"), _object(facts, "inputs")
    session_id = str(facts.get("id", UNAVAILABLE))
    return SessionView(
        id=session_id,
        state=str(facts.get("state")),
        state_reason=str(facts.get("state_reason") or ""),
        rows=tuple(rows),
        verdicts=tuple(verdicts),
        alpha=policy.alpha,
        overall_error=policy.overall_error,
        superlinear=policy.superlinear,
        started=str(facts.get("started", "")),
        finished=str(facts.get("finished") or ""),
        version=str(_object(facts, "versions").get("pytest-benchgate", UNAVAILABLE)),
        commit=str(facts.get("commit", UNAVAILABLE)),
        capacity=capacity,
        machine=_machine(envelope, inputs),
        isolation=isolation(envelope),
        labels=_texts(inputs, "labels"),
        notes=_texts(facts, "notes"),
        attributions=attributions,
        repeat=(str(facts.get("command", "pytest")), f"benchgate rejudge reports/runs/{session_id}"),
    )


def _object(facts: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = facts.get(name, {})
    if not isinstance(found, Mapping):
        raise EvidenceError(f"{SESSION}: {name} is {found!r:.40}, not an object")
    return found


def _texts(facts: Mapping[str, Any], name: str) -> tuple[str, ...]:
    found = facts.get(name, ())
    if not isinstance(found, list | tuple):
        raise EvidenceError(f"{SESSION}: {name} is {found!r:.40}, not a list")
    return tuple(map(str, found))


def isolation(envelope: Mapping[str, Any]) -> str:
    seen = {name: text for name, text in _object(envelope, "isolation").items() if text not in NOTHING}
    return ", ".join(f"{name} {text}" for name, text in seen.items()) or "none seen"


def exit_code(words: Sequence[Word]) -> int:
    """0 every gate PASS; 1 a FAIL or INVALID; 5 nothing was decided; 75 only INCONCLUSIVE."""
    if any(word in (Word.FAIL, Word.INVALID) for word in words):
        return 1
    if Word.INCONCLUSIVE in words:
        return 75
    return 0 if Word.PASS in words else UNDECIDED


def _machine(envelope: Mapping[str, Any], inputs: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """The five lines of the envelope that a reader asks for first; session.json holds the rest."""

    def say(*names: str) -> str:
        return ", ".join(f"{name.replace('_', ' ')} {envelope.get(name, UNAVAILABLE)}" for name in names)

    probes = _object(envelope, "accelerators")
    reasons = [str(_object(probes, name).get("reason")) for name in probes]
    qemu = _object(inputs, "qemu")
    return (
        ("processor", f"{envelope.get('cpu_model', UNAVAILABLE)}; {say('sockets', 'cores', 'threads')}"),
        ("topology", say("topology_source", "topology_hidden", "online", "affinity")),
        ("accelerators", "; ".join(reasons) or UNAVAILABLE),
        ("qemu", " ".join(str(qemu.get(key, "")) for key in ("version", "origin")).strip() or UNAVAILABLE),
        ("host", say("kernel", "timer_source", "frequency_policy", "provider", "instance")),
    )
