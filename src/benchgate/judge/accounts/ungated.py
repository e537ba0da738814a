"""The CPU counts of a session that no gate uses.

Takes the planned cells and the gates; gives an `UngatedRow` for each row with such counts. Nothing fails.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from benchgate.base.cells import Cell
from benchgate.base.gates import VERIFIED, Gate


@dataclass(frozen=True, slots=True)
class UngatedRow:
    row: str
    cpus: tuple[int, ...]

    def __str__(self) -> str:
        """`ungated (no threshold): primes-linux smp4, smp8`."""
        counts = ", ".join(f"smp{count}" for count in self.cpus)
        return f"ungated (no threshold): {self.row} {counts}"


def ungated(cells: Iterable[Cell], gates: Iterable[Gate]) -> tuple[UngatedRow, ...]:
    """A variant is never gated, so it is not declared."""
    used = {cell.id for gate in gates if gate.kind != VERIFIED for cell in gate.cells}
    rows: dict[str, dict[int, bool]] = {}
    for cell in cells:
        if not cell.variant:
            rows.setdefault(cell.row, {})[cell.cpus] = cell.id in used
    found = ((row, tuple(sorted(count for count in of if not of[count]))) for row, of in rows.items())
    return tuple(UngatedRow(row, counts) for row, counts in found if counts)
