"""The verdicts so far, or what to run next. Pure: the same arms give the same answer, now and at rejudge.

Takes gates, arms by cell id, a policy and the host's capacity by CPU count; gives a Decision. `needs`
holds how many counted, verified runs each cell should have in the end (not how many more). Fails with
DecideError where a gate cannot be meant.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from benchgate.errors import DecideError
from benchgate.gates import judge
from benchgate.gates.base import Arm, CapacityBound, Evidence, Gate, Policy
from benchgate.measure import is_counted, measure
from benchgate.model import Cell, Verdict, VerifiedRun, Window


@dataclass(frozen=True, slots=True)
class Decision:
    needs: Mapping[str, int]
    """Runs wanted by cell id; a cell that is absent needs none."""
    verdicts: tuple[Verdict, ...]
    """One for each gate, in the order of the gates; what is still in need says what is known so far."""

    @property
    def final(self) -> bool:
        return not self.needs


def decide(
    gates: Iterable[Gate],
    arms: Mapping[str, Arm],
    policy: Policy,
    capacity: Mapping[int, CapacityBound] = MappingProxyType({}),
) -> Decision:
    asked = tuple(gates)
    _distinct(asked)
    evidence = Evidence(arms, policy, capacity)
    rulings = [judge(gate, evidence) for gate in asked]
    needs: dict[str, int] = {}
    for ruling in rulings:
        for cell, runs in ruling.needs.items():
            if arms[cell].runs < runs:
                needs[cell] = max(needs.get(cell, 0), runs)
    return Decision(MappingProxyType(needs), tuple(ruling.verdict for ruling in rulings))


def arm_of(
    cell: Cell,
    runs: Iterable[VerifiedRun],
    invalid: Iterable[str] = (),
    *,
    skipped: str = "",
) -> Arm:
    """The arm that these runs make. `invalid` has one reason for each run that is no result."""
    good, bad = tuple(runs), tuple(invalid)
    counted = [run for run in good if is_counted(run)]
    attempted = sum(not run.run.warmup for run in good) + len(bad)
    facts = Arm(cell=cell, attempted=attempted, invalid=bad, skipped=skipped)
    facts = replace(facts, voided=sum(bool(run.run.void_reason) for run in good))
    if not counted:
        return facts
    try:
        work, total = measure(counted, Window.WORK), measure(counted, Window.TOTAL)
    except DecideError as odds:
        return replace(facts, invalid=(*bad, str(odds)))
    return replace(facts, lane=work.lane, placement=work.placement, work=work, total=total)


def compared(gates: Iterable[Gate]) -> int:
    """m: how many of the gates can be wrong by chance, since they compare noisy arms."""
    return sum(gate.base is not None for gate in gates)


def _distinct(gates: tuple[Gate, ...]) -> None:
    seen: set[tuple[str, str, str]] = set()
    for gate in gates:
        key = (gate.id, gate.kind, gate.window)
        if key in seen:
            raise DecideError(f"two gates share the id {gate.id!r}: a verdict could not be told from another")
        seen.add(key)
