from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from benchgate.base.errors import CatalogError
from benchgate.features.mix import studyfile
from benchgate.features.mix.study import Study
from benchgate.features.mix.tests import mixsim

SMALL = "name: s\ncpus: 2\napplications:\n  primes:\n    inputs:\n      one: {workers: 1, hi: 20000}\n"


def parse(text: str) -> Study:
    return studyfile.parse(text, Path("s.yaml"))


def test_a_study_is_read() -> None:
    study = mixsim.study()
    assert study.applications == ("prime", "writer", "walker")
    assert [study_input.name for study_input in study.inputs] == [
        "prime.small",
        "prime.large",
        "writer.large",
        "walker.small",
    ]
    assert dict(study.inputs[1].params)["hi"] == 20000
    assert study.inputs[1].workers == 2
    assert study.inputs[0].where == "study.yaml:11"
    assert study.limited == (study.inputs[1], study.inputs[2], study.inputs[3])
    assert study.overcommit == (Fraction(1), Fraction("1.5"))
    assert study.sweep is not None
    assert study.sweep.beside_cpus == 1


def test_what_a_study_does_not_say() -> None:
    study = parse(SMALL)
    assert study.resources == ("cpu", "cache", "bandwidth", "memory", "disk", "network")
    assert (study.system, study.machine, study.clock) == ("linux", "", "insn")
    assert (study.least, study.seeds, study.levels) == (3, 3, (75, 50, 25))


def test_a_capacity_may_be_a_fraction() -> None:
    assert parse(SMALL + "capacity: {cpu: 1/3, disk: .5}\n").capacity == {
        "cpu": Fraction(1, 3),
        "disk": Fraction(1, 2),
    }


def test_a_quick_study_has_less_of_everything() -> None:
    quick = studyfile.quick(mixsim.study())
    assert (quick.seeds, quick.limit_seeds, quick.levels, quick.near) == (2, 1, (50,), 2)
    assert quick.overcommit == (Fraction(1), Fraction("1.5"))
    assert replace(quick, seeds=1).seeds == studyfile.quick(replace(mixsim.study(), seeds=1)).seeds


def test_units_make_inputs_of_different_size_comparable() -> None:
    other = "      two: {workers: 1, hi: 40000}\n"
    assert not parse(SMALL + other).comparable("primes")
    counted = (SMALL + other).replace("hi:", "units: 2.5, hi:")
    assert parse(counted).inputs[0].units == Fraction(5, 2)
    assert parse(counted).comparable("primes")
    assert parse(SMALL + other.replace("40000", "20000")).comparable("primes")


def test_the_scores_of_each_shipped_application_are_comparable_over_its_inputs() -> None:
    shipped = studyfile.load(studyfile.find("shipped"))
    assert len(shipped.applications) >= 7
    assert [name for name in shipped.applications if not shipped.comparable(name)] == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (SMALL.replace("hi:", "units: 0, hi:"), "inputs.one.units: is 0, not above 0"),
        (
            SMALL + "      two: {workers: 1, hi: 40000, units: 3}\n",
            "s.yaml:6: applications.primes.inputs.one: has no `units`, but another input has",
        ),
        (
            SMALL.replace("primes:\n", "schbench:\n    score: rps\n").replace("hi: 20000", "units: 2"),
            "inputs.one.units: is of the score `rate`; this application's is rps",
        ),
        (
            SMALL + "  primes:\n    inputs:\n      two: {}\n",
            "s.yaml:7: applications.primes: is duplicated (first on line 4)",
        ),
        (
            SMALL + "antagonists: {cache: {whole: 4, takes: {primes.one: 1}}}\n",
            "antagonists: stand in for counters on wall time: give `clock: wall`, or a `machine`",
        ),
        (
            SMALL + "clock: wall\nantagonists: {disk: {whole: 4, takes: {primes.one: 1}}}\n",
            "antagonists.disk: is counted; only cache and bandwidth need antagonists",
        ),
        *(
            (SMALL + f"clock: wall\nantagonists: {{cache: {{whole: 4, takes: {{{takes}}}}}}}\n", said)
            for takes, said in (
                ("primes.one: 1", "antagonists.cache.takes: expected two inputs or more"),
                (
                    "primes.one: 2, b.c: 1",
                    "antagonists.cache.takes: expected two inputs or more, the one that",
                ),
                (
                    "primes.one: 1, b.c: 5",
                    "antagonists.cache.takes: expected two inputs or more, the one that",
                ),
                ("primes.one: 1, b.c: 2", "antagonists.cache.takes.b.c: `b.c` is no application.input"),
            )
        ),
        (SMALL + "      one: {}\n", "s.yaml:7: applications.primes.inputs.one: is duplicated"),
        (SMALL.replace("  primes:", "  dummy:\n    workload: primes"), "applications.dummy: is no name"),
        (
            SMALL.replace("  primes:", "  primes:\n    workload: scenario-spread"),
            "applications.primes.workload: scenario-spread is a scenario, which is no part of a mix",
        ),
        (SMALL.replace("  primes:", "  prmes:"), "workload `prmes` is not known; did you mean `primes`?"),
        (
            SMALL.replace("hi:", "high:"),
            "s.yaml:6: applications.primes.inputs.one.high: workload primes has no",
        ),
        (
            SMALL.replace("20000", "5"),
            "applications.primes.inputs.one.hi: parameter hi: `5` is not a whole number in",
        ),
        (
            SMALL.replace("workers: 1", "workers: 0"),
            "s.yaml:6: applications.primes.inputs.one.workers: is 0, not between 1",
        ),
        (
            SMALL.replace("    inputs", "    score: rps\n    inputs"),
            "s.yaml:5: applications.primes.score: `rps` is no metric",
        ),
        (
            SMALL.replace("primes:\n", "schbench:\n    score: wakeup_p99\n").replace(", hi: 20000", ""),
            "s.yaml:5: applications.schbench.score: less of wakeup_p99 is better",
        ),
        (SMALL.partition("applications")[0], "applications: is missing"),
        (
            SMALL + "calibrate: {disk: files.large}\n",
            "s.yaml:7: calibrate.disk: `files.large` is no application.input",
        ),
        (SMALL + "calibrate: {cpu: primes.one}\n", "s.yaml:7: calibrate.cpu: needs no calibration"),
        (SMALL + "calibrate: {bandwidth: primes.one}\n", "needs no calibration; only disk and network do"),
        (
            SMALL + "clock: wall\ncalibrate: {cache: primes.one}\n",
            "needs no calibration; only disk and network and bandwidth do",
        ),
        (SMALL + "resources: [cpu, dsk]\n", "s.yaml:7: resources: `dsk` is twice, or not one of"),
        (
            SMALL + "sensitivity: {levels: [75, 100]}\n",
            "s.yaml:7: sensitivity.levels: expected different percentages",
        ),
        (SMALL + "overcommit: [1, 0.5]\n", "s.yaml:7: overcommit: expected capacities in ascending order"),
        (SMALL + "overcommit: [1, big]\n", "s.yaml:7: overcommit: expected numbers, found 1, big"),
        (SMALL + "scaling: prime\n", "s.yaml:7: scaling: `prime` is no application; there are primes"),
        (SMALL + "system: nope\n", "s.yaml:7: system: system `nope` is not known"),
        (SMALL + "machine: biglittle8\n", "s.yaml:7: machine: machine biglittle8 has no memory system"),
        (
            SMALL + "machine: biglittle8mem\n",
            "s.yaml:7: machine: machine biglittle8mem has CPUs of different speed: what a part loses",
        ),
        (SMALL + "machine: laptop\n", "s.yaml:7: machine: machine `laptop` is not known"),
        (SMALL + "capacity: {dsk: 1}\n", "s.yaml:7: capacity.dsk: is no resource"),
        *(
            (SMALL + text, said)
            for text, said in (
                ("capacity: {cpu: 1e99999999}\n", "capacity.cpu: expected a number, found `1e99999999`"),
                ("least_use: 1e999999999\n", "least_use: expected a number, found `1e999999999`"),
                ("overcommit: [1e999999999]\n", "overcommit: expected numbers, found 1e999999999"),
            )
        ),
        (SMALL + "capacity: {disk: -1}\n", "s.yaml:7: capacity.disk: is -1, not above 0"),
        (
            SMALL + "sweep: {input: primes.one, cpus: [2], beside: primes.one, beside_cpus: 1}\n",
            "s.yaml:7: sweep.cpus: expected CPU counts from 1 to 1: there are 2 CPUs, of which primes.one",
        ),
        (SMALL + "nearly: 4\n", "s.yaml:7: nearly: unknown key; did you mean `near`?"),
        (SMALL + "least: 2000\n", "s.yaml:7: least: is 2000, not between 1 and 1999"),
        (SMALL + "seeds: 0\n", "s.yaml:7: seeds: is 0, not between 1 and 25"),
    ],
)
def test_a_wrong_study_is_refused_by_line_and_key(text: str, said: str) -> None:
    with pytest.raises(CatalogError) as refused:
        parse(text)
    assert said in str(refused.value)


def test_every_problem_is_named_at_once() -> None:
    with pytest.raises(CatalogError) as refused:
        parse(SMALL.replace("cpus: 2", "cpus: 0") + "seeds: many\nnearly: 1\n")
    assert "3 problems" in str(refused.value)
