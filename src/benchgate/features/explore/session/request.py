"""What the user asked of `benchgate explore`. Pure.

Takes the words of the command line; gives a frozen `ExplorationRequest`. A wrong strategy or parameter is a
UsageError that names the option.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from benchgate.base.errors import UsageError
from benchgate.base.exploration import Exploration, Strategy, usual
from benchgate.base.snapshots import AUTO, StartKind
from benchgate.base.text import suggestion
from benchgate.features.explore.exploration_result import PLAIN

STRATEGIES = (PLAIN, *(str(one) for one in Strategy if one not in (Strategy.PLACE, Strategy.POINTS)))
ALL = "all"
USUAL = ("sync", "pct")
PARAMETERS = ("from_ns", "until_ns", "one_in", "reach", "shortest_ns", "longest_ns", "depth")
"""The parameters of an `Exploration` that a user may give."""
RUNS = 1000
SLOWER = 4.0
SMALL_RUNS = 300
_NUMBER = re.compile(r"[0-9]{1,15}")


@dataclass(frozen=True, slots=True)
class ExplorationRequest:
    paths: tuple[str, ...] = ()
    systems: tuple[str, ...] = ()
    smp: str = ""
    smoke: bool = False
    """Explore the systems' smokes, and no row of a test."""
    quick: bool = False
    start: str = AUTO
    """As for --start. An exploration looks for an interleaving, not for a figure, so rows may start warm."""
    words: tuple[str, ...] = ()
    """More words for pytest."""
    strategies: tuple[str, ...] = USUAL
    parameters: Mapping[str, int] | None = None
    window: bool = False
    slower: float = SLOWER
    first_seed: int = 1
    runs: int = RUNS
    stop_at_first: bool = False
    jobs: int = 0
    """0: as many as the host can."""
    small: bool = True
    small_runs: int = SMALL_RUNS
    """How many runs may be made to make one find small."""

    @property
    def what(self) -> dict[str, Any]:
        """What must be the same for an exploration to go on: all that changes a run. A cold start is not
        written, as in folders of versions that knew no other."""
        free = ["runs", "stop_at_first", "jobs", "small", "small_runs"]
        free += ["start"] if self.smoke or self.start == StartKind.COLD else []
        whole = asdict(self) | {"parameters": dict(self.parameters or {})}
        kept = {name: value for name, value in whole.items() if name not in free}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in kept.items()}

    def exploration(self, strategy: str, seed: int, steps: int, begin_ns: int | None = None) -> Exploration:
        """The exploration of one run, which has `steps` synchronising instructions. Its window begins at
        `begin_ns` of guest time; None: between marks."""
        if strategy == PLAIN:
            return Exploration(Strategy.POINTS)
        given: dict[str, Any] = dict(self.parameters or {})
        if not steps:
            given["depth"] = 1
        if self.window and begin_ns is not None:
            given["from_ns"] = max(given.get("from_ns", 0), begin_ns)
        marked = self.window and begin_ns is None
        try:
            return replace(usual(Strategy(strategy), seed, steps), window=marked, **given)
        except ValueError as error:
            raise UsageError(f"--with: {error}") from error


def placed(path: str, home: Path) -> str:
    """The absolute path of a test, with its node id, so that it is found again from elsewhere."""
    file, double, node = path.partition("::")
    return f"{home / file}{double}{node}"


def strategies(word: str) -> tuple[str, ...]:
    if word == ALL:
        return STRATEGIES
    result = tuple(piece for piece in word.split(",") if piece)
    for strategy in result:
        if strategy not in STRATEGIES:
            known = f"a strategy is {ALL} or of {', '.join(STRATEGIES)}"
            advice = suggestion(strategy, STRATEGIES, known)
            raise UsageError(f"--strategy {word:.80}: `{strategy:.40}` is none; {advice}")
    if not result or len(set(result)) != len(result):
        raise UsageError(f"--strategy {word!r:.80}: name at least one, each once")
    return result


def parameters(words: Sequence[str]) -> Mapping[str, int]:
    """Reads words such as `longest_ns=20000` of --with."""
    result: dict[str, int] = {}
    for word in words:
        name, _, value = word.partition("=")
        if name not in PARAMETERS:
            known = f"a parameter is one of {', '.join(PARAMETERS)}"
            raise UsageError(f"--with {word:.80}: {suggestion(name, PARAMETERS, known)}")
        if not _NUMBER.fullmatch(value):
            raise UsageError(f"--with {word:.80}: expected {name}=NUMBER")
        if name in result:
            raise UsageError(f"--with {word:.80}: {name} is given twice; next: leave one of them out")
        result[name] = int(value)
    return result


def checked(asked: ExplorationRequest) -> None:
    """UsageError if no exploration can have these parameters, or none could have a stall. Nothing is built
    before."""
    given = asked.parameters or {}
    begin, end = given.get("from_ns", 0), given.get("until_ns", 0)
    if 0 < end <= begin:
        raise UsageError(
            f"--with: from_ns {begin} is not before until_ns {end}, so no run could have a stall; next: "
            "give a later until_ns, or none for the whole run"
        )
    for strategy in asked.strategies:
        asked.exploration(str(Strategy.SYNC) if strategy == PLAIN else strategy, asked.first_seed, steps=1)
