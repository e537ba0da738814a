"""`benchgate mix`: which applications run together, chosen by integer programming from what was measured.

`vectors` measures what each application uses and depends on, `choose` solves the programme, `run` runs mixes,
`report` computes all again from the study's folder, `check` judges every run again, `same` compares two
folders. Exit status 4 for a wrong file or if no input fits; of `check` 1 if a run says something else than
its result, of `same` if anything differs.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchgate.base.errors import BenchgateError, UsageError
from benchgate.commands.shared import say, whole

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from benchgate.features.mix.outcome import StudyOutcome


def declare(parser: argparse.ArgumentParser) -> None:
    found = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _declare_vectors(found.add_parser("vectors", help="measure what each application uses and depends on"))
    _declare_choose(found.add_parser("choose", help="solve the integer programme"))
    _declare_run(found.add_parser("run", help="run the chosen mixes, and report"))
    for name, about, call in (
        ("report", "compute tables and report again, from the study's folder alone", _report),
        ("check", "judge every run again, from its files alone", _check),
    ):
        argument_parser = found.add_parser(name, help=about, description=about)
        argument_parser.add_argument("folder", type=Path, metavar="DIR", help="the study's folder")
        argument_parser.set_defaults(command=call)
    same = found.add_parser("same", help="compare two folders of one study, file by file")
    same.add_argument("folder", type=Path, metavar="DIR", help="a study's folder")
    about = "the folder of the same study, measured again"
    same.add_argument("other", type=Path, metavar="OTHER", help=about)
    same.set_defaults(command=_same)


# ---- vectors


def _declare_vectors(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("study", metavar="STUDY", help="the study's YAML file, or the name of a shipped one")
    about = "its folder (default: reports/mixes/NAME); goes on there"
    parser.add_argument("--out", type=Path, metavar="DIR", help=about)
    parser.add_argument("--quick", action="store_true", help="fewer seeds, one limit: shows where it leads")
    parser.add_argument("--plan", action="store_true", help="print the runs and their cost; make none")
    _declare_forks(parser)
    parser.set_defaults(command=_vectors)


def _declare_forks(parser: argparse.ArgumentParser) -> None:
    about = "runs that start warm are forks of one QEMU where they can be (`benchgate docs warm`)"
    parser.add_argument("--forks", action="store_true", help=about)


def _vectors(words: argparse.Namespace) -> int:
    from benchgate.features.mix import studyfile
    from benchgate.features.mix.session import guest_runner, steps
    from benchgate.features.mix.session.folder import PLAN, StudyFolder
    from benchgate.session.progress import on_stderr

    study = studyfile.load(studyfile.find(words.study))
    study = studyfile.quick(study) if words.quick else study
    out = words.out or Path("reports") / "mixes" / study.name
    if words.plan:
        print(steps.plan_text(study, StudyFolder(out) if (out / PLAN).is_file() else None))
        return 0
    outcome = steps.measure_vectors(study, out, partial(guest_runner.opened, forks=words.forks), on_stderr())
    return _show(outcome, out)


# ---- choose


def _declare_choose(choose: argparse.ArgumentParser) -> None:
    about = "application,input,score and a column for each resource: the share that the input uses alone"
    choose.add_argument("--vectors", type=Path, metavar="CSV", help=about)
    about = "application and the same resources: how much its score depends on each, from 0 to 1"
    choose.add_argument("--sensitivity", type=Path, metavar="CSV", help=about)
    about = "both tables, and the capacities, are those of this study"
    choose.add_argument("--study", type=Path, metavar="DIR", help=about)
    about = "how much of a resource the mix may use (default: 1); above 1 overcommits it; repeatable"
    choose.add_argument("--capacity", action="append", default=[], metavar="RESOURCE=SHARE", help=about)
    about = "the N best mixes (default: 1, at most 100)"
    choose.add_argument("--top", type=whole(1, 100), default="1", metavar="N", help=about)
    choose.add_argument("--json", action="store_true", help="print JSON instead of a table")
    choose.set_defaults(command=_choose)


def _choose(words: argparse.Namespace) -> int:
    from benchgate.features.mix import files, findings, programme
    from benchgate.features.mix.page import study_tables as study

    applications = files.read(*_tables(words))
    # A study has measured whether scores rise, and its tables leave out what does not.
    refused = [] if _of_a_study(*_tables(words)) else [*findings.of_tables(applications)]
    if refused:
        raise UsageError("\n".join(refused))
    asked = files.capacities(words.capacity, applications.resources)
    capacity = {**_capacity_of(words.study), **asked}
    for line in findings.of_applications(applications, capacity):
        say(line)
    choices = programme.best(applications, capacity, words.top)
    for line in findings.of_mix(choices[0], applications):
        say(line)
    if words.json:
        print(study.mixes_json(choices, applications.resources))
    else:
        print("\n".join(study.mixes_text(choices, applications.resources)))
    return 0


def _capacity_of(study: Path | None) -> Mapping[str, Fraction]:
    """Gives the capacities in the study's plan."""
    from benchgate.features.mix.session.folder import StudyFolder

    return {} if study is None else StudyFolder(study).study().capacity


def _of_a_study(vectors: Path, sensitivity: Path) -> bool:
    """True if the tables are, byte by byte, those that follow from the runs in the folder of the first."""
    from benchgate.features.mix.session import conclude
    from benchgate.features.mix.session.folder import PLAN, StudyFolder

    folder = vectors.parent
    if not (folder / PLAN).is_file():
        return False
    try:
        known = conclude.tables_of(StudyFolder(folder))
    except BenchgateError:  # another program's plan, or one that cannot be read
        return False
    return [path.read_text(encoding="utf-8-sig") for path in (vectors, sensitivity)] == [*known]


def _tables(words: argparse.Namespace) -> tuple[Path, Path]:
    from benchgate.features.mix.session.conclude import SENSITIVITY, VECTORS

    if words.study is not None and words.vectors is None and words.sensitivity is None:
        return words.study / VECTORS, words.study / SENSITIVITY
    if words.study is None and words.vectors is not None and words.sensitivity is not None:
        return words.vectors, words.sensitivity
    raise UsageError("give --vectors and --sensitivity, or --study")


# ---- run, report, check


def _declare_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, metavar="DIR", help="the study's folder")
    about, form = "run this mix only; repeatable (default: all that the report needs)", "A.X=N,B.Y=M"
    parser.add_argument("--mix", action="append", default=[], dest="mix_words", metavar=form, help=about)
    about = "run the N best mixes only"
    parser.add_argument("--best", type=whole(1, 100), default=0, metavar="N", help=about)
    parser.add_argument("--plan", action="store_true", help="print the runs and their cost; make none")
    _declare_forks(parser)
    parser.set_defaults(command=_run)


def _run(words: argparse.Namespace) -> int:
    from benchgate.features.mix.session import guest_runner, steps
    from benchgate.features.mix.session.steps import MixRequest
    from benchgate.session.progress import on_stderr

    if words.mix_words and words.best:
        raise UsageError("benchgate mix run: give --mix or --best, not both")
    folder = steps.folder_of(words.folder)
    wanted = MixRequest(tuple(words.mix_words), words.best)
    if words.plan:
        study = folder.study()
        print(steps.mixes_plan(study, folder, wanted) if wanted.only else steps.plan_text(study, folder))
        return 0
    opened = partial(guest_runner.opened, forks=words.forks)
    return _show(steps.run_mixes(words.folder, wanted, opened, on_stderr()), words.folder)


def _report(words: argparse.Namespace) -> int:
    from benchgate.features.mix.session import conclude, steps

    return _show(conclude.report(steps.folder_of(words.folder)), words.folder)


def _check(words: argparse.Namespace) -> int:
    from benchgate.features.mix.session import check, steps

    different = check.differences(steps.folder_of(words.folder))
    for line in different:
        say(line)
    print("every run says what its result says" if not different else f"{len(different)} differences")
    return 1 if different else 0


def _same(words: argparse.Namespace) -> int:
    from benchgate.features.mix.session import check, steps

    comparison = check.compare(steps.folder_of(words.folder), steps.folder_of(words.other))
    for line in comparison.differences:
        say(line)
    print(comparison.told)
    return 1 if comparison.differences else 0


def _show(outcome: StudyOutcome, folder: Path) -> int:
    from benchgate.features.mix.page import study_tables as tables
    from benchgate.features.mix.session.conclude import REPORT

    for line in (*outcome.findings, *outcome.invalid):
        say(line)
    print("\n".join(tables.text(outcome)))
    print(f"\nreport: {folder / REPORT}")
    return 0
