"""Reads a study's YAML file.

Takes a path, or text and the path to name in messages; gives a Study. Fails with CatalogError, which names
file, line and key of every problem: two applications of one name, an unknown workload, parameter, metric or
input, a metric of which less is better, a sweep that needs more CPUs than there are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from benchgate.base.clocks import Clock
from benchgate.base.errors import BenchgateError, CatalogError
from benchgate.base.paths import data_root
from benchgate.base.text import suggestion
from benchgate.base.workload.metrics import MetricDirection
from benchgate.base.workload.workloads import Workload
from benchgate.base.yaml import yamlfile
from benchgate.base.yaml.keys import NAME
from benchgate.base.yaml.yaml_nodes import text_of
from benchgate.base.yaml.yamlfile import Section
from benchgate.features.mix.study import (
    BANDWIDTH,
    CALIBRATED,
    DUMMY,
    PRESSED,
    RATE,
    RESOURCES,
    Antagonists,
    Study,
    StudyInput,
    StudySweep,
    written_number,
)
from benchgate.features.mix.study_keys import INPUT, STUDY
from benchgate.plan import catalog
from benchgate.plan.workloadfile import fill

MOST_UNITS = 10**15
FOLDER = "fixtures/mixes"


def find(word: str) -> Path:
    """The file for the name of a shipped study, or for a path."""
    if NAME.match(word) and not Path(word).is_file():
        shipped = data_root() / FOLDER / f"{word}.yaml"
        if shipped.is_file():
            return shipped
    return Path(word)


def load(path: Path) -> Study:
    return parse(text_of(path), path)


def parse(text: str, path: Path) -> Study:
    with yamlfile.collecting(yamlfile.parse(text, path, STUDY)) as top:
        cpus = top.integer("cpus")
        inputs = _applications(top, cpus)
        levels, every_input = _sensitivity(top)
        seeds = top.integer("seeds")
        return Study(
            name=top.text("name"),
            about=top.text("about"),
            system=_system(top),
            cpus=cpus,
            machine=_machine(top),
            clock=top.choice("clock"),
            resources=_resources(top),
            calibrate=_calibrate(top, inputs),
            antagonists=_antagonists(top, inputs),
            inputs=inputs,
            least=top.integer("least"),
            limit_ms=top.integer("limit_ms"),
            seeds=seeds,
            limit_seeds=seeds,
            levels=levels,
            every_input=every_input,
            least_use=_fraction(top, "least_use", high=1),
            capacity=_capacity(top),
            sweep=_sweep(top, inputs, cpus),
            scaling=_scaling(top, inputs),
            overcommit=_overcommit(top),
            near=top.integer("near"),
            file=path,
            text=text,
        )


def quick(study: Study) -> Study:
    """The same with less of everything that can be had for less: it shows where the full one leads."""
    middle = study.levels[len(study.levels) // 2]
    return replace(
        study,
        seeds=min(study.seeds, 2),
        limit_seeds=1,
        levels=(middle,),
        every_input=False,
        near=min(study.near, 2),
        overcommit=tuple(sorted({study.overcommit[0], study.overcommit[-1]})) if study.overcommit else (),
    )


# ---- applications


def _applications(top: Section, cpus: int) -> tuple[StudyInput, ...]:
    section = top.section("applications")
    if section is None:
        if not top.refused("applications"):
            top.refuse("is missing; expected applications by name, each with its inputs", "applications")
        return ()
    inputs: list[StudyInput] = []
    for name in section.keys():  # noqa: SIM118 - a Section, not a dict
        one = section.section(name)
        if not NAME.match(name) or name == DUMMY:
            section.refuse(f"is no name of an application, or `{DUMMY}`, which is the part that waits", name)
        elif one is not None:
            inputs += _application(name, one, cpus)
            one.close()
    if not inputs and not top.problems.collected:
        top.refuse("there is no application with an input", "applications")
    return tuple(inputs)


def _application(name: str, section: Section, cpus: int) -> list[StudyInput]:
    workload = _workload(section, section.text("workload", name))
    score = section.text("score")
    if workload is not None and score != RATE:
        _check_score(section, workload, score)
    inputs = section.section("inputs")
    if inputs is None:
        if not section.refused("inputs"):
            section.refuse("is missing; expected inputs by name, such as `small: {workers: 1}`", "inputs")
        return []
    study_inputs = []
    for word in inputs.keys():  # noqa: SIM118 - a Section, not a dict
        one = inputs.section(word)
        if not NAME.match(word):
            inputs.refuse("is not a name: lower-case letters, digits and _, beginning with a letter", word)
        elif one is not None and workload is not None:
            study_inputs.append(_input(name, word, one, workload, score, cpus))
    if not study_inputs and workload is not None:
        section.refuse("has no input", "inputs")
    without = [study_input.input for study_input in study_inputs if study_input.units is None]
    if without and len(without) < len(study_inputs):
        inputs.refuse("has no `units`, but another input has", without[0])
    return study_inputs


def _workload(section: Section, word: str) -> Workload | None:
    """A path is relative to the study's file."""
    is_path = "/" in word or word.endswith((".yaml", ".yml"))
    try:
        beside = (section.path.parent / word).absolute()  # `./mine` beside `study.yaml` is no name
        workload = catalog.load_workload(str(beside) if is_path else word)
        if workload.threads is not None:
            why = f"is a {workload.threads.kind}, which is no part of a mix: its guest is its own"
            raise CatalogError(f"{workload.name} {why}")
    except BenchgateError as error:
        section.refuse(str(error), "workload" if section.has("workload") else "inputs")
        return None
    return workload


def _check_score(section: Section, workload: Workload, score: str) -> None:
    metric = workload.metrics.get(score)
    if metric is None:
        known = (RATE, *workload.metrics)
        near = suggestion(score, known, f"there are {', '.join(known)}")
        section.refuse(f"`{score}` is no metric of {workload.name}; {near}", "score")
    elif metric.better is not MetricDirection.MORE:
        section.refuse(f"less of {score} is better, and a score must rise with resources", "score")


def _input(  # noqa: PLR0913, PLR0917 - what an input consists of
    application: str, name: str, section: Section, workload: Workload, score: str, cpus: int
) -> StudyInput:
    workers = section.integer("workers", cpus)
    units = _units(section, workload, score)
    given = {key: section.text(key) for key in section.keys() if key not in INPUT}  # noqa: SIM118
    try:
        params = fill(workload, given)[0]
    except BenchgateError as error:
        section.refuse(str(error), next(iter(given), "workers"))
        params = ()
    where = f"{section.path}:{section.line}"
    word = catalog.word_of(workload)
    return StudyInput(application, name, word, workers, params, score, units, where)


def _units(section: Section, workload: Workload, score: str) -> Fraction | None:
    """Reads how much work one run completes."""
    if not section.has("units"):
        return None
    value = _fraction(section, "units", high=MOST_UNITS)
    if "units" in workload.params:
        section.refuse(f"{workload.name} has a parameter of this name; rename it", "units")
    elif score != RATE:
        section.refuse(f"is of the score `{RATE}`; this application's is {score}", "units")
    return value


# ---- what is measured of them


def _system(top: Section) -> str:
    word = top.text("system")
    try:
        catalog.load_system(word)
    except BenchgateError as error:
        top.refuse(str(error), "system")
    return word


def _machine(top: Section) -> str:
    word = top.text("machine")
    try:
        machine = catalog.memory_machine(word)
    except BenchgateError as error:
        top.refuse(str(error), "machine")
        return ""
    if machine is not None and len({*machine.capacities}) > 1:
        why = "what a part loses in a mix could not be told from what it loses on a small CPU"
        top.refuse(f"machine {machine.name} has CPUs of different speed: {why}", "machine")
    return "" if machine is None else word


def _resources(top: Section) -> tuple[str, ...]:
    words = top.texts("resources")
    for word in words:
        if word not in RESOURCES or words.count(word) > 1:
            top.refuse(f"`{word}` is twice, or not one of {', '.join(RESOURCES)}", "resources")
    return words


def _calibrate(top: Section, inputs: tuple[StudyInput, ...]) -> Mapping[str, str]:
    is_wall = top.text("clock") == Clock.WALL
    calibrated = (*CALIBRATED, BANDWIDTH) if is_wall else CALIBRATED
    with top.optional("calibrate") as section:
        words = {name: section.text(name) for name in section.keys()}  # noqa: SIM118 - a Section
        for resource, word in words.items():
            if resource not in calibrated:
                section.refuse(f"needs no calibration; only {' and '.join(calibrated)} do", resource)
            _known_input(section, resource, word, inputs)
    return words


def _antagonists(top: Section, inputs: tuple[StudyInput, ...]) -> Mapping[str, Antagonists]:
    with top.optional("antagonists") as section:
        names = section.keys()
        if names and top.text("clock") != Clock.WALL:
            why = "stand in for counters on wall time: give `clock: wall`, or a `machine`"
            top.refuse(why, "antagonists")
        result = {}
        for resource in names:
            one = section.section(resource)
            if resource not in PRESSED:
                section.refuse(f"is counted; only {' and '.join(PRESSED)} need antagonists", resource)
            elif one is not None:
                result[resource] = _antagonists_of(one, inputs)
                one.close()
        return result


def _antagonists_of(section: Section, inputs: tuple[StudyInput, ...]) -> Antagonists:
    whole = _fraction(section, "whole", high=MOST_UNITS)
    with section.optional("takes") as inner:
        takes = {name: _fraction(inner, name, high=MOST_UNITS) for name in inner.keys()}  # noqa: SIM118
        for name in takes:
            _known_input(inner, name, name, inputs)
    parts = [*takes.values()]
    if len(parts) < 2 or parts != sorted(set(parts)) or parts[-1] > whole:
        expected = "expected two inputs or more, the one that takes least first, none over `whole`"
        section.refuse(expected, "takes")
    return Antagonists(whole, takes)


def _known_input(section: Section, key: str, word: str, inputs: tuple[StudyInput, ...]) -> None:
    known = [study_input.name for study_input in inputs]
    if inputs and word not in known and not section.refused(key):
        section.refuse(f"`{word}` is no application.input; there are {', '.join(known)}", key)


def _sensitivity(top: Section) -> tuple[tuple[int, ...], bool]:
    with top.optional("sensitivity") as section:
        levels = section.integers("levels")
        if not levels or any(not 1 <= level <= 99 for level in levels) or len(set(levels)) < len(levels):
            section.refuse("expected different percentages from 1 to 99", "levels")
        return levels, section.choice("inputs") == "all"


def _capacity(top: Section) -> Mapping[str, Fraction]:
    with top.optional("capacity") as section:
        names = section.keys()
        for name in names:
            if name not in RESOURCES:
                section.refuse(f"is no resource; there are {', '.join(RESOURCES)}", name)
        return {name: _fraction(section, name, high=100) for name in names}


def _sweep(top: Section, inputs: tuple[StudyInput, ...], cpus: int) -> StudySweep | None:
    section = top.section("sweep")
    if section is None:
        return None
    words = section.text("input"), section.integers("cpus"), section.text("beside")
    sweep = StudySweep(*words, section.integer("beside_cpus", high=cpus))
    _known_input(section, "input", sweep.input, inputs)
    _known_input(section, "beside", sweep.beside, inputs)
    room = cpus - sweep.beside_cpus
    if not sweep.cpus or any(not 1 <= cpu <= room for cpu in sweep.cpus):
        partner = f", of which {sweep.beside} has {sweep.beside_cpus}" if sweep.beside_cpus else ""
        section.refuse(f"expected CPU counts from 1 to {room}: there are {cpus} CPUs{partner}", "cpus")
    section.close()
    return sweep


def _scaling(top: Section, inputs: tuple[StudyInput, ...]) -> str:
    word = top.text("scaling")
    known = {study_input.application for study_input in inputs}
    if word and inputs and word not in known:
        top.refuse(f"`{word}` is no application; there are {', '.join(sorted(known))}", "scaling")
    return word


def _overcommit(top: Section) -> tuple[Fraction, ...]:
    words = top.texts("overcommit")
    try:
        fractions = tuple(map(_number, words))
    except ValueError:
        top.refuse(f"expected numbers, found {', '.join(words)}", "overcommit")
        return ()
    if any(not 0 < fraction <= 100 for fraction in fractions) or list(fractions) != sorted(set(fractions)):
        top.refuse("expected capacities in ascending order, above 0 and at most 100", "overcommit")
    return fractions


def _number(word: str) -> Fraction:
    return written_number(word.replace("_", ""))  # as YAML writes 40_000


def _fraction(section: Section, key: str, *, high: int) -> Fraction:
    word = section.text(key)
    try:
        value = _number(word)
    except ValueError:
        section.refuse(f"expected a number, found `{word}`", key)
        return Fraction(1)
    if not 0 < value <= high:
        section.refuse(f"is {word}, not above 0 and at most {high}", key)
    return value
