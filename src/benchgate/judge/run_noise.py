"""What the host's counters say of each run, and when: the figures behind `void`, for every run.

Takes the files of a run and the policy's rule; gives a `RunNoise`. A counter that the host does not offer is
None. Runs whose files cannot be read have none; that is the verifier's to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from benchgate.base.errors import VerifyError
from benchgate.base.runs import RawRun
from benchgate.base.void_rule import VoidRule, said
from benchgate.judge.noise import disturbance, is_judged
from benchgate.judge.run_files import Moment, RunFiles


@dataclass(frozen=True, slots=True)
class RunNoise:
    """Of one run, from its ready line to its result if both are known."""

    begin_s: float | None
    """When its guest was started, after the session's first guest; None: not known, or by another boot of the
    host."""
    length_s: float | None
    """From its start to its end, by the host's clock."""
    figures: Mapping[str, float | None]
    """By the names of the keys of `void`, in the order of the rule."""
    above: tuple[str, ...]
    """Those above their limits."""
    stall_ms: float | None
    """For how long the host withheld its CPUs from the vCPUs, all together."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "figures", MappingProxyType(dict(self.figures)))

    @property
    def said(self) -> tuple[str, ...]:
        """`run delay 2%`, `steal 0%`: the counters that are known."""
        return tuple(said(name, value) for name, value in self.figures.items() if value is not None)


def noise_of(runs: Iterable[RawRun], rule: VoidRule) -> dict[int, RunNoise]:
    """By attempt. Without any counter a run is missing."""
    read = {run.attempt: (run, *_read(run)) for run in runs}
    begun = [moments[0].t_ns for _, _, moments in read.values() if moments]
    first = min(begun, default=0)
    found = {attempt: _noise(*one, first, rule) for attempt, one in read.items() if one[2]}
    return {attempt: one for attempt, one in found.items() if one.said or one.begin_s is not None}


def _read(run: RawRun) -> tuple[RunFiles, tuple[Moment, ...]]:
    files = RunFiles(run)
    try:
        return files, files.moments
    except VerifyError:
        return files, ()


def _noise(run: RawRun, files: RunFiles, moments: tuple[Moment, ...], first: int, rule: VoidRule) -> RunNoise:
    try:
        seen = disturbance(files)
        values = {name: getattr(seen, name) for name in rule.limits}
        stall = seen.stall_ns
    except VerifyError:
        values, stall = {}, None
    judged = is_judged(run)
    above = tuple(name for name, limit in rule.limits.items() if judged and _exceeds(values.get(name), limit))
    start, end = moments[0].t_ns, moments[-1].t_ns
    return RunNoise(
        begin_s=(start - first) / 1e9,
        length_s=(end - start) / 1e9 if end >= start else None,
        figures=values,
        above=above,
        stall_ms=None if stall is None else stall / 1e6,
    )


def _exceeds(value: float | None, limit: float | None) -> bool:
    return value is not None and limit is not None and value > limit
