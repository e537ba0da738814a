"""An exploration of one run: where its vCPUs are stalled, so that they meet in another order.

Takes plain values, or the text of an untrusted file (c/explore/explore.c reads the same); gives a frozen
`Exploration`. Fails with ValueError that says what is wrong, and on which line. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import count
from typing import Self

VERSION = 1
FILE = "exploration.txt"
"""The file's name in a run's folder."""
MOST_POINTS = 20_000
"""The most points in a file, and the most stalls in a clock's log."""
MOST_NS = 1_000_000_000
"""The longest stall."""
MOST_DEPTH = 16
MOST_PLACES = 16
ADDRESS = 2**54 - 1
"""Only these bits of an instruction's address count."""
_MOST = 10**18
_NUMBER = re.compile(r"0|[1-9][0-9]{0,17}")


class Strategy(StrEnum):
    """A strategy chooses the points; `benchgate docs explore` explains each."""

    SYNC = "sync"
    """Stalls fall near synchronising instructions."""
    PCT = "pct"
    """Probabilistic concurrency testing: priorities and change points (Burckhardt et al., ASPLOS 2010)."""
    ANYWHERE = "anywhere"
    """Stalls fall at random instructions."""
    INTERRUPT = "interrupt"
    """An interrupt stalls the vCPU that receives it, or the one that sends it."""
    PLACE = "place"
    """Stalls fall at executions of the listed addresses; this makes a find small."""
    POINTS = "points"
    """Stalls fall at the listed points only."""


@dataclass(frozen=True, slots=True, order=True)
class StallPoint:
    """A stall of one vCPU before one of its instructions, which are counted from its start."""

    vcpu: int
    instruction: int
    ns: int
    """The length of the stall; 0 for a probe, which is only recorded."""


_LIMITS: Mapping[str, tuple[int, int]] = {
    "seed": (0, _MOST - 1),
    "from_ns": (0, _MOST - 1),
    "until_ns": (0, _MOST - 1),
    "window": (0, 1),
    "one_in": (1, 10**12),
    "reach": (0, 10**6),
    "shortest_ns": (1, MOST_NS),
    "longest_ns": (1, MOST_NS),
    "depth": (1, MOST_DEPTH),
    "steps": (0, 10**12),
}
"""The keys of the file after its strategy, in order, and their ranges."""


@dataclass(frozen=True, slots=True)
class Exploration:
    strategy: Strategy
    seed: int = 0
    from_ns: int = 0
    until_ns: int = 0
    """The guest time after which no stall is made; 0 for no such time."""
    window: bool = False
    """Whether stalls fall only within the marked window."""
    one_in: int = 10
    """On average one in so many synchronising instructions, interrupts or instructions gets a stall."""
    reach: int = 300
    """The stall may fall up to so many instructions later; each order of magnitude is equally likely."""
    shortest_ns: int = 200
    longest_ns: int = 30_000
    """The longest stall, chosen in the same way. With `pct`, the longest hold."""
    depth: int = 3
    """The depth of `pct`, which has one change point less."""
    steps: int = 0
    """With `pct`, how many synchronising instructions a run has; 0 if unknown, then the depth must be 1."""
    points: tuple[StallPoint, ...] = ()
    places: tuple[int, ...] = ()
    """The addresses of `place`."""

    def __post_init__(self) -> None:
        for key, (least, most) in _LIMITS.items():
            if not least <= getattr(self, key) <= most:
                raise ValueError(f"{key} {getattr(self, key)} is not from {least} to {most}")
        if self.shortest_ns > self.longest_ns:
            raise ValueError(f"shortest_ns {self.shortest_ns} is more than longest_ns {self.longest_ns}")
        if self.strategy is Strategy.PCT and self.depth > 1 and not self.steps:
            raise ValueError("a depth of more than 1 needs the number of steps of a run")
        if self.points and self.strategy is not Strategy.POINTS:
            raise ValueError(f"strategy {self.strategy} has points; only `points` has any")
        if self.places and self.strategy is not Strategy.PLACE:
            raise ValueError(f"strategy {self.strategy} has places; only `place` has any")
        _check_points(self.points)
        _check_places(self.places)

    @property
    def text(self) -> str:
        """The text of the exploration's file."""
        values = (f"{key} {int(getattr(self, key))}" for key in _LIMITS)
        points = (f"point {point.vcpu} {point.instruction} {point.ns}" for point in self.points)
        head = f"benchgate-exploration {VERSION}", f"strategy {self.strategy}"
        places = (f"place {place}" for place in self.places)
        return "\n".join((*head, *values, *points, *places, "end", ""))

    def at_points(self, points: Iterable[StallPoint]) -> Exploration:
        """Replaces the strategy's stalls by these, which a strategy's limits do not limit."""
        return replace(self, strategy=Strategy.POINTS, points=tuple(points), places=())

    def at_places(
        self, addresses: Iterable[int], seed: int, one_in: int, shortest: int, longest: int
    ) -> Self:
        """Stalls right before one in so many executions of these instructions, for some time between the
        shortest and the longest."""
        places = tuple(dict.fromkeys(address & ADDRESS for address in addresses))
        there = replace(self, strategy=Strategy.PLACE, points=(), places=places)
        return replace(there, seed=seed, one_in=one_in, reach=0, shortest_ns=shortest, longest_ns=longest)

    def __str__(self) -> str:
        listed = f"{len(self.points)} points" if self.strategy is Strategy.POINTS else f"seed {self.seed}"
        return f"strategy {self.strategy}, {listed}"


def usual(strategy: Strategy, seed: int, steps: int = 0) -> Exploration:
    """Makes an exploration with the values of `benchgate docs explore`. `steps`: of a run without stalls."""
    if strategy is Strategy.ANYWHERE:
        return Exploration(strategy, seed, one_in=20_000)
    if strategy is Strategy.INTERRUPT:
        return Exploration(strategy, seed, one_in=2)
    if strategy is Strategy.PCT:
        return Exploration(strategy, seed, longest_ns=1_000_000, depth=3 if steps else 1, steps=steps)
    return Exploration(strategy, seed)


def _check_points(points: tuple[StallPoint, ...]) -> None:
    if len(points) > MOST_POINTS:
        raise ValueError(f"there are {len(points)} points, and at most {MOST_POINTS} are possible")
    last: dict[int, int] = {}
    for number, point in enumerate(points, 1):
        if not (0 <= point.vcpu < 256 and 0 <= point.instruction < _MOST and 0 <= point.ns <= MOST_NS):
            raise ValueError(f"point {number} is out of range: {point}")
        if point.instruction < last.get(point.vcpu, 0):
            raise ValueError(f"point {number} of vCPU {point.vcpu} comes before the one listed before it")
        last[point.vcpu] = point.instruction


def _check_places(places: tuple[int, ...]) -> None:
    if len(places) > MOST_PLACES:
        raise ValueError(f"there are {len(places)} places, and at most {MOST_PLACES} are possible")
    for place in places:
        if not 0 <= place <= ADDRESS:
            raise ValueError(f"place {place} is not from 0 to {ADDRESS}")


def exploration_of(text: str) -> Exploration:
    """Reads `Exploration.text`."""
    lines, numbers = iter(text.split("\n")), count(1)

    def take(key: str, many: int = 1) -> list[str]:
        number, line = next(numbers), next(lines, "")
        words = line.split(" ")
        if words[0] != key or len(words) != 1 + many:
            raise ValueError(f"line {number}: expected `{key}` and {many} values, found `{line[:60]}`")
        return words[1:]

    if take("benchgate-exploration") != [str(VERSION)]:
        raise ValueError(f"line 1: the version is not {VERSION}")
    strategy = Strategy(take("strategy")[0])
    values = {key: _number(take(key)[0]) for key in _LIMITS}
    points, places = _listed(lines)
    window = bool(values.pop("window"))
    exploration = Exploration(strategy, window=window, points=points, places=places, **values)
    if exploration.text != text:
        raise ValueError("the file is not in the form in which benchgate writes it")
    return exploration


def _listed(lines: Iterator[str]) -> tuple[tuple[StallPoint, ...], tuple[int, ...]]:
    """Reads points and places, up to the line `end`."""
    points: list[StallPoint] = []
    places: list[int] = []
    for line in lines:
        if line == "end":
            return tuple(points), tuple(places)
        words = line.split(" ")
        if words[0] == "point" and len(words) == 4:
            points.append(StallPoint(*map(_number, words[1:])))
        elif words[0] == "place" and len(words) == 2:
            places.append(_number(words[1]))
        else:
            raise ValueError(
                f"expected `point VCPU INSTRUCTION NS`, `place ADDRESS` or `end`, found `{line[:60]}`"
            )
    raise ValueError("the file ends without its last line `end`")


def _number(word: str) -> int:
    if not _NUMBER.fullmatch(word):
        raise ValueError(f"`{word[:40]}` is not a number of up to 18 digits")
    return int(word)
