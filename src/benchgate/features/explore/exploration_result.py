"""The runs of an exploration in their order, and what it has found so far, as explored.json keeps it. Pure.

Takes the ids of cells, the strategies and how many runs each cell gets; gives the attempts. Takes and gives
frozen values otherwise. Fails with ValueError for a run whose outcome and find do not fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated

from benchgate.base.exploration import StallPoint
from benchgate.base.jsonfields import Between, Matches
from benchgate.features.explore.switch import Segment, Switch
from benchgate.features.explore.trouble import TroubleKind

PLAIN = "plain"
"""No stalls: the clock's own seeds, which move the start of each vCPU. The baseline of the strategies."""
FIRST = 0
"""The first run of a cell. It is plain, and says how long a run is and how many steps there are."""
OK, FOUND = "ok", "find"


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
            strategy = strategies[(number - 1) % len(strategies)]
            yield ExplorationAttempt(cell, number, strategy, seed + number - 1)


@dataclass(frozen=True, slots=True)
class RunLine:
    cell: str
    number: int
    strategy: str
    seed: int
    outcome: Annotated[str, Matches("ok|find", "ok or find")]
    work_ns: int | None
    end_ns: int | None
    steps: int | None
    stalls: int
    delayed_ns: int
    seconds: Annotated[float, Between()]
    """The host's. No figure of the guest's."""
    find: str
    """The name of its find; empty if it is none."""
    typed_ns: int | None = None
    """When the first line was typed, in guest time; None: nothing was."""

    def __post_init__(self) -> None:
        if (self.outcome == FOUND) != bool(self.find):
            raise ValueError(f"a run has outcome {self.outcome!r:.40} and find {self.find!r:.40}")

    @property
    def key(self) -> str:
        return f"{self.cell}#{self.number}"


@dataclass(frozen=True, slots=True)
class SmallFind:
    """What is left of a find."""

    cell: str
    """Fewer CPUs, or a shorter row, if the find happens there, too."""
    seed: int
    points: tuple[StallPoint, ...]
    of_points: int
    """How many there were."""
    runs: int
    """How many runs it took."""
    note: str
    """Why it is not smaller; empty if each point is needed."""
    switches: tuple[Switch, ...] = ()
    segments: tuple[Segment, ...] = ()

    @property
    def said(self) -> tuple[str, ...]:
        if self.switches:
            return tuple(switch.sentence for switch in self.switches)
        return (self.note,) if self.note else ("it happens without any stall",)


@dataclass(frozen=True, slots=True)
class Find:
    name: str
    """The name of its folder below `finds`."""
    cell: str
    number: int
    strategy: str
    seed: int
    kind: TroubleKind
    what: str
    group: str
    last_lines: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    deadline_ns: int = 0
    """How long the guest was given, in its own time."""
    small: SmallFind | None = None


@dataclass(frozen=True, slots=True)
class ExplorationResult:
    lines: tuple[RunLine, ...] = ()
    finds: tuple[Find, ...] = ()
    expected: int = 0
    """How many runs are asked for."""
    notes: tuple[str, ...] = field(default=())

    @property
    def groups(self) -> tuple[tuple[str, tuple[Find, ...]], ...]:
        """The groups, in the order in which they were first found."""
        names = dict.fromkeys(find.group for find in self.finds)
        return tuple((name, tuple(find for find in self.finds if find.group == name)) for name in names)

    @property
    def is_complete(self) -> bool:
        return len(self.lines) >= self.expected

    @property
    def unstalled(self) -> tuple[str, ...]:
        """The cells that were to be stalled, and in no run were: nothing was explored there. None as long as
        runs are missing."""
        tried = [line for line in self.lines if line.number != FIRST and line.strategy != PLAIN]
        stalled = {line.cell for line in tried if line.stalls or line.steps is None}
        cells = dict.fromkeys(line.cell for line in tried if line.cell not in stalled)
        return tuple(cells) if self.is_complete else ()


def first_finds(lines: Sequence[RunLine]) -> dict[tuple[str, str], int]:
    """How many runs of a strategy it took until its first find, by cell and strategy."""
    result: dict[tuple[str, str], int] = {}
    made: dict[tuple[str, str], int] = {}
    for line in sorted(lines, key=lambda run_line: run_line.number):
        key = line.cell, line.strategy
        made[key] = made.get(key, 0) + 1
        if line.outcome == FOUND:
            result.setdefault(key, made[key])
    return result
