"""The rule by which a disturbed run is void: which counter of the host may grow how much in a run's window.

Takes limits; gives a frozen rule, the same for every arm. An inconsistent rule fails with ValueError.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Annotated

from benchgate.base.yaml.keys import Choice, Either, Integer, Number

MOST_RUNS = 199
"""The largest number of runs per arm. Plan, order and bootstrap grow with it."""
OFF = "off"
"""In a policy's YAML this word means that the counter is recorded but voids no run."""


def _limit(about: str, default: str | None = None) -> Either:
    """A limit, or the word that takes the counter out of the rule."""
    return Either(about, (Number(about), Choice("no limit", (OFF,))), default=default)


@dataclass(frozen=True, slots=True)
class VoidRule:
    """The largest values at which a run counts (None: any). The fields are the keys of `void` in a policy."""

    run_delay: Annotated[
        float | None,
        _limit("the longest wait of a vCPU's thread for a host CPU, as a share of the window"),
    ] = 0.02
    """How long a vCPU's thread waited for a host CPU, as a share of the window."""
    steal: Annotated[
        float | None,
        _limit("what the hypervisor withheld of a CPU of the run, as a share of the window"),
    ] = 0.02
    """How long the hypervisor withheld a CPU of the run from the host, as a share of the window."""
    migrations: Annotated[float | None, _limit("how often a pinned vCPU's thread changed its CPU")] = 0.0
    """How often a vCPU's thread changed its host CPU."""
    frequency: Annotated[
        float | None,
        _limit("the spread of the frequencies of the run's CPUs, as a share of the highest"),
    ] = 0.02
    """The difference between the highest and the lowest frequency of the run's CPUs, as a share of it."""
    throttles: Annotated[
        float | None,
        _limit("how often the processor was slowed down because of its temperature"),
    ] = 0.0
    """How often the processor was slowed down because of its temperature."""
    involuntary: Annotated[
        float | None,
        _limit("how often per second of the window a vCPU's thread lost its CPU", OFF),
    ] = None
    """How often per second of the window a vCPU's thread lost its CPU to another one."""
    psi_cpu: Annotated[
        float | None,
        _limit("for how long some task of the whole host waited, as a share of the window", OFF),
    ] = None
    """For how long some task of the whole host waited for a CPU, as a share of the window."""
    most: Annotated[int, Integer("a sweep ends after more void runs than this ...", high=MOST_RUNS)] = 3
    share: Annotated[float, Number("... and than this share of its runs")] = 0.5
    """A sweep ends if more than `most` of its runs are void, and more than this share of them."""

    def __post_init__(self) -> None:
        limits = [limit for limit in self.limits.values() if limit is not None]
        if not all(math.isfinite(limit) and limit >= 0 for limit in limits):
            raise ValueError("a limit of `void` must be a number of at least 0, or off")
        if self.most < 0 or not 0 <= self.share < 1:
            raise ValueError("need void.most >= 0 and 0 <= void.share < 1")

    @property
    def limits(self) -> Mapping[str, float | None]:
        """The limit of each counter."""
        names = [field.name for field in fields(self) if field.name not in ("most", "share")]
        return MappingProxyType({name: getattr(self, name) for name in names})

    @property
    def is_off(self) -> bool:
        """Whether no run can be void."""
        return all(limit is None for limit in self.limits.values())

    def too_many(self, void: int, runs: int) -> bool:
        """Whether a sweep ends, because so many of its runs are void."""
        return void > max(self.most, self.share * runs)

    def __str__(self) -> str:
        limits = [said(name, limit) for name, limit in self.limits.items() if limit is not None]
        return ", ".join(limits) or OFF


DEFAULT = VoidRule()
NO_RULE = VoidRule(None, None, None, None, None)
"""Nothing is void: the rule of sessions of earlier versions, which had none."""

_COUNTS = ("migrations", "throttles")


def said(name: str, value: float) -> str:
    """`run delay 2%`, `involuntary 40 per s`, `migrations 0`: a counter with its value or limit."""
    if name in _COUNTS:
        return f"{name} {value:g}"
    shown = f"{value:.3g} per s" if name == "involuntary" else f"{100 * value:.3g}%"
    return f"{name.replace('_', ' ')} {shown}"
