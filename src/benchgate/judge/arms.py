"""Makes the arms of a sweep from its judged runs: samples, invalid runs, and whether the clock repeats.

Takes planned cells, judged runs in the order of execution and the metrics that their workload declares; gives
an `Arm` per cell. Two runs of one seed must be equal, and `difference` says where they are not. If the host
ended a guest (after its result, at a failure that it printed, at a deadline), it did so at a moment of its
own, and only the part that both runs have is compared. Fails with VerifyError if a console or a clock log
cannot be read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from types import MappingProxyType

from benchgate.base.cells import Cell, Lane
from benchgate.base.errors import DecideError
from benchgate.base.gates import Arm
from benchgate.base.runs import Ending, RawRun, VerifiedRun
from benchgate.base.text import counted
from benchgate.base.workload.metrics import OF_THREADS, Metric, SeenBy, with_windows
from benchgate.insn.explore_log import Delay
from benchgate.insn.log import ClockLog
from benchgate.insn.log_reader import read_log
from benchgate.judge.checks.witness_summary import told, who_says, witness_of
from benchgate.judge.judged_run import JudgedRun
from benchgate.judge.run_files import RunFiles
from benchgate.judge.samples import is_sample, measurement
from benchgate.run.end_memory import content_of

MOST_PAGES = 4
"""So many pages of memory that differ are named."""
NO_METRICS: Mapping[str, Metric] = MappingProxyType({})


def arm_of(
    cell: Cell,
    runs: Iterable[VerifiedRun],
    invalid: Iterable[str] = (),
    *,
    skipped: str = "",
    declared: Mapping[str, Metric] = NO_METRICS,
) -> Arm:
    """The arm of these runs. `invalid` has one reason for each run without a result."""
    good, bad = tuple(runs), tuple(invalid)
    samples = [run for run in good if is_sample(run)]
    void = tuple(f"{_name(run.run)}: {run.void}" for run in good if run.void and not run.run.warmup)
    facts = Arm(
        cell,
        attempted=len(samples) + len(void) + len(bad),
        invalid=bad,
        void=void,
        skipped=skipped,
        informs=any(run.unverified for run in good),
    )
    if not samples:
        return facts
    absent = _without_value(samples)
    lacks = {
        name: why for name, why in samples[0].skipped.items() if all(name in run.skipped for run in samples)
    }
    absent |= {name: why for name, why in _unseen(samples).items() if name not in lacks}
    try:
        every = with_windows(declared)
        known = [name for name in every if name not in lacks and name not in absent]
        measurements = {name: measurement(good, every[name]) for name in known}
    except DecideError as error:
        return replace(facts, invalid=(*bad, str(error)))
    one = next(iter(measurements.values()))
    facts = replace(facts, lane=one.lane, placement=one.placement, lacks=lacks, absent=absent)
    facts = replace(facts, boots=_boots_behind(samples))
    who = who_says(samples, declared)
    said = told(witness_of(good), who, one.lane)
    claimed = {} if one.lane is not Lane.INSN else {n: w for n, w in who.items() if w is not SeenBy.MACHINE}
    facts = replace(facts, measurements=measurements, sample=_folder(samples[0].run))
    return replace(facts, witness=said, claimed=claimed)


def _boots_behind(runs: Sequence[VerifiedRun]) -> int:
    """Each boot has CPUs, devices and times of its own, also of a small kernel with one CPU. So the content
    of the snapshots counts, and not the number of the boot in their records."""
    return len({run.start[1] for run in runs if run.start is not None})


def _without_value(runs: Sequence[VerifiedRun]) -> dict[str, str]:
    """The metrics that some of these runs have no value of, how many, and why the first has none."""
    result: dict[str, str] = {}
    for name in {name: None for run in runs for name in run.absent}:
        without = [run for run in runs if name in run.absent]
        share = f"{len(without)} of {counted(len(runs), 'run')}"
        result[name] = f"{share} without a value: {_name(without[0].run)}: {without[0].absent[name]}"
    return result


def _unseen(runs: Sequence[VerifiedRun]) -> dict[str, str]:
    """The metrics of threads that some of these runs do not have: a session with --measure records the
    threads of one run."""
    without = [run for run in runs if run.skipped.keys() & OF_THREADS.keys()]
    share = f"{len(without)} of {counted(len(runs), 'run')} without a record of threads"
    return dict.fromkeys([name for run in without for name in run.skipped], share)


def arm_from_runs(
    cell: Cell,
    runs: Sequence[JudgedRun],
    skipped: str,
    unrepeated: Sequence[str] = (),
    declared: Mapping[str, Metric] = NO_METRICS,
) -> Arm:
    """One arm from its judged runs, in the order of execution. `unrepeated`: the differences between runs of
    one seed, in the whole sweep."""
    good = [judged.verified for judged in runs if judged.verified]
    bad = [_reason(judged) for judged in runs if not judged.verified]
    exact = any(judged.run.lane is Lane.INSN for judged in runs)
    return replace(
        arm_of(cell, good, bad, skipped=skipped, declared=declared),
        unfinished=tuple(_reason(judged) for judged in runs if judged.is_unfinished),
        unrepeated=tuple(unrepeated) if exact else (),
        culprit=next((_folder(judged.run) for judged in runs if not judged.verified), ""),
    )


def _reason(judged: JudgedRun) -> str:
    return f"{_name(judged.run)}: {judged.reason}"


def _name(run: RawRun) -> str:
    """The sentences of an arm name its cell already."""
    return f"run {run.attempt:04}"


def _folder(run: RawRun) -> str:
    return f"runs/{run.folder.name}"


def differences(runs: Sequence[RawRun]) -> list[str]:
    """Differences between runs of one seed on the instruction clock; the lane needs a host without any."""
    exact = [run for run in runs if run.lane is Lane.INSN]
    pairs = [(one, two) for one, two in combinations(exact, 2) if one.seed == two.seed]
    return [words for one, two in pairs if (words := difference(one, two))]


def arms(
    cells: Sequence[tuple[Cell, str]], runs: Sequence[JudgedRun], declared: Mapping[str, Metric] = NO_METRICS
) -> dict[str, Arm]:
    """The arm of each planned cell; `cells` has pairs of a cell and why it was skipped. `runs` may have those
    of other rows: only one arm of a system and workload repeats a seed, and a difference there makes all
    their arms on the instruction clock invalid. A skipped cell has no runs here, although another sweep may
    have measured it."""
    of: dict[str, list[JudgedRun]] = {cell.id: [] for cell, skipped in cells if not skipped}
    kinds = {(cell.system, cell.workload) for cell, _ in cells}
    repeatable: dict[str, list[RawRun]] = {}
    for judged in runs:
        cell = judged.run.cell
        if cell.id in of:
            of[cell.id].append(judged)
        if judged.verified and (cell.system, cell.workload) in kinds:
            repeatable.setdefault(cell.id, []).append(judged.run)
    result = [words for some in repeatable.values() for words in differences(some)]
    return {
        cell.id: arm_from_runs(cell, of.get(cell.id, ()), skipped, result, declared)
        for cell, skipped in cells
    }


# ---- two runs of one seed


def difference(first: RawRun, second: RawRun) -> str:
    if first.clock_log is None or second.clock_log is None:
        return ""
    logs = read_log(first.clock_log), read_log(second.clock_log)
    names = f"{_name(first)} and {_name(second)} of {first.cell.id}"
    where = f"{names} have the same seed {first.seed} but differ"
    if result := _of_ends(first, second) or _of_common_events(*logs):
        return f"{where}{result}"
    ended_by_host = None in (first.exit_status, second.exit_status)
    if logs[0].marks != logs[1].marks and not (ended_by_host and second.ending is not Ending.DONE):
        return f"{where} in their marks"
    if logs[0].totals != logs[1].totals and not ended_by_host:
        return f"{where} in their instruction counts"
    files = RunFiles(first), RunFiles(second)
    one, two = (each.console for each in files)
    if ended_by_host:
        one, two = one[: len(two)], two[: len(one)]
    if one != two:
        return f"{where} in their consoles"
    result = _of_memory(files[0], files[1])
    return f"{where} in {result}" if result else ""


def _of_ends(first: RawRun, second: RawRun) -> str:
    ends = {first.ending, second.ending} - {Ending.INTERRUPTED}
    return f" in their ends: {first.ending}, {second.ending}" if len(ends) > 1 else ""


def _of_common_events(one: ClockLog, two: ClockLog) -> str:
    """The first mark or stall, of those that both have, or turn of the clock, in which they differ."""
    for mark, other in zip(one.marks, two.marks, strict=False):
        if mark != other:
            return (
                f": mark {mark.kind} at {mark.time} on vCPU {mark.vcpu}, "
                f"mark {other.kind} at {other.time} on vCPU {other.vcpu}"
            )
    for stall, second in zip(_stalls(one), _stalls(two), strict=False):
        if stall != second:
            return f" in their stalls: {stall.point} at {stall.time}, {second.point} at {second.time}"
    if one.turned and two.turned and one.turned != two.turned:
        return f" in the rules to which their clocks turned: {one.turned[0].option}, {two.turned[0].option}"
    return ""


def _stalls(log: ClockLog) -> tuple[Delay, ...]:
    return log.explored.delays if log.explored else ()


def _of_memory(files: RunFiles, other: RunFiles) -> str:
    """The first pages of memory in which both ended differently; empty if there is none, or if one was not
    kept."""
    texts = content_of(files.run.folder), content_of(other.run.folder)
    if None in texts or texts[0] == texts[1] or files.end_memory is None or other.end_memory is None:
        return ""
    pages = files.end_memory.differing(other.end_memory)
    if not pages:
        return "the digest of their memory"
    named = ", ".join(f"{address:#x}" for address in pages[:MOST_PAGES])
    more = ", ..." if len(pages) > MOST_PAGES else ""
    return f"{counted(len(pages), 'page')} of memory at their end: {named}{more}"


def repeats(runs: Sequence[JudgedRun]) -> tuple[str, ...]:
    """What the runs of one seed have in common: which of the cells that ran one twice are equal in what."""
    exact = [
        judged_run.run for judged_run in runs if judged_run.verified and judged_run.run.lane is Lane.INSN
    ]
    pairs = [
        (one, two)
        for one, two in combinations(exact, 2)
        if one.warmup and (one.cell, one.seed) == (two.cell, two.seed) and not difference(one, two)
    ]
    without = [one.cell.id for one, two in pairs if None in (content_of(one.folder), content_of(two.folder))]
    told = {
        "consoles, counts and memory are equal": [
            run.cell.id for run, _ in pairs if run.cell.id not in without
        ],
        "consoles and counts are equal, the memory was not compared": without,
    }
    return tuple(
        f"one seed was run twice in {counted(len(cells), 'cell')}: {what} ({', '.join(cells)})"
        for what, cells in told.items()
        if cells
    )
