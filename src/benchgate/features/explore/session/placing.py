"""Says where each stall of a small find must fall: between which instructions, and what else runs then.

Takes the trials of a find and stalls of its best case; moves each as late as it can be and makes it as short
as it can be; gives a Switch for each, and what each CPU executed around the first one. Fails as the
trials do.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchgate.base.exploration import StallPoint
from benchgate.features.explore import narrow, switch
from benchgate.features.explore.session.trials import Case, Trials
from benchgate.features.explore.switch import Segment, Switch, SwitchSide
from benchgate.insn.explore_log import Delay

MOST_MOVED = 4096
"""A stall is moved by so many instructions at most."""
PROBES = 4000
"""All other vCPUs together have so many probes in one run."""
ROUNDS = 5
"""How often the instructions that another CPU executed are looked for more closely."""
NEAR = 100
"""So many instructions of the stopped CPU on each side are in the picture."""


def where(trials: Trials, points: Sequence[StallPoint]) -> tuple[tuple[Switch, ...], tuple[Segment, ...]]:
    """Places these stalls of the best case."""
    windows = []
    for point in points:
        if point in trials.best.points:
            windows.append(_placed(trials, point))
            _leave_out_unmade(trials)
    result = [_seen(trials, point, begin) for point, begin in windows]
    return tuple(one for one, _ in result if one), next((drawn for _, drawn in result if drawn), ())


def shorter(trials: Trials, point: StallPoint) -> StallPoint:
    """Makes one stall as short as it can be."""

    def case(ns: int) -> Case:
        at = trials.best.points.index(_at(trials.best.points, point))
        return trials.best.at(narrow.lengthened(trials.best.points, at, ns))

    ns = trials.search(narrow.least(point.ns), case)
    return StallPoint(point.vcpu, point.instruction, ns)


def _leave_out_unmade(trials: Trials) -> None:
    """A stall that was moved may be all that is needed: the guest fails before it comes to another one."""
    made = {(stall.vcpu, stall.ns) for stall in trials.last.stalls}
    kept = [point for point in trials.best.points if (point.vcpu, point.ns) in made]
    if len(kept) < len(trials.best.points):
        trials.fails(trials.best.at(kept))


def _placed(trials: Trials, point: StallPoint) -> tuple[StallPoint, int]:
    """The stall as late and then as short as it can be, and the first instruction before which it can be. It
    is moved at its full length: a short stall that comes too early may last until the other CPU is there."""

    def case(by: int) -> Case | None:
        points = trials.best.points
        other = narrow.moved(points, points.index(point), by)
        return None if other is None else trials.best.at(other)

    most = min(MOST_MOVED, point.instruction)
    earlier = trials.search(narrow.farthest(most), lambda by: case(-by), adopts=False)
    later = trials.search(narrow.farthest(MOST_MOVED), case, adopts=False)
    begin = point.instruction - earlier
    if later and trials.fails(case(later)):
        point = StallPoint(point.vcpu, point.instruction + later, point.ns)
    return shorter(trials, point), begin


def _at(points: Sequence[StallPoint], point: StallPoint) -> StallPoint:
    """Finds the stall at the same instruction, whatever its length is now."""
    return next(one for one in points if (one.vcpu, one.instruction) == (point.vcpu, point.instruction))


# ---- what is executed meanwhile


def _seen(trials: Trials, point: StallPoint, begin: int) -> tuple[Switch | None, tuple[Segment, ...]]:
    ends = (begin - 1, point.instruction)
    log = _looked(trials, point, ends)
    stall = _stall(log, point)
    if stall is None:
        return None, ()
    tables = trials.maker.symbols(trials.best.planned)
    places = {delay.instruction: switch.place(delay.pc, tables) for delay in log if delay.vcpu == point.vcpu}
    stopped = SwitchSide(point.vcpu, places.get(ends[0], "its start"), places[point.instruction])
    begun, ended = switch.during(log, stall)
    others = (switch.executed(log[begun:ended], cpu, tables) for cpu in _others(trials, point))
    ran = tuple(other for other in others if other is not None)
    probes, stalls = [delay for delay in log if not delay.ns], [delay for delay in log if delay.ns]
    drawn = switch.segments(probes, stalls, stall.time + 2 * stall.ns, tables)
    return Switch(stopped, point.ns, ran), drawn


def _looked(trials: Trials, point: StallPoint, ends: Sequence[int]) -> tuple[Delay, ...]:
    """The log of the run with probes: of what the stopped CPU executes near the stall, and of each
    instruction that the others execute during it, which are looked for more closely each time."""
    near = {*range(point.instruction - NEAR, point.instruction + NEAR), *ends}
    own = [StallPoint(point.vcpu, n, 0) for n in near if n >= 0]
    others = _others(trials, point)
    log = _probed(trials, own)
    stall = _stall(log, point)
    if stall is None or not others:
        return log
    ranges = dict.fromkeys(others, (0, stall.time + stall.ns))
    for _ in range(ROUNDS):
        each = PROBES // len(others) + 1
        more = [probe for cpu in others for probe in narrow.probes([cpu], *ranges[cpu], each)]
        log = _probed(trials, [*own, *more])
        stall = _stall(log, point)
        if stall is None:
            break
        begun, ended = switch.during(log, stall)
        before = ranges
        ranges = {cpu: switch.around(log, cpu, begun, ended, before[cpu]) for cpu in others}
        if ranges == before:
            break
    return log


def _probed(trials: Trials, probes: Sequence[StallPoint]) -> tuple[Delay, ...]:
    points = narrow.listed([*trials.best.points, *probes])
    return trials.made(trials.best.at(points)).stalls


def _stall(log: Sequence[Delay], point: StallPoint) -> Delay | None:
    return next((delay for delay in log if delay.point == point), None)


def _others(trials: Trials, point: StallPoint) -> list[int]:
    return [cpu for cpu in range(trials.best.planned.cell.cpus) if cpu != point.vcpu]
