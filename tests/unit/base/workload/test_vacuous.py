"""Claims that no guest could break are found, however their names are made to vanish; honest ones are not."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchgate.base.workload import witness
from benchgate.base.workload.vacuous import undecided_by
from benchgate.base.workload.witness import COUNT, TIME, Unit, parse

LENGTHS = ("latency.sum", "latency.max", "latency.min", "latency.other", "cost", "most.cost", "printed.cost")
PARAMS = {"turns": (0, 1, 100, 10**9), "rounds": (1, 5, 1000)}


def unit_of(name: str) -> Unit:
    return witness.of_machine(name) or (TIME if name in LENGTHS else COUNT)


def vacuous(text: str, **params: Sequence[int]) -> str:
    tried = {name: tuple(map(Fraction, values)) for name, values in {**PARAMS, **params}.items()}
    claim = parse(text, unit_of)
    return undecided_by(claim, {name: tried[name] for name in claim.names if name in tried})


@pytest.mark.parametrize(
    ("claim", "name"),
    [
        ("latency.sum >= 0 * work", "latency.sum"),
        ("latency.sum >= 0ns * syscalls.read", "latency.sum"),
        ("latency.sum + work >= work", "latency.sum"),
        ("latency.sum + 1s * syscalls >= latency.sum", "latency.sum"),
        ("work - work <= latency.sum", "work"),
        ("work + 5ns >= latency.sum * 0", "work"),
        ("syscalls.read >= result.ops * 0", "syscalls.read"),
        ("syscalls.read >= result.ops - result.ops", "syscalls.read"),
        ("syscalls.read >= min(result.ops, 0)", "syscalls.read"),
        ("syscalls.read >= result.ops / result.ops - 1", "syscalls.read"),
        ("syscalls.read >= 5 + 0 * result.ops", "result.ops"),
        ("syscalls.read >= rounds + result.ops // 100000000000000000", "result.ops"),
        ("max(syscalls.read, result.ops) >= result.ops", "syscalls.read"),
        ("syscalls.read + result.ops >= -rounds", "syscalls.read"),
        ("result.ops >= -syscalls.read", "result.ops"),
        ("syscalls.read <= syscalls", "syscalls.read"),
        ("worked <= total.instructions", "worked"),
        ("work <= total", "work"),
        ("latency.min <= latency.max + work", "latency.min"),
        ("latency.min <= latency.sum + 0.5 * work", "latency.min"),
        ("most.cost <= printed.cost + work", "most.cost"),
        ("latency.sum + 999999999s >= work", "latency.sum"),
        ("0 <= syscalls.read <= syscalls + result.ops", "syscalls.read"),
        ("syscalls.read >= result.ops * min(turns, 0)", "syscalls.read"),
        ("1 <= 2 + 0 * syscalls", "syscalls"),
        ("syscalls.read == result.ops + 0 * syscalls.write", "syscalls.write"),
        ("syscalls >= syscalls.read + syscalls.write", "syscalls"),
        # so far away that no run comes near
        ("latency.max <= 1000000 * work", "latency.max"),
        ("latency.sum <= 5000 * work * (1 + turns)", "latency.sum"),
        ("latency.max <= max(work, 1000s)", "latency.max"),
        ("cost >= 0.0001 * spent.latency", "cost"),
        ("outside <= 1000000 * instructions", "outside"),
        ("outside <= 1000000000 * rounds", "outside"),
        ("outside <= 5000 * programs + 5000 * worked", "outside"),
        ("worked >= rounds / 1000000000", "worked"),
        ("programs >= 0.0000001 * turns", "programs"),
    ],
)
def test_a_claim_that_holds_whatever_the_guest_prints_is_found(claim: str, name: str) -> None:
    assert vacuous(claim) == name


@pytest.mark.parametrize(
    "claim",
    [
        "latency.sum >= 0.8 * work",
        "latency.sum + 100us * workers >= 0.8 * spent.latency",
        "most.cost <= work + 10us",
        "0.9 * work <= latency.sum <= 1.1 * work",
        "syscalls.read == 2 * result.ops",
        "latency.max <= 100 * work",
        "outside <= 100000 * rounds",
        "outside <= 100 * programs",
        "worked >= 3 * turns",
        "syscalls >= syscalls.read + result.ops",
        "syscalls.read - syscalls.write == 1",
        "syscalls.futex >= min(1, turns / 100) * result.wakes",
        "syscalls.futex >= 2 * rounds + 0.25 * (result.wakes - rounds)",
        "atomics <= 64 * workers",
        "exits == 0",
        "spent.latency == 900us",
        "17 * syscalls.read == 1234567 + rounds",
        "faults > 0",
        "latency.max >= away.latency.max",
        "touched >= min(turns, rounds // workers) * min(line, 64bytes)",
        "syscalls.read + syscalls.write + syscalls.pipe + syscalls.close + syscalls.openat >= 5 * result.ops",
    ],
)
def test_a_claim_that_can_fail_is_not(claim: str) -> None:
    assert vacuous(claim) == ""


def test_only_the_choices_with_which_it_is_made_count() -> None:
    claim = "syscalls.futex >= min(1, turns / 100) * result.wakes"
    assert vacuous(claim, turns=[0]) == "syscalls.futex"
    assert vacuous(claim, turns=[0, 50]) == ""


FACTORS = st.fractions(min_value=Fraction(1, 1000), max_value=1000, max_denominator=1000)
_CALLS = st.sampled_from(["syscalls.read", "faults", "wakes"])
_SAID = st.sampled_from(["result.ops", "printed.done"])


def _terms() -> st.SearchStrategy[str]:
    """Terms of what a guest prints and a machine saw; none divides."""
    leaf = st.one_of(_CALLS, _SAID, st.integers(0, 1000).map(str))
    more = lambda term: st.one_of(  # noqa: E731 - one expression
        st.tuples(term, st.sampled_from("+-*"), term).map(lambda parts: f"({' '.join(parts)})"),
        st.tuples(st.sampled_from(["min", "max"]), term, term).map(lambda p: f"{p[0]}({p[1]}, {p[2]})"),
    )
    return st.recursive(leaf, more, max_leaves=3)


@settings(max_examples=20, deadline=None)
@given(_terms(), _CALLS)
def test_no_term_that_is_made_to_vanish_passes(term: str, call: str) -> None:
    others = parse(f"{term} >= {call}", unit_of).names
    for claim in (f"{term} >= {term}", f"{call} + 1 > 0 * {term}", f"{call} >= {term} - {term} - {call}"):
        assert vacuous(f"{claim} + 0 * faults") in (*others, "faults")


@settings(deadline=None)
@given(FACTORS, st.integers(0, 10**6), _CALLS, _SAID, st.sampled_from([">=", "<=", ">", "<"]))
def test_a_factor_and_a_slack_do_not_make_a_claim_vacuous(
    factor: Fraction, slack: int, call: str, said: str, sign: str
) -> None:
    assert vacuous(f"{call} + {slack} {sign} {factor.numerator} / {factor.denominator} * {said}") == ""
