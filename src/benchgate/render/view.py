"""What a report shows: plain frozen data, so that every format says the same.

Takes runs as they were judged, gives rows and a view. It does not fail: what is absent is None or "".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from benchgate.base.errors import EvidenceError
from benchgate.base.gates import CapacityBound, Policy, Verdict, Word
from benchgate.base.text import UNAVAILABLE
from benchgate.evidence.files import SESSION
from benchgate.evidence.rows import RunRow
from benchgate.judge.attribution import Table

WORST_FIRST = (Word.INVALID, Word.FAIL, Word.INCONCLUSIVE, Word.PASS, Word.SKIP)


@dataclass(frozen=True, slots=True)
class SessionView:
    """One session, ready to be shown."""

    id: str
    state: str
    """`partial` until everything that was planned is done, then `complete`."""
    rows: tuple[RunRow, ...]
    verdicts: tuple[Verdict, ...]
    alpha: float
    overall_error: float
    superlinear: float
    """The policy's: a speedup above this times the CPU ratio contradicts itself."""
    state_reason: str = ""
    started: str = ""
    finished: str = ""
    version: str = ""
    commit: str = ""
    capacity: Mapping[int, CapacityBound] = field(default_factory=dict)
    machine: tuple[tuple[str, str], ...] = ()
    """What the envelope says, most telling first: (name, text)."""
    isolation: str = "none seen"
    labels: tuple[str, ...] = ()
    """What every row must say, e.g. `unreviewed image`."""
    notes: tuple[str, ...] = ()
    """Sentences for the reader: why this lane, what was skipped."""
    repeat: tuple[str, ...] = ()
    """Commands that repeat and check this session."""
    attributions: tuple[Table, ...] | None = None
    """With --measure: where the time went, one table of each cell. None: it was not asked."""
    inconclusive_fails: bool = True
    """Whether INCONCLUSIVE counts as a failure in reports that know only success and failure."""
    is_verified: bool = True
    """False for a lone results.csv: its figures are shown, nothing is decided."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "capacity", MappingProxyType(dict(self.capacity)))

    @property
    def shown_verdicts(self) -> tuple[Verdict, ...]:
        """The verdicts, worst first. Of what was not verified there are none."""
        if not self.is_verified:
            return ()
        return tuple(sorted(self.verdicts, key=lambda one: WORST_FIRST.index(one.outcome)))

    @property
    def compared(self) -> int:
        """m: the verdicts that rest on noisy figures, each of which chance can make wrong."""
        return sum(one.ratio is not None for one in self.verdicts)


def headline(view: SessionView) -> str:
    """The first line of every report. It begins with PASS only if the session is whole and every verdict that
    decides anything is PASS."""
    if not view.is_verified:
        return "UNVERIFIED: figures from results.csv alone; without the runs' logs nothing is decided"
    words = [one.outcome for one in view.verdicts]
    decided = [word for word in words if word is not Word.SKIP]
    if not decided:
        head = "SKIP: nothing was decided"
    else:
        worst = min(decided, key=WORST_FIRST.index)
        others = ", ".join(
            f"{words.count(one)} {one}" for one in WORST_FIRST if one is not worst and one in words
        )
        head = f"{worst}: {words.count(worst)} of {len(words)} verdicts" + (f", {others}" if others else "")
    if view.state != "complete":
        head = f"PARTIAL: {view.state_reason or 'the session did not finish'}; until then {head}"
    return head


NOTHING = ("none", UNAVAILABLE)


def session_view(  # noqa: PLR0913 - a session has this many sides
    *,
    facts: Mapping[str, Any],
    rows: Sequence[RunRow],
    verdicts: Sequence[Verdict],
    capacity: Mapping[int, CapacityBound],
    policy: Policy,
    inconclusive_fails: bool = True,
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
        inconclusive_fails=inconclusive_fails,
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
