"""Options: what they mean, and what cannot be meant."""

from pathlib import Path

import pytest

from benchgate import catalog, options
from benchgate.errors import UsageError
from benchgate.model import Accel


def read(**given: object) -> options.Options:
    return options.read(lambda option: given.get(option.name.replace("-", "_")))


def test_nothing_given_means_the_documented_defaults() -> None:
    found = read()
    assert (found.cpus, found.smp, found.systems) == (None, None, ("linux",))
    assert (found.accel, found.clock, found.runs, found.max_runs) == (None, "auto", 5, 5)
    assert (found.keep, found.lock_wait_s, found.gates) == (20, 600, True)


def test_words_become_values() -> None:
    found = read(
        cpus="0,2-3", smp="4,1", accel="kvm", runs="7", system=["linux", "native,x.yaml"], reports="r"
    )
    assert found.cpus == (0, 2, 3)
    assert found.smp == (1, 4)
    assert found.accel is Accel.KVM
    assert (found.runs, found.max_runs) == (7, 7)
    assert found.systems == ("linux", "native", "x.yaml")
    assert found.reports == Path("r").absolute()
    assert read(set=["primes.hi=300"]).sets == (("primes", "hi", "300"),)


@pytest.mark.parametrize(
    ("given", "looks"),
    [
        ({}, (5,)),
        ({"runs": "7"}, (7,)),
        ({"runs": "7", "seeds": "5"}, (5,)),
        ({"runs": "5", "seeds": "7"}, (7,)),
        ({"runs": "7", "seeds": "1"}, ()),
        ({"runs": "7", "seeds": "5", "max_runs": "15"}, (5, 9, 15)),
        ({"runs": "5", "seeds": "27", "max_runs": "25"}, (27,)),
    ],
)
def test_seeds_have_a_last_look_of_their_own(given: dict[str, object], looks: tuple[int, ...]) -> None:
    """Without --max-runs it is their first one, however many runs the wall lanes take."""
    found = read(**given)
    policy = catalog.load_policy("default").with_runs(found.seeds, found.max_seeds)
    assert policy.session_looks == looks


@pytest.mark.parametrize("given", [{"quick": True}, {"runs": "1"}, {"measure": True}])
def test_what_decides_nothing_says_so(given: dict[str, object]) -> None:
    found = read(**given)
    assert not found.gates
    assert next(iter(given)).replace("_", "-") in found.why_no_gates


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"cpus": "0,x"}, r"--cpus 0,x: `x` is not a number"),
        ({"cpus": "3-1"}, r"not a range that goes up"),
        ({"cpus": "1,1"}, r"a number stands there twice"),
        ({"cpus": "-1"}, r"--cpus -1: `-1` is not a number"),
        ({"cpus": "0,\u0661"}, r"is not a number"),
        ({"cpus": "9" * 5000}, r"is not a number"),
        ({"keep": "\u0663"}, r"expected a whole number"),
        ({"max_runs": "9" * 5000}, r"expected a whole number"),
        ({"smp": "0,1"}, r"CPU counts go from 1 to 64"),
        ({"smp": "65"}, r"CPU counts go from 1 to 64"),
        ({"runs": "4"}, r"--runs 4: a first look takes an odd number of at least 5"),
        ({"runs": "3"}, r"--runs 3: a first look takes an odd number of at least 5"),
        ({"runs": "five"}, r"--runs five: expected a whole number"),
        ({"runs": "9", "max_runs": "5"}, r"--max-runs 5 is below --runs 9"),
        ({"set": ["hi=3"]}, r"--set hi=3: expected WORKLOAD\.KEY=VALUE"),
        ({"keep": "-1"}, r"--keep -1: expected a whole number"),
        ({"clock": "sand"}, r"--clock sand: expected one of auto, wall, insn"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_its_option(given: dict[str, object], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        read(**given)
