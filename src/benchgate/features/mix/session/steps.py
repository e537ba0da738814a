"""The steps of a study, as the command and the tests of mixes call them.

Takes a Study or its folder, and what makes runs; gives the StudyOutcome, and progress on a stream. Each step
makes only the runs that are missing. Fails with UsageError for what cannot be done, EvidenceError for the
folder.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from benchgate.base.errors import UsageError
from benchgate.base.text import counted
from benchgate.features.mix import isolation, study_orders, vectors
from benchgate.features.mix.isolation import MixIsolation
from benchgate.features.mix.outcome import StudyOutcome
from benchgate.features.mix.selection import MixPlan
from benchgate.features.mix.session import conclude
from benchgate.features.mix.session.folder import StudyFolder, locked
from benchgate.features.mix.session.measure import Bench, MixRunner
from benchgate.features.mix.study import Study
from benchgate.features.mix.study_orders import Counts, StudyOrder
from benchgate.session.progress import Progress, seconds

OpenRunner = Callable[[Study], AbstractContextManager[MixRunner]]
USUAL_S = 15.0
"""What a run takes where none was made yet: an estimate, for the plan."""


@dataclass(frozen=True, slots=True)
class MixRequest:
    """Which mixes to run. The default is all that the report needs."""

    by_hand: tuple[str, ...] = ()
    """Mixes such as `a.small=2,b.large=1`; then only these are run."""
    best: int = 0
    """Only the best mixes, so many of them; 0: all that the report needs."""

    @property
    def only(self) -> bool:
        """True if some mixes are named, and the rest of the study is not run."""
        return bool(self.by_hand or self.best)


def measure_vectors(study: Study, out: Path, opened: OpenRunner, progress: Progress) -> StudyOutcome:
    with locked(out) as folder:
        folder.begin(study, vector_orders(study))
        with opened(study) as runner:
            Bench(study, folder, runner, progress).vectors()
        return conclude.report(folder)


def run_mixes(out: Path, wanted: MixRequest, opened: OpenRunner, progress: Progress) -> StudyOutcome:
    with locked(out) as folder:
        study = folder.study()
        planned, absent = mixes_to_run(folder, study, wanted)
        for text in absent:
            progress.note(text)
        folder.choose(conclude.merged(folder.chosen(), planned))
        runs = mix_orders(study, planned, wanted)
        folder.plan(study, _once([*vector_orders(study), *folder.orders(), *runs]))
        with opened(study) as runner:
            bench = Bench(study, folder, runner, progress)
            progress.expect(len(runs))
            bench.make(runs)
        return conclude.report(folder)


def isolation_of(
    study: Study, out: Path, counts: Counts | None, opened: OpenRunner, progress: Progress
) -> tuple[MixIsolation, Counts]:
    """Measures the isolation of these counts, whose inputs run alone; or of the best mix of a whole study."""
    if counts is None:
        measure_vectors(study, out, opened, progress)
        result = run_mixes(out, MixRequest(best=1), opened, progress).best
        if result is None:
            raise UsageError(f"{out}: no mix was chosen")
        return result.isolation, result.planned.counts
    with locked(out) as folder:
        runs = [order for order in study_orders.alone(study) if order.parts[0].input in counts]
        runs += study_orders.of_mixes(study, [counts])
        folder.begin(study, runs)
        with opened(study) as runner:
            progress.expect(len(runs))
            Bench(study, folder, runner, progress).make(runs)
        made = folder.runs()
        return isolation.compute(study, made, vectors.compute(study, made), counts), counts


def vector_orders(study: Study) -> tuple[StudyOrder, ...]:
    return (*study_orders.alone(study), *study_orders.pressed(study), *study_orders.limited(study))


def mix_orders(study: Study, planned: Sequence[MixPlan], wanted: MixRequest) -> tuple[StudyOrder, ...]:
    made = study_orders.of_mixes(study, [plan.counts for plan in planned])
    return (*made, *(() if wanted.only else study_orders.swept(study)))


def mixes_to_run(
    folder: StudyFolder, study: Study, wanted: MixRequest
) -> tuple[tuple[MixPlan, ...], tuple[str, ...]]:
    if wanted.by_hand:
        return conclude.by_hand(study, wanted.by_hand), ()
    if wanted.best:
        return conclude.best_only(folder, study, wanted.best), ()
    return conclude.select(folder, study)


def plan_text(study: Study, folder: StudyFolder | None) -> str:
    """How many runs there are, and what they may cost. `folder`: of this study, if it was begun."""
    alone, limited = len([*study_orders.alone(study)]), len([*study_orders.limited(study)])
    mixes = (1 + study.near + len(study.overcommit) + len(study.inputs_of(study.scaling))) * study.seeds
    swept, pressed = len([*study_orders.swept(study)]), len([*study_orders.pressed(study)])
    runs = {} if folder is None else folder.runs()
    made = len([run for run in runs.values() if run.measured is not None])
    each, told = _each(folder)
    inputs = counted(len(study.inputs), "input")
    levels = ", ".join(f"{level}%" for level in study.levels)
    lines = [
        f"study {study.name}: {inputs} of {counted(len(study.applications), 'application')}, "
        f"{counted(study.seeds, 'seed')}, {study.system} with {counted(study.cpus, 'CPU')}",
        f"{alone:6} runs alone, beside a dummy",
        *([f"{pressed:6} runs beside antagonists"] if pressed else []),
        f"{limited:6} runs with limits at most: {levels} of each resource of which an application uses "
        f"at least {float(study.least_use):.2%}",
        f"{mixes:6} runs of mixes at most",
        f"{swept:6} runs of the sweep over CPU counts",
    ]
    total = alone + pressed + limited + mixes + swept
    rest = seconds(each * max(total - made, 0))
    lines.append(f"{total:6} runs at most, {made} of them made; {told}: {rest}")
    return "\n".join(lines)


def _each(folder: StudyFolder | None) -> tuple[float, str]:
    """What a run takes, and how that is said."""
    measured_s = None if folder is None else folder.seconds_each()
    if measured_s is None:
        return USUAL_S, f"{seconds(USUAL_S)} each (an estimate)"
    return measured_s, f"{seconds(measured_s)} each (as measured in this folder)"


def mixes_plan(study: Study, folder: StudyFolder, wanted: MixRequest) -> str:
    """The mixes that are named, how many runs are left of each, and what they may cost."""
    planned, _ = mixes_to_run(folder, study, wanted)
    runs, (each, told) = folder.runs(), _each(folder)
    lines, left = [f"study {study.name}: only the mixes that are named"], 0
    for plan in planned:
        made = mix_orders(study, [plan], wanted)
        missing = len([order for order in made if order.key not in runs or runs[order.key].measured is None])
        lines.append(f"{missing:6} of {counted(len(made), 'run')} left: {study_orders.mix_name(plan.counts)}")
        left += missing
    lines.append(f"{left:6} runs left; {told}: {seconds(each * left)}")
    return "\n".join(lines)


def folder_of(path: Path) -> StudyFolder:
    if not path.is_dir():
        raise UsageError(f"{path} is no folder; next: benchgate mix vectors STUDY.yaml --out {path}")
    return StudyFolder(path)


def _once(orders: Sequence[StudyOrder]) -> list[StudyOrder]:
    return [*{order.key: order for order in orders}.values()]
