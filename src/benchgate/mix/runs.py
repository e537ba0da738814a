"""What the runs of a study gave, by key. Pure.

Takes nothing; gives the types that everything after the runs works on. Nothing fails.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from benchgate.mix.measured import Measured
from benchgate.mix.numbers import Kept
from benchgate.mix.orders import alone_key, seeds
from benchgate.mix.study import Study


@dataclass(frozen=True, slots=True)
class Done:
    """A run that was made: it has either measured something, or a reason why not."""

    measured: Measured | None
    reason: str = ""
    fraction: Kept | None = None
    """Of a run with a limit: the limit divided by what the part used alone."""
    folder: str = ""
    """Of its last attempt, below the study's; empty if there was none, because there is no such limit."""

    @property
    def is_no_limit(self) -> bool:
        return self.measured is None and not self.folder


Runs = Mapping[str, Done]


def alone(study: Study, runs: Runs, name: str) -> dict[int, Measured]:
    """The valid runs of an input alone, by seed."""
    return valid({seed: runs.get(alone_key(name, seed)) for seed in seeds(study)})


def valid(found: Mapping[int, Done | None]) -> dict[int, Measured]:
    return {seed: one.measured for seed, one in found.items() if one is not None and one.measured is not None}


def why_none(found: Mapping[int, Done] | Mapping[int, Done | None]) -> str:
    """A sentence for runs of which none is valid."""
    made = [one for one in found.values() if one is not None]
    if not made:
        return "it was not run yet"
    return f"INVALID: {made[0].reason}" + (f" ({made[0].folder})" if made[0].folder else "")
