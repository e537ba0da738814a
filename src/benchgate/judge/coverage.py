"""Which of the CPU counts that a session declared no gate with a threshold uses.

Takes the planned cells and the gates; gives one `Ungated` per row that has such counts. Nothing fails.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from benchgate.base.cells import Cell
from benchgate.base.gates import VERIFIED, Gate


@dataclass(frozen=True, slots=True)
class Ungated:
    row: str
    cpus: tuple[int, ...]
    of: int
    """How many CPU counts the row has."""

    def __str__(self) -> str:
        """`ungated (no threshold): primes-linux smp4, smp8`."""
        counts = ", ".join(f"smp{count}" for count in self.cpus)
        return f"ungated (no threshold): {self.row} {counts}"


def ungated(cells: Iterable[Cell], gates: Iterable[Gate]) -> tuple[Ungated, ...]:
    """A variant is never gated, so it is not declared."""
    used = {cell.id for gate in gates if gate.kind != VERIFIED for cell in gate.cells}
    rows: dict[str, dict[int, bool]] = {}
    for cell in cells:
        if not cell.variant:
            rows.setdefault(cell.row, {})[cell.cpus] = cell.id in used
    found = (
        Ungated(row, tuple(sorted(count for count in counts if not counts[count])), len(counts))
        for row, counts in rows.items()
    )
    return tuple(one for one in found if one.cpus)
