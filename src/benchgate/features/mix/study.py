"""A study of mixed workloads: what its YAML file says, as types; and its numbers, read from texts.

Takes values that studyfile.py has checked; gives frozen objects. Takes a text that may come from anywhere;
gives a Fraction, or fails with ValueError. Its digits and exponent are bounded before anything is computed:
the fraction of `1e999999999` would fill the memory.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Annotated

from benchgate.base.cells import Params
from benchgate.base.jsonfields import As, Between, PlainWord, Presence

RATE = "rate"
"""The score that every application has: completed runs per second of the guest's time."""
RESOURCES = ("cpu", "cache", "bandwidth", "memory", "disk", "network")
PRESSED = ("cache", "bandwidth")
"""Resources of which a kernel cannot take a part away, and that on wall time few hosts count: there
antagonists stand in."""
CALIBRATED = ("disk", "network")
"""Resources whose capacity is what one input of the study reaches alone; on wall time also BANDWIDTH."""
BANDWIDTH = "bandwidth"
DUMMY = "dummy"
"""The part that only waits. No application has its name."""
_WRITTEN = re.compile(
    r"[+-]?([0-9]{1,40}(\.[0-9]{0,40})?|\.[0-9]{1,40})([eE][+-]?[0-9]{1,2})?\Z|[+-]?[0-9]{1,40}/[0-9]{1,40}\Z"
)
_KEPT = re.compile(r"-?[0-9]{1,300}(/[0-9]{1,300})?\Z")


def written_number(word: str) -> Fraction:
    """By people and other programs: `0.8`, `.5`, `1e+16`, `1/3`."""
    return _fraction(word, _WRITTEN)


def kept_number(word: str) -> Fraction:
    """As `str` writes a Fraction, in files of a study."""
    return _fraction(word, _KEPT)


def _fraction(word: str, pattern: re.Pattern[str]) -> Fraction:
    with suppress(ZeroDivisionError):
        if pattern.match(word):
            return Fraction(word)
    raise ValueError(f"{word!r:.60} is no number")


Kept = Annotated[Fraction, As(str, kept_number, str)]
AtLeastOne = Annotated[int, Between(1)]


@dataclass(frozen=True, slots=True)
class StudyInput:
    """One application with one input: what one part of a mix is an instance of."""

    application: PlainWord
    input: PlainWord
    workload: str
    """Its name, or the path of its YAML file."""
    workers: AtLeastOne
    params: Params
    score: str
    """RATE, or the name of a metric of which more is better."""
    units: Kept | None
    """The work of one run; the rate is in these units. None: the rate is in runs."""
    where: str = field(compare=False)
    """File and line."""

    @property
    def name(self) -> str:
        return f"{self.application}.{self.input}"


@dataclass(frozen=True, slots=True)
class StudySweep:
    """One application over CPU counts, beside a fixed partner and beside a dummy."""

    input: str
    cpus: tuple[int, ...]
    beside: str
    beside_cpus: int
    """The partner has the last CPUs for itself; 0: no part is pinned."""


@dataclass(frozen=True, slots=True)
class Antagonists:
    """Inputs that take a known part of a resource from their neighbours."""

    whole: Kept
    takes: Mapping[str, Kept]
    """What each input takes, the least first, in the unit of `whole`."""


@dataclass(frozen=True, slots=True)
class Study:
    """Two are equal if they measure the same, whatever file says so."""

    name: str
    about: str = field(compare=False)
    system: str
    cpus: AtLeastOne
    machine: str
    """The machine of the instruction clock; empty: the ideal one."""
    clock: str
    resources: tuple[str, ...]
    calibrate: Mapping[str, str]
    """For each resource that is calibrated, the input that uses nothing else."""
    antagonists: Mapping[str, Antagonists]
    """The antagonists of each resource in PRESSED."""
    inputs: tuple[StudyInput, ...]
    """The inputs of each application, the smallest first."""
    least: AtLeastOne
    """How many runs every part must complete."""
    limit_ms: AtLeastOne
    """Guest time after which a part that has not completed them makes the run invalid."""
    seeds: AtLeastOne
    limit_seeds: AtLeastOne
    """How many seeds the runs with limits have."""
    levels: tuple[int, ...]
    """Percent of what the application used alone."""
    every_input: bool
    """Whether each input is limited, or only the last of each application."""
    least_use: Kept
    """A resource of which an application uses less is not limited."""
    capacity: Mapping[str, Kept]
    sweep: StudySweep | None
    scaling: str
    """The application whose inputs run beside others, each in turn; empty: none."""
    overcommit: tuple[Kept, ...]
    near: int
    """How many near-optimal mixes tell whether the composition matters."""
    file: Path = field(compare=False)
    text: Annotated[str, Presence.APART] = field(default="", compare=False)

    @property
    def applications(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(study_input.application for study_input in self.inputs))

    def inputs_of(self, application: str) -> tuple[StudyInput, ...]:
        return tuple(study_input for study_input in self.inputs if study_input.application == application)

    def comparable(self, application: str) -> bool:
        """Whether the scores of its inputs count the same: units of work, a metric, or runs of one size."""
        inputs = self.inputs_of(application)
        counted = all(study_input.score != RATE or study_input.units is not None for study_input in inputs)
        return counted or len({study_input.params for study_input in inputs}) == 1

    def input_named(self, name: str) -> StudyInput:
        return next(study_input for study_input in self.inputs if study_input.name == name)

    @property
    def limited(self) -> tuple[StudyInput, ...]:
        """The inputs whose sensitivity is measured."""
        if self.every_input:
            return self.inputs
        return tuple(self.inputs_of(application)[-1] for application in self.applications)
