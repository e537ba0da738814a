"""`benchgate baseline diff`: a session beside a baseline, cell by cell, seed by seed, symbol by symbol.

Takes a baseline and a session's folder, or that of one run; gives text. The session is checked as `verify`
does. Fails with EvidenceError if it is not intact, and with UsageError if it has no cell of the baseline.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchgate.base.cells import Lane
from benchgate.base.errors import UsageError
from benchgate.base.gates import Arm
from benchgate.base.runs import Measurement, Outcome
from benchgate.base.statistics.stats import median, ratio_interval, ratio_of_medians
from benchgate.base.system.machines import unit_on
from benchgate.base.text import counted, visible, with_interval
from benchgate.base.workload.metrics import MetricDirection
from benchgate.build.cache_storage import Notice
from benchgate.evidence.files import SESSION
from benchgate.features.baseline import acceptance, checks
from benchgate.features.baseline.baseline_file import OTHERS
from benchgate.features.baseline.baselines import Baseline, BaselineArm, Origin, SymbolCounts
from benchgate.features.baseline.checks import exact
from benchgate.features.baseline.feature import BASELINE
from benchgate.features.baseline.origin import origin_of
from benchgate.render.tables import columns
from benchgate.session.rejudging.rejudge import JudgedSession

ALPHA = 0.0276
"""The gates of the default policy use the same alpha."""
MOST_SYMBOLS = 20
Key = tuple[str, str]
"""`user` or `kernel`, and the symbol."""


@dataclass(frozen=True, slots=True)
class _Pair:
    then: BaselineArm
    now: Arm
    runs: Mapping[int, Path]
    """The folders of its counted runs, by seed."""
    here: Origin
    there: Origin


def text(baseline: Baseline, file: Path, asked: acceptance.AcceptanceRequest, notice: Notice) -> str:
    """`asked.folder` is a session's folder, or that of a run, whose cell alone is shown."""
    folder, run = acceptance.session_of(asked.folder)
    session = acceptance.checked(folder, asked)
    where = str(folder / SESSION)
    of = acceptance.measured_arms(session, where)
    here = origin_of(session.facts, where)
    shown = [arm for arm in of.values() if run is None or run.name.endswith(f"-{arm.cell.id}")]
    pairs = [
        _Pair(then, arm, _runs(session, arm), here, baseline.origin)
        for arm in shown
        if (then := checks.arm_for(baseline, arm.cell, arm.lane))
    ]
    if not pairs:
        cells = ", ".join(arm.cell.id for arm in baseline.arms)
        raise UsageError(f"{asked.folder} has no cell of the baseline, which has {cells}")
    lines = [f"baseline: session {baseline.session} of {baseline.finished}, commit {baseline.commit}"]
    without = profile_advice(baseline.session, folder, file)
    for pair in pairs:
        lines += ["", *_cell(pair)]
        if asked.profile:
            lines += _symbols(pair, asked, notice, without)
    return "\n".join(map(visible, lines))


def _runs(session: JudgedSession, arm: Arm) -> Mapping[int, Path]:
    counted_runs = (run.run for run in session.runs if run.outcome is Outcome.OK)
    return {run.seed: run.folder for run in counted_runs if run.cell == arm.cell}


def _cell(pair: _Pair) -> Iterator[str]:
    then, now = pair.then, pair.now
    work, other = now.work, then.measurements["work"]
    yield f"{now.cell.id} ({now.lane})"
    if work is None:
        yield "  no verified run"
        return
    if wrong := checks.incomparable(work, other, pair.here, pair.there):
        yield f"  not comparable: {wrong}"
        return
    names = checks.changed(work, other, pair.here, pair.there)
    yield f"  by digest: another {', another '.join(names)}" if names else "  by digest: nothing has changed"
    head = ["metric", "baseline", "now", "times worse"]
    rows = [head, *(_metric(pair, name) for name in then.measurements if name in now.measurements)]
    yield from (f"  {line}" for line in columns.drawn(rows))
    for name in then.measurements:
        yield from _seeds(pair, name)


def _metric(pair: _Pair, name: str) -> list[str]:
    then, now = pair.then.measurements[name], pair.now.measurements[name]
    unit = f" {unit_on(now.cell.system, now.unit)}".rstrip()
    medians = (f"{exact(median(each.samples))}{unit}" for each in (then, now))
    return [name, *medians, worse(then, now)]


def worse(then: Measurement, now: Measurement) -> str:
    top, bottom = (then, now) if now.metric.better is MetricDirection.MORE else (now, then)
    if min(*top.samples, *bottom.samples) <= 0:
        return "-"
    interval = ratio_interval(top.samples, bottom.samples, ALPHA, (top.step, bottom.step))
    return with_interval(ratio_of_medians(top.samples, bottom.samples), interval.low, interval.high)


def _seeds(pair: _Pair, name: str) -> Iterator[str]:
    """Compares each seed that both have on the instruction clock."""
    then, now = pair.then.measurements[name], pair.now.measurements.get(name)
    if now is None:
        yield f"  {name}: only in the baseline"
        return
    if now.lane is not Lane.INSN or checks.incomparable(now, then, pair.here, pair.there):
        return
    every, differing = checks.common(now, then), checks.differences(now, then)
    if every and not differing:
        yield f"  {name}: equal to the last digit in {counted(len(every), 'seed')}"
    for seed, (before, after) in differing.items():
        yield f"  {name}, seed {seed}: {exact(before)} -> {exact(after)} ({exact(after - before, sign=True)})"


# ---- symbols


def profile_advice(session: str, folder: Path, file: Path) -> str:
    """How the baseline gets symbols: the session that it is of is accepted again, from where sessions are."""
    out = "" if str(file) == BASELINE.default else f" --out {shlex.quote(str(file))}"
    beside = folder.resolve().parent / session
    if not beside.is_dir():
        return f"next: with the folder of session {session}: benchgate baseline accept FOLDER --profile{out}"
    return f"next: benchgate baseline accept {shlex.quote(str(beside))} --profile{out}"


def _symbols(pair: _Pair, asked: acceptance.AcceptanceRequest, notice: Notice, without: str) -> Iterator[str]:
    then = pair.then.symbols
    if then is None:
        yield f"  symbols: none in the baseline; {without}"
        return
    if then.seed not in pair.runs:
        yield f"  symbols: no run here has seed {then.seed}, of which the baseline's are"
        return
    yield from table(then, acceptance.symbols_of(asked, pair.runs[then.seed], then.seed, notice))


def table(then: SymbolCounts, now: SymbolCounts) -> Iterator[str]:
    """The symbols whose counts changed most, in instructions of the window of one seed."""
    current = folded(now.counts, then.counts)
    keys = dict.fromkeys((*then.counts, *current))
    changes = {key: (then.counts.get(key, 0), current.get(key, 0)) for key in keys}
    differing = {key: pair for key, pair in changes.items() if pair[0] != pair[1]}
    if not differing:
        yield f"  symbols of seed {then.seed}: all counts are equal"
        return
    ordered = sorted(differing.items(), key=lambda one: (-abs(one[1][1] - one[1][0]), one[0]))
    yield f"  symbols of seed {then.seed}, instructions in the window, largest change first:"
    rows = [["change", "baseline", "now", "symbol"]]
    for (space, name), (before, after) in ordered[:MOST_SYMBOLS]:
        rows.append([f"{after - before:+,}", f"{before:,}", f"{after:,}", f"{space} {name}".strip()])
    yield from (f"  {line}" for line in columns.drawn(rows))
    if len(ordered) > MOST_SYMBOLS:
        rest = sum(after - before for _, (before, after) in ordered[MOST_SYMBOLS:])
        yield f"  and {counted(len(ordered) - MOST_SYMBOLS, 'symbol')} more, together {rest:+,}"


def folded(now: Mapping[Key, int], then: Mapping[Key, int]) -> Mapping[Key, int]:
    """The counts as the baseline keeps them: a symbol that it would have kept among its others is there."""
    if OTHERS not in then:
        return now
    least = min(count for key, count in then.items() if key != OTHERS)
    small = {key for key, count in now.items() if key not in then and count <= least}
    rest = sum(now[key] for key in small)
    return {**{key: count for key, count in now.items() if key not in small}, OTHERS: rest}
