"""Makes a find small: fewer CPUs, a shorter row, fewer stalls, shorter ones; and says where the switch falls.

Takes the trials of a find, whose best case is the find's run; gives a `SmallFind`. Each step keeps only what
still fails in the same way, so it may be stopped after any. Which instruction a stall must precede is the
same in every run; at which of its executions is not, because each stall moves all that follows. So runs are
also stalled before executions of one instruction alone, at few of them, by chance. Fails as the trials do,
but for a lack of runs, which is part of what is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from benchgate.base.exploration import ADDRESS, MOST_NS, Exploration, StallPoint, Strategy
from benchgate.base.text import one_line
from benchgate.features.explore import narrow
from benchgate.features.explore.exploration_result import PLAIN, Find, SmallFind
from benchgate.features.explore.narrow import ddmin
from benchgate.features.explore.session import placing
from benchgate.features.explore.session.loop import limit_ns, window_from
from benchgate.features.explore.session.trials import Case, SpentError, Trials
from benchgate.features.explore.switch import Segment, Switch
from benchgate.features.explore.trouble import TroubleKind
from benchgate.insn.explore_log import Delay
from benchgate.plan.planned import PlannedCell
from benchgate.plan.workloadfile import fill

SEEDS = 20
"""So many seeds are tried with fewer CPUs, or in a shorter row."""
RARER = (4, 16)
"""So many times rarer stalls are tried if a find has too many."""
PATIENCE = 10
"""So many times the guest time is given before what is left of a hang counts as one."""
SLOW = f"with {PATIENCE} times the guest time it ends: its stalls make it slow, and it does not hang"
MOST_SWITCHES = 4
"""Sentences say where stalls fall if there are at most so many."""
LAST = 12
"""So many of the last stalls before the failure are tried, the last one first. What follows the stall that
matters may be needed, too: a thread that sleeps for ever must not be woken by something else."""
ROUNDS = ((4, (1, 2)), (4, (3, 4)), (16, (5, 6, 7, 8)))
"""How many stalls a run has on average, and the seeds of each instruction's runs."""
LONGER = 8
"""Every other run has stalls that are longer than all of the find's: the other CPU need not be there at once.
They are up to so many times as long."""
NEVER = 10**12


def small(trials: Trials, of: int) -> SmallFind:
    """`of` is the number of the find's stalls."""
    seen, is_whole = len(trials.last.stalls), trials.last.is_whole
    note = ""
    switches: tuple[Switch, ...] = ()
    segments: tuple[Segment, ...] = ()
    try:
        if not _fails_as_listed(trials) and (is_whole or not _fails_with_fewer(trials)):
            alone = "the list of its stalls alone does not make it again"
            listed = f"the log lists {seen} of {of} stalls, so it replays by its seed only"
            return _small(trials, of, alone if is_whole else listed)
        if not _is_confirmed(trials):
            return _small(trials, of, SLOW)
        _fewer_cpus(trials)
        _shorter_row(trials)
        last = _fewer_stalls(trials)
        if not _is_confirmed(trials):
            return _small(trials, of, SLOW)
        points = trials.best.points
        if len(points) > MOST_SWITCHES:
            note = f"{len(points) - 1} stalls before it make it happen there; without them it was not found"
            points = tuple(point for point in points if point == last)
        switches, segments = placing.where(trials, points)
    except SpentError:
        spent = f"{trials.asked.small_runs} runs were not enough to make it smaller"
        note = f"{spent}; --small-runs allows more"
    return _small(trials, of, note, switches, segments)


def _small(
    trials: Trials,
    of: int,
    note: str,
    switches: tuple[Switch, ...] = (),
    segments: tuple[Segment, ...] = (),
) -> SmallFind:
    best = trials.best
    return SmallFind(best.planned.cell.id, best.seed, best.points, of, trials.runs, note, switches, segments)


def _fails_as_listed(trials: Trials) -> bool:
    if trials.fails(trials.listed):
        return True
    trials.in_pieces = True
    if trials.stalls != narrow.in_time(trials.stalls) and trials.fails(trials.listed):
        return True
    trials.in_pieces = False
    return False


def _fails_with_fewer(trials: Trials) -> bool:
    """A find with more stalls than the log lists has no list that could be made smaller, and those that it
    lists are not enough. Other runs may fail in the same way with few enough: stalled only after what the log
    lists, or more rarely."""
    strategy = trials.best.exploration
    later = max((stall.time for stall in trials.last.stalls), default=0)
    rarer = (replace(strategy, one_in=strategy.one_in * times) for times in RARER)
    for fewer in (replace(strategy, from_ns=max(strategy.from_ns, later)), *rarer):
        cases = [trials.best.explored(replace(fewer, seed=seed)) for seed in range(1, SEEDS + 1)]
        if trials.becomes(cases):
            return True
    return False


def _fewer_stalls(trials: Trials) -> StallPoint | None:
    """What comes after the last stall that is needed changes nothing. Each stall moves all that follows, so
    most of those before it only decide where it falls; another run may need fewer."""
    if not trials.best.points or trials.fails(trials.best.at(())):
        return None
    _last_needed(trials)
    if len(trials.best.points) > 1 and _fails_with_few(trials, trials.last.stalls):
        _last_needed(trials)
    trials.most = min(trials.runs + trials.asked.small_runs // 3, trials.asked.small_runs)
    try:
        trials.search(ddmin(trials.best.points), trials.best.at)
    except SpentError:
        if trials.runs >= trials.asked.small_runs:
            raise
    trials.most = 0
    return _last_needed(trials)


def _last_needed(trials: Trials) -> StallPoint:
    """Leaves out the stalls that come later."""
    stalls = trials.stalls
    trials.search(narrow.farthest(len(stalls) - 1), lambda n: trials.best.at(stalls[: len(stalls) - n]))
    return trials.stalls[-1]


def _is_confirmed(trials: Trials) -> bool:
    """Heavy stalls may only make a run slow: a hang is one that has not ended with much more time either."""
    best = trials.best
    if trials.find.kind is not TroubleKind.HANG or best.deadline_ns is None:
        return True
    return trials.fails(replace(best, deadline_ns=PATIENCE * best.deadline_ns), adopts=False)


# ---- in a smaller cell


def _fewer_cpus(trials: Trials) -> None:
    now = trials.best.planned
    for cpus in (2, 4, 8, 16, 32):
        planned = trials.maker.at(now, cpus) if cpus < now.cell.cpus else None
        if planned is not None and _happens_in(trials, planned):
            return


def _shorter_row(trials: Trials) -> None:
    planned = trials.best.planned
    if not planned.workload.quick or not planned.cell.params:
        return
    values, label = fill(planned.workload, dict(planned.cell.params) | dict(planned.workload.quick))
    if values != planned.cell.params:
        _happens_in(trials, replace(planned, cell=replace(planned.cell, params=values, label=label)))


def _happens_in(trials: Trials, planned: PlannedCell) -> bool:
    """True if the find happens in another cell, too; that cell is what is made smaller from here on."""
    find = trials.find
    if find.kind is TroubleKind.SLOW:
        return False  # what is slow there is not known
    plain = Case(planned, 1, Exploration(Strategy.POINTS), None)
    made = trials.made(plain)
    if trials.is_same(made):
        return trials.fails(plain)
    steps, limit = made.steps or 0, limit_ns(made.end_ns)
    begin_ns = window_from(planned, made.typed_ns)
    cases = []
    for seed in range(2 if find.strategy == PLAIN else 1, SEEDS + 1):
        exploration = trials.asked.exploration(find.strategy, seed, steps, begin_ns)
        cases.append(Case(planned, seed, exploration, limit))
    return trials.becomes(cases)


def told(find: Find) -> str:
    """One line about what is left of a find."""
    if find.small is None:
        return ""
    made = find.small
    stalls = f"{len(made.points)} of {made.of_points} stalls"
    return one_line(f"{find.name}: {stalls} after {made.runs} runs: {'; '.join(made.said)}", 1000)


def _fails_with_few(trials: Trials, stalls: Sequence[Delay]) -> bool:
    """`stalls` are those of the best case, up to the last one that is needed."""
    last: dict[int, int] = {}
    for stall in reversed(stalls[-LAST:]):
        last.setdefault(stall.pc & ADDRESS, stall.ns)
    executed: dict[int, int] = {}
    for expected, seeds in ROUNDS:
        for pc, ns in last.items():
            if pc not in executed:
                executed[pc] = trials.made(_case(trials, pc, 1, NEVER, ns)).steps or 0
            one_in = max(executed[pc] // expected, 1)
            tried = [_case(trials, pc, seed, one_in, ns) for seed in seeds if executed[pc]]
            if trials.becomes(tried, most=max(len(stalls) - 1, 1)):
                return True
    return False


def _case(trials: Trials, pc: int, seed: int, one_in: int, ns: int) -> Case:
    best = trials.best
    longest = max(best.exploration.longest_ns, ns)
    if seed % 2 == 0:
        ns, longest = longest, min(LONGER * longest, MOST_NS)
    return best.explored(best.exploration.at_places([pc], seed, one_in, ns, longest))
