"""Decides the verdicts so far and what to run next: `rejudge` gets the same answer for the same arms.

Takes gates, arms by cell id, a policy, the host's capacity by CPU count, and what else gates
compare with; gives a Decision.
Pure. Fails with DecideError if a gate is invalid.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from benchgate.base.errors import DecideError
from benchgate.base.gates import Arm, CapacityBound, Gate, GateInput, Policy, Verdict
from benchgate.judge.gates import completed, judge


@dataclass(frozen=True, slots=True)
class Decision:
    needs: Mapping[str, int]
    """The total of counted, verified runs that a cell should have, by cell id; absent: it has enough."""
    verdicts: tuple[Verdict, ...]
    """One per gate, in the order of the gates. If runs are still needed, the verdict is provisional."""


def decide(
    gates: Iterable[Gate],
    arms: Mapping[str, Arm],
    policy: Policy,
    capacity: Mapping[int, CapacityBound] = MappingProxyType({}),
    against: Mapping[str, object] = MappingProxyType({}),
) -> Decision:
    gates = tuple(gates)
    _require_distinct(gates)
    measured = GateInput(arms, policy, capacity, against)
    rulings = [judge(gate, measured) for gate in gates]
    needs: dict[str, int] = {}
    for ruling in rulings:
        for cell, runs in ruling.needs.items():
            if arms[cell].runs < runs:
                needs[cell] = max(needs.get(cell, 0), runs)
    verdicts = completed(ruling.verdict for ruling in rulings)
    return Decision(MappingProxyType(needs), verdicts)


def _require_distinct(gates: tuple[Gate, ...]) -> None:
    seen: set[tuple[str, str, str]] = set()
    for gate in gates:
        key = (gate.id, gate.kind, gate.metric)
        if key in seen:
            raise DecideError(
                f"two gates have the id {gate.id!r}, so their verdicts could not be told apart; change one"
            )
        seen.add(key)
