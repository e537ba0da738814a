from __future__ import annotations

import ctypes
import itertools
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, milp

from benchgate.base.errors import UsageError
from benchgate.features.mix import files, solver
from benchgate.features.mix.programme import (
    FULL,
    ApplicationInput,
    Applications,
    MixChoice,
    best,
    instances_alone,
    near_best,
)
from benchgate.features.mix.tests import paper


@pytest.fixture
def papers(tmp_path: Path) -> Applications:
    return files.read(*paper.write(tmp_path))


def named(mix: MixChoice) -> dict[str, int]:
    return {application_input.name: count for application_input, count in mix.counts}


def test_the_mix_of_the_paper_comes_out(papers: Applications) -> None:
    (mix,) = best(papers, {})
    assert named(mix) == {"game.1": 2, "webb.1": 1, "antiv.N": 1}
    assert mix.objective == Fraction("2.625")
    assert mix.totals == tuple(map(Fraction, ("0.85", "0.85", "0.7", "1", "0.7")))


def test_the_next_best_mixes_follow_in_order(papers: Applications) -> None:
    choices = best(papers, {}, top=5)
    assert [choice.objective for choice in choices] == [
        Fraction(word) for word in ("2.625", "2.475", "2.465", "2.4", "2.39")
    ]
    assert named(choices[1]) == {"game.1": 3, "webb.1": 1}


def test_each_input_at_most_once_would_be_another_mix(papers: Applications) -> None:
    """The paper's mix needs two instances of one input: with x_i of 0 or 1 the best is one browser alone."""
    fitting = [counts for counts in itertools.product((0, 1), repeat=6) if fits(papers, counts, {})]
    once = max(fitting, key=lambda counts: objective(papers, counts))
    assert {
        application_input.name for application_input, count in zip(papers.inputs, once, strict=True) if count
    } == {"webb.N"}
    assert objective(papers, once) < best(papers, {})[0].objective


def test_parts_of_instances_would_be_worth_more(papers: Applications) -> None:
    worth = [-float(papers.worth(application_input)) for application_input in papers.inputs]
    use = np.array([[float(part) for part in application_input.use] for application_input in papers.inputs]).T
    relaxed = -milp(worth, constraints=LinearConstraint(use, ub=1.0)).fun
    assert relaxed == pytest.approx(3.030, abs=0.0005)


def test_a_capacity_changes_the_mix(papers: Applications) -> None:
    (less,) = best(papers, {"disk": Fraction("0.8")})
    assert named(less) == {"game.1": 3, "webb.1": 1}
    (more,) = best(papers, {name: Fraction(2) for name in papers.resources})
    assert more.objective >= 2 * Fraction("2.625")


def test_a_resource_may_be_used_to_its_last_part() -> None:
    """Ten times 0.1 is 1, and above 1 in floating point's sum."""
    (mix,) = best(one_input(Fraction("0.1")), {})
    assert named(mix) == {"a.1": 10}


def test_what_the_solver_tolerates_is_not_an_answer() -> None:
    """Both inputs together exceed the capacity by less than the solver's tolerance."""
    half = Fraction("0.500000001")
    inputs = tuple(ApplicationInput("a", name, Fraction(1), (half,), "v.csv:2") for name in "12")
    (mix,) = best(Applications(("cpu",), inputs, {"a": (Fraction(1),)}), {})
    assert named(mix) == {"a.1": 1}


FIVE = (
    {"game.1": 2, "webb.1": 1, "antiv.N": 1},
    {"game.1": 3, "webb.1": 1},
    {"game.1": 2, "webb.1": 1, "antiv.1": 1},
    {"game.1": 4},
    {"game.1": 3, "antiv.1": 1},
)


def scaled(applications: Applications, use: Fraction, sigma: Fraction) -> Applications:
    inputs = tuple(
        replace(application_input, use=tuple(part * use for part in application_input.use))
        for application_input in applications.inputs
    )
    by = {name: tuple(fraction * sigma for fraction in row) for name, row in applications.sensitivity.items()}
    return replace(applications, inputs=inputs, sensitivity=by)


@pytest.mark.parametrize("power", range(3, 13))
def test_small_figures_choose_as_large_ones_do(papers: Applications, power: int) -> None:
    """HiGHS has absolute tolerances: an objective of 1e-7 was the same as one of 0."""
    small = Fraction(1, 10**power)
    assert [named(mix) for mix in best(scaled(papers, FULL, small), {}, top=5)] == [*FIVE]
    capacity = dict.fromkeys(papers.resources, small)
    assert [named(mix) for mix in best(scaled(papers, small, FULL), capacity, top=5)] == [*FIVE]


def test_a_capacity_of_nothing_leaves_out_who_uses_it(papers: Applications) -> None:
    (mix,) = best(papers, {"network": Fraction(0)})
    assert named(mix) == {"antiv.N": 1}


def several(*uses: str) -> Applications:
    """Applications that use so much of `cpu`, and depend on it alone."""
    inputs = tuple(
        ApplicationInput(name, "1", Fraction(1), (Fraction(use), Fraction(0)), f"v.csv:{n}")
        for n, (name, use) in enumerate(zip("abcdefgh", uses, strict=False), start=2)
    )
    return Applications(
        ("cpu", "disk"),
        inputs,
        {application_input.application: (FULL, Fraction(0)) for application_input in inputs},
    )


@pytest.mark.parametrize(
    ("uses", "wanted"),
    [
        (("0.02", "0.02", "0.02"), {"a.1": 50}),
        (("0.05", "0.05", "0.05"), {"a.1": 20}),
        (("0.03", "0.02", "0.05", "0.07", "0.01"), {"a.1": 33, "e.1": 1}),
        (("0.0333333334", "0.0333333334", "0.0333333334"), {"a.1": 29}),
    ],
)
def test_many_mixes_that_are_as_good_or_barely_too_large(
    uses: tuple[str, ...], wanted: dict[str, int]
) -> None:
    """Each was listed before the first was named, which took hours."""
    (mix,) = best(several(*uses), {})
    assert named(mix) == wanted


@pytest.mark.parametrize(
    "uses", [("0.0333333334", "0.0333333335", "0.0333333336"), ("0.0333333334", "0.0666666667")]
)
def test_mixes_that_are_barely_too_large_in_different_ways(uses: tuple[str, ...]) -> None:
    """They may be 29 of 30 parts; which inputs they are matters less than a millionth."""
    (mix,) = best(several(*uses), {})
    assert 0 <= mix.totals[0] - Fraction(29, 30) < Fraction(1, 10**6)


def test_the_search_gives_up_where_the_solver_can_tell_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solver, "MOST_WRONG", 0)
    with pytest.raises(UsageError, match=r"^the vectors: too many mixes exceed a capacity .* next: round"):
        best(several("0.500000001", "0.500000003"), {})


def test_equally_good_mixes_follow_in_the_order_of_their_counts() -> None:
    choices = best(several("0.02", "0.02", "0.02"), {}, top=4)
    assert [named(mix) for mix in choices] == [
        {"a.1": 50},
        {"a.1": 49, "b.1": 1},
        {"a.1": 49, "c.1": 1},
        {"a.1": 48, "b.1": 2},
    ]


def test_near_optimal_mixes_of_very_many() -> None:
    choices = near_best(several("0.0333333334", "0.02", "0.02"), {}, Fraction("0.9"), 8)
    assert len(choices) == 8
    assert all(mix.totals[0] <= 1 for mix in choices)


def test_nothing_fits() -> None:
    with pytest.raises(UsageError, match="each input exceeds a capacity alone"):
        best(one_input(Fraction("0.6")), {"cpu": Fraction("0.5")})


def test_an_input_that_adds_nothing_is_in_no_mix() -> None:
    idle = ApplicationInput("b", "1", Fraction(1), (Fraction("0.001"),), "v.csv:3")
    busy = one_input(Fraction("0.5"))
    both = Applications(busy.resources, (*busy.inputs, idle), {**busy.sensitivity, "b": (Fraction(0),)})
    assert [named(mix) for mix in best(both, {}, top=9)] == [{"a.1": 2}, {"a.1": 1}]


def test_instances_alone_are_limited_by_the_scarcest_resource() -> None:
    application_input = ApplicationInput(
        "a", "1", Fraction(1), (Fraction("0.3"), Fraction("0.5"), Fraction(0)), "v.csv:2"
    )
    assert instances_alone(application_input, (Fraction(1), Fraction(1), Fraction(1))) == 2


shares = st.integers(0, 12).map(lambda tenths: Fraction(tenths, 10))


@st.composite
def any_applications(draw: st.DrawFn) -> Applications:
    names = draw(st.lists(st.sampled_from("abc"), min_size=1, max_size=4))
    # At least 0.3 of the first resource, so that all mixes can be listed.
    uses = [(Fraction(draw(st.integers(3, 12)), 10), draw(shares)) for _ in names]
    sensitivity = {name: (draw(shares), draw(shares)) for name in sorted(set(names))}
    inputs = tuple(
        ApplicationInput(name, str(n), Fraction(1), use, f"v.csv:{n}")
        for n, (name, use) in enumerate(zip(names, uses, strict=True))
    )
    return Applications(("cpu", "disk"), inputs, sensitivity)


factors = st.sampled_from([Fraction(1), *(Fraction(1, 10**power) for power in (3, 7, 9, 12))])


@given(any_applications(), st.sampled_from((Fraction(1), Fraction("0.7"), Fraction("1.5"))), factors, factors)
@settings(max_examples=25, deadline=None)
def test_the_best_mixes_are_those_of_a_complete_list(
    applications: Applications, limit: Fraction, use: Fraction, sigma: Fraction
) -> None:
    applications = scaled(applications, use, sigma)
    capacity = {"cpu": limit * use, "disk": use}
    every = [
        counts
        for counts in itertools.product(range(6), repeat=len(applications.inputs))
        if any(counts) and fits(applications, counts, capacity) and adds(applications, counts)
    ]
    every.sort(key=lambda counts: (-objective(applications, counts), [-count for count in counts]))
    if not every:
        with pytest.raises(UsageError):
            best(applications, capacity)
        return
    choices = best(applications, capacity, top=4)
    wanted = [
        {
            application_input.name: count
            for application_input, count in zip(applications.inputs, counts, strict=True)
            if count
        }
        for counts in every[:4]
    ]
    assert [named(mix) for mix in choices] == wanted


def one_input(use: Fraction) -> Applications:
    return Applications(
        ("cpu",), (ApplicationInput("a", "1", Fraction(1), (use,), "v.csv:2"),), {"a": (Fraction(1),)}
    )


def objective(applications: Applications, counts: tuple[int, ...]) -> Fraction:
    """The objective by its definition, not by the code under test."""
    total = Fraction(0)
    for application_input, count in zip(applications.inputs, counts, strict=True):
        for j in range(len(applications.resources)):
            total += (
                count * application_input.use[j] * applications.sensitivity[application_input.application][j]
            )
    return total


def fits(applications: Applications, counts: tuple[int, ...], capacity: Mapping[str, Fraction]) -> bool:
    return all(
        sum(
            count * application_input.use[j]
            for application_input, count in zip(applications.inputs, counts, strict=True)
        )
        <= capacity.get(name, 1)
        for j, name in enumerate(applications.resources)
    )


def adds(applications: Applications, counts: tuple[int, ...]) -> bool:
    """Each input that runs adds something to the objective."""
    alone = [tuple(int(i == n) for i in range(len(counts))) for n in range(len(counts)) if counts[n]]
    return all(objective(applications, one) for one in alone)


def test_what_the_solver_prints_is_no_part_of_the_answer(
    papers: Applications, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """HiGHS has a message of its own for some programmes, which it prints whatever its options are."""

    def talks(*args: object, **words: object) -> object:
        ctypes.CDLL(None).puts(b"HighsMipSolverData::transformNewIntegerFeasibleSolution")
        return milp(*args, **words)

    monkeypatch.setattr("scipy.optimize.milp", talks)
    (mix,) = best(papers, {})
    print(mix.objective)
    ctypes.CDLL(None).fflush(None)
    assert capfd.readouterr().out == "21/8\n"
