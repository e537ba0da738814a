"""How much the host disturbed a run in its window, from the counters that were recorded around it.

Takes the files of a run and the policy's rule; gives a `Disturbance`, and the sentence why the run is void.
Takes the runs of a session and the rule; gives what each was disturbed by, for reports. The figure of the run
plays no part. A counter that the host does not offer is None, and voids nothing. Fails with VerifyError if
threads.json or host.json is not what benchgate writes.

The window is, by the host's clock, from the guest's ready line to its result. A share is of the time for
which the run's busiest vCPU could run in it: a guest also idles between the two lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from benchgate.base.cells import Lane, Placement
from benchgate.base.errors import VerifyError
from benchgate.base.runs import RawRun
from benchgate.base.void_rule import VoidRule, said
from benchgate.host.noise import HostSnapshot, ThreadCounters
from benchgate.judge.run_files import Moment, RunFiles

_BEGIN, _ENDS = "ready", ("result", "end", "stop", "exit")


@dataclass(frozen=True, slots=True)
class Disturbance:
    """What the counters grew by in a run's window; None: not known."""

    window_ns: int | None = None
    run_delay: float | None = None
    steal: float | None = None
    migrations: float | None = None
    frequency: float | None = None
    throttles: float | None = None
    involuntary: float | None = None
    psi_cpu: float | None = None
    stall_ns: int | None = None
    """The time for which the host withheld its CPUs from the vCPUs, all together."""


NOT_KNOWN = Disturbance()


def disturbance(files: RunFiles) -> Disturbance:
    pair = _window(files.moments)
    if pair is None:
        return NOT_KNOWN
    before, after = pair
    span = after.t_ns - before.t_ns
    grown = _grown(before, after)
    runnable = max(map(sum, grown or ()), default=0)
    window = runnable or span
    if window <= 0:
        return NOT_KNOWN
    delays = None if grown is None else [delay for _, delay in grown]
    involuntary = _most(before, after, lambda counters: counters.involuntary)
    stolen = _stolen(before.host, after.host, files.tick_ns)
    return Disturbance(
        window_ns=window,
        run_delay=None if delays is None else max(delays) / window,
        steal=None if stolen is None else max(stolen) / window,
        migrations=_most(before, after, lambda counters: counters.migrations),
        frequency=_spread([before.host, after.host]),
        throttles=_throttled(before.host, after.host),
        involuntary=None if involuntary is None else involuntary * 1e9 / window,
        psi_cpu=_pressure(before.host, after.host, span),
        stall_ns=None if delays is None else sum(delays) + sum(stolen or ()),
    )


def vcpu_time(moments: Sequence[Moment], window_ns: float) -> list[int] | None:
    """Gives how long each vCPU's thread ran or waited for a host CPU from the guest's ready line to its
    result. It counts from the guest's start if a busy host read the ready line so late that less time than
    the window was left. None: not known."""
    pair = _window(moments)
    if pair and pair[1].t_ns - pair[0].t_ns < window_ns:
        pair = moments[0], pair[1]
    grown = None if pair is None else _grown(*pair)
    return None if grown is None else list(map(sum, grown))


def excess(seen: Disturbance, rule: VoidRule) -> str:
    """The counters that are above their limits; empty if there are none."""
    above = [(name, getattr(seen, name), limit) for name, limit in rule.limits.items()]
    return ", ".join(
        f"{said(name, value)} (limit {said(name, limit).removeprefix(_word(name))})"
        for name, value, limit in above
        if limit is not None and _exceeds(value, limit)
    )


def is_judged(run: RawRun) -> bool:
    """True if noise can void this run. It has no effect on the instruction clock, and vCPUs that share a CPU
    wait for each other."""
    return run.lane is not Lane.INSN and run.placement is not Placement.OVERSUBSCRIBED


def _word(name: str) -> str:
    return f"{name.replace('_', ' ')} "


def _window(moments: Sequence[Moment]) -> tuple[Moment, Moment] | None:
    """The last moment before the window and the first one after it."""
    named: dict[str, Moment] = {}
    for moment in moments:
        named.setdefault(moment.name, moment)
    begin = named.get(_BEGIN)
    end = next((named[name] for name in _ENDS if name in named), None)
    return None if begin is None or end is None else (begin, end)


def _grown(before: Moment, after: Moment) -> list[tuple[int, int]] | None:
    """For how long each vCPU's thread ran, and waited; None unless it is known of every one."""
    result = []
    for start, end in _pairs(before, after):
        run, delay = _growth(start.run_ns, end.run_ns), _growth(start.delay_ns, end.delay_ns)
        if run is None or delay is None:
            return None
        result.append((run, delay))
    return result or None


def _pairs(before: Moment, after: Moment) -> list[tuple[ThreadCounters, ThreadCounters]]:
    """Each vCPU's thread at both moments; none if the threads are not the same."""
    start, end = before.vcpus, after.vcpus
    return [(start[thread], end[thread]) for thread in start] if start.keys() == end.keys() else []


def _growth(start: int | None, end: int | None) -> int | None:
    return None if start is None or end is None or end < start else end - start


def _most(before: Moment, after: Moment, counter: Callable[[ThreadCounters], int | None]) -> float | None:
    """The largest growth of a counter among the vCPUs."""
    result = [_growth(counter(start), counter(end)) for start, end in _pairs(before, after)]
    known = [number for number in result if number is not None]
    return float(max(known)) if known and len(known) == len(result) else None


def _stolen(before: HostSnapshot, after: HostSnapshot, tick_ns: int) -> list[int] | None:
    """Gives the ns of each CPU less one tick, which may have been stolen in part before the window."""
    ticks = _by_cpu(before.steal_ticks, after.steal_ticks)
    return None if ticks is None else [max(0, tick - 1) * tick_ns for tick in ticks]


def _throttled(before: HostSnapshot, after: HostSnapshot) -> float | None:
    counts = _by_cpu(before.throttles, after.throttles)
    return None if counts is None else float(sum(counts))


def _by_cpu(start: Mapping[int, int] | None, end: Mapping[int, int] | None) -> list[int] | None:
    if not start or not end or start.keys() != end.keys() or any(end[cpu] < start[cpu] for cpu in start):
        return None
    return [end[cpu] - start[cpu] for cpu in start]


def _spread(snapshots: Iterable[HostSnapshot]) -> float | None:
    seen = [snapshot.frequency_khz for snapshot in snapshots if snapshot.frequency_khz]
    values = [value for one in seen for value in one.values()]
    return (max(values) - min(values)) / max(values) if values and max(values) > 0 else None


def _pressure(before: HostSnapshot, after: HostSnapshot, span_ns: int) -> float | None:
    grown = _growth(before.psi_cpu_us, after.psi_cpu_us)
    return None if grown is None or span_ns <= 0 else grown * 1000 / span_ns


# ---- of a session's runs


@dataclass(frozen=True, slots=True)
class RunNoise:
    """How one run was disturbed, from its ready line to its result if both are known."""

    begin_s: float | None
    """The seconds from the session's first guest to the start of this one; None: not known."""
    length_s: float | None
    """The seconds from its start to its end, by the host's clock."""
    figures: Mapping[str, float | None]
    """The figures by the names of the keys of `void`, in the order of the rule."""
    above: tuple[str, ...]
    """The names of the figures above their limits."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "figures", MappingProxyType(dict(self.figures)))

    @property
    def said(self) -> tuple[str, ...]:
        """`run delay 2%`, `steal 0%`: the counters that are known."""
        return tuple(said(name, value) for name, value in self.figures.items() if value is not None)


def noise_of(runs: Iterable[RawRun], rule: VoidRule) -> dict[int, RunNoise]:
    """Gives the noise by attempt. A run without any counter is missing."""
    read = {run.attempt: (run, *_read(run)) for run in runs}
    begun = [moments[0].t_ns for _, _, moments in read.values() if moments]
    first = min(begun, default=0)
    noises = {attempt: _noise(*value, first, rule) for attempt, value in read.items() if value[2]}
    return {attempt: noise for attempt, noise in noises.items() if noise.said or noise.begin_s is not None}


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
    except VerifyError:
        values = {}
    limits = rule.limits if is_judged(run) else {}
    above = tuple(name for name, limit in limits.items() if _exceeds(values.get(name), limit))
    start, end = moments[0].t_ns, moments[-1].t_ns
    length_s = (end - start) / 1e9 if end >= start else None
    return RunNoise((start - first) / 1e9, length_s, values, above)


def _exceeds(value: float | None, limit: float | None) -> bool:
    return value is not None and limit is not None and value > limit
