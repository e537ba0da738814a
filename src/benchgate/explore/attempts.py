"""The runs that an exploration makes, and their order. Pure.

Takes the ids of cells, the strategies and how many runs each cell gets; gives the attempts. Does not fail.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

PLAIN = "plain"
"""No stalls: the clock's own seeds, which move the start of each vCPU. The baseline of the strategies."""
FIRST = 0
"""The first run of a cell. It is plain, and says how long a run is and how many steps there are."""


@dataclass(frozen=True, slots=True)
class ExplorationAttempt:
    cell: str
    number: int
    """Within its cell."""
    strategy: str
    seed: int
    """The seed of the clock and of the strategy."""

    @property
    def key(self) -> str:
        return f"{self.cell}#{self.number}"


def first_runs(cells: Sequence[str], seed: int = 1) -> Iterator[ExplorationAttempt]:
    """The first run of each cell. It has the seed of run 1, so run 1 of strategy `plain` is the same."""
    return (ExplorationAttempt(cell, FIRST, PLAIN, seed) for cell in cells)


def schedule(
    cells: Sequence[str], strategies: Sequence[str], runs: int, seed: int = 1
) -> Iterator[ExplorationAttempt]:
    """The cells take turns, and in each cell the strategies. So an exploration that is stopped has tried all
    of them, and one that goes on with more runs continues the same list. `seed`: of run 1."""
    for number in range(1, runs + 1):
        for cell in cells:
            yield ExplorationAttempt(
                cell, number, strategies[(number - 1) % len(strategies)], seed + number - 1
            )
