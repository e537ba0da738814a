"""Everything after the runs: tables, the choice of mixes, and the report, from the study's folder alone.

Takes a StudyFolder; writes its tables and its report, and gives the StudyOutcome. Two calls on equal folders
write equal files. Fails with UsageError if the folder cannot be read, or if no mix fits.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from benchgate.base.errors import UsageError
from benchgate.evidence.files import write_whole
from benchgate.features.mix import files, outcome, programme, selection
from benchgate.features.mix.outcome import ApplicationFigures, StudyOutcome
from benchgate.features.mix.page import study_page
from benchgate.features.mix.programme import Applications
from benchgate.features.mix.selection import MixPlan
from benchgate.features.mix.session.folder import StudyFolder
from benchgate.features.mix.study import Study

VECTORS, SENSITIVITY = "vectors.csv", "sensitivity.csv"
"""The files that `benchgate mix choose` reads."""
INTERVALS, LEVELS = "vectors-intervals.csv", "sensitivity-levels.csv"
ISOLATION, REPORT = "isolation.csv", "report.html"
BY_HAND = "chosen by hand"
_COUNT = re.compile(r"([1-9][0-9]?|100)\Z")


def tables_of(folder: StudyFolder) -> tuple[str, str]:
    """The text of both tables, from the runs in the folder."""
    study = folder.study()
    return _tables(study, outcome.known(study, folder.runs()))


def _tables(study: Study, single: ApplicationFigures) -> tuple[str, str]:
    vectors, sigmas, refused = single.vectors, single.sigmas, single.refused
    table = files.vectors_csv(study, vectors, refused)
    return table, files.sensitivity_csv(study, vectors, sigmas, refused)


def write_tables(folder: StudyFolder, study: Study, single: ApplicationFigures) -> None:
    vectors, sigmas = single.vectors, single.sigmas
    for name, text in zip((VECTORS, SENSITIVITY), _tables(study, single), strict=True):
        write_whole(folder.path / name, text)
    write_whole(folder.path / INTERVALS, files.vector_intervals_csv(study, vectors))
    write_whole(folder.path / LEVELS, files.sensitivity_levels_csv(sigmas))


def applications(folder: StudyFolder, *, names_folder: bool = True) -> Applications:
    """Reads the tables in the folder, as `benchgate mix choose --study` does."""
    if not (folder.path / VECTORS).exists():
        again = f"benchgate mix vectors STUDY --out {folder.path}"
        raise UsageError(f"{folder.path}: not every input was measured yet; next: {again}")
    if names_folder:
        return files.read(folder.path / VECTORS, folder.path / SENSITIVITY)
    return files.read(Path(VECTORS), Path(SENSITIVITY), below=folder.path)


def select(folder: StudyFolder, study: Study) -> tuple[tuple[MixPlan, ...], tuple[str, ...]]:
    """The mixes to run, and what there is no mix for."""
    result = selection.select(study, applications(folder))
    return result.chosen, result.absent


def best_only(folder: StudyFolder, study: Study, top: int) -> tuple[MixPlan, ...]:
    choices = programme.best(applications(folder), study.capacity, top)
    roles = [(selection.BEST,), *([(f"number {n}",) for n in range(2, top + 1)])]
    return tuple(MixPlan(selection.counts_of(mix), role) for mix, role in zip(choices, roles, strict=False))


def by_hand(study: Study, words: Sequence[str]) -> tuple[MixPlan, ...]:
    """Reads words such as `a.small=2,b.large=1`."""
    return tuple(MixPlan(_counts(study, word), (BY_HAND,)) for word in words)


def merged(first: Sequence[MixPlan], more: Sequence[MixPlan]) -> tuple[MixPlan, ...]:
    """Each mix once, with the roles of both."""
    plans: dict[tuple[tuple[str, int], ...], MixPlan] = {}
    for plan in (*first, *more):
        key = tuple(sorted(plan.counts.items()))
        known = plans.get(key, plan)
        plans[key] = MixPlan(known.counts, tuple(dict.fromkeys((*known.roles, *plan.roles))))
    return tuple(plans.values())


def report(folder: StudyFolder) -> StudyOutcome:
    study, runs = folder.study(), folder.runs()
    single = outcome.known(study, runs)
    write_tables(folder, study, single)
    solvable: Applications | None = None
    said: tuple[str, ...] = ()
    try:
        solvable = applications(folder, names_folder=False)  # equal folders have equal reports
    except UsageError as error:
        said = (str(error),)
    study_outcome = outcome.conclude(study, runs, single, solvable, folder.chosen(), said)
    mixes = [(" ".join(mix.planned.roles), mix.isolation) for mix in study_outcome.mixes]
    write_whole(folder.path / ISOLATION, files.isolation_csv(mixes))
    write_whole(folder.path / REPORT, study_page.page(study_outcome))
    return study_outcome


def _counts(study: Study, word: str) -> dict[str, int]:
    known = [study_input.name for study_input in study.inputs]
    result: dict[str, int] = {}
    for pair in word.split(","):
        name, _, count = pair.partition("=")
        if name not in known:
            raise UsageError(f"--mix {word}: `{name}` is no input of the study; there are {', '.join(known)}")
        if not _COUNT.match(count) or name in result:
            raise UsageError(f"--mix {word}: `{pair}` is not such as {name}=2, or is there twice")
        result[name] = int(count)
    return {name: result[name] for name in known if name in result}
