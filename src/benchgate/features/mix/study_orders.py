"""The runs of a study, in their order, each with a key that is also its folder's name. Pure.

Takes a Study, and for mixes what the programme chose; gives StudyOrders. Nothing here depends on a
measurement but the choice of mixes: a limit is a percentage of what a run before it will show. Does not fail.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from benchgate.features.mix.study import DUMMY, AtLeastOne, Study

LONGEST_KEY = 150


@dataclass(frozen=True, slots=True)
class PartOrder:
    input: str
    """`application.input`, or DUMMY."""
    number: int = 1
    """The instances of an input are numbered from 1."""
    workers: int = 0
    """0 means as many as the input says."""
    cpus: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.input}#{self.number}"


@dataclass(frozen=True, slots=True)
class Limit:
    resource: str
    percent: AtLeastOne
    """The limit in percent of what the part used alone."""


@dataclass(frozen=True, slots=True)
class StudyOrder:
    key: str
    parts: tuple[PartOrder, ...]
    seed: int
    limit: Limit | None = None
    """The limit applies to the first part."""


def input_of(part: str) -> str:
    """The input that a part's name begins with."""
    return part.partition("#")[0]


Counts = Mapping[str, AtLeastOne]
"""How many instances of each input."""


def seeds(study: Study) -> range:
    return range(1, study.seeds + 1)


def alone(study: Study) -> Iterator[StudyOrder]:
    """Each input beside a dummy."""
    for study_input in study.inputs:
        parts = PartOrder(study_input.name), PartOrder(DUMMY)
        for seed in seeds(study):
            yield StudyOrder(alone_key(study_input.name, seed), parts, seed)


def alone_key(name: str, seed: int) -> str:
    return f"alone-{name}-s{seed}"


def limited(study: Study) -> Iterator[StudyOrder]:
    names = [study_input.name for study_input in study.limited]
    resources = [resource for resource in study.resources if resource not in study.antagonists]
    limit_seeds = range(1, study.limit_seeds + 1)
    for name, resource, level, seed in product(names, resources, study.levels, limit_seeds):
        key = limited_key(name, resource, level, seed)
        yield StudyOrder(key, (PartOrder(name), PartOrder(DUMMY)), seed, Limit(resource, level))


def limited_key(name: str, resource: str, percent: int, seed: int) -> str:
    return f"limit-{name}-{resource}{percent}-s{seed}"


def pressed(study: Study) -> Iterator[StudyOrder]:
    """Each input beside each antagonist."""
    for study_input in study.inputs:
        for resource in study.resources:
            of = study.antagonists.get(resource)
            for neighbour in () if of is None else of.takes:
                for seed in seeds(study):
                    key = pressed_key(study_input.name, resource, neighbour, seed)
                    other = PartOrder(neighbour, 2 if neighbour == study_input.name else 1)
                    yield StudyOrder(key, (PartOrder(study_input.name), other), seed)


def pressed_key(name: str, resource: str, neighbour: str, seed: int) -> str:
    return f"press-{name}-{resource}-{neighbour}-s{seed}"


def of_mixes(study: Study, mixes: Iterable[Counts]) -> Iterator[StudyOrder]:
    for counts in mixes:
        parts = tuple(PartOrder(name, n) for name, count in counts.items() for n in range(1, count + 1))
        parts += (PartOrder(DUMMY),) * (len(parts) == 1)  # it is the run alone then
        for seed in seeds(study):
            yield StudyOrder(mix_key(counts, seed), parts, seed)


def mix_key(counts: Counts, seed: int) -> str:
    return f"mix-{mix_name(counts)}-s{seed}"


def mix_name(counts: Counts) -> str:
    """`primes.small=2,files.large=1`; of a long one its beginning and a digest."""
    name = ",".join(f"{value}={count}" for value, count in counts.items())
    if len(name) <= LONGEST_KEY:
        return name
    return f"{name[: LONGEST_KEY - 17]}-{hashlib.sha256(name.encode()).hexdigest()[:16]}"


def swept(study: Study) -> Iterator[StudyOrder]:
    """One application over CPU counts, beside a dummy and beside its partner."""
    sweep = study.sweep
    if sweep is None:
        return
    last = tuple(range(study.cpus - sweep.beside_cpus, study.cpus))
    for cpus in sweep.cpus:
        mine = PartOrder(sweep.input, workers=cpus, cpus=tuple(range(cpus)) if last else ())
        number = 2 if sweep.beside == sweep.input else 1
        partner = PartOrder(sweep.beside, number, len(last), last)
        for seed in seeds(study):
            for other in (PartOrder(DUMMY), partner):
                yield StudyOrder(sweep_key(cpus, other.input, seed), (mine, other), seed)


def sweep_key(cpus: int, beside: str, seed: int) -> str:
    return f"sweep-{cpus}cpus-{beside}-s{seed}"
