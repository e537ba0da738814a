""""""

from __future__ import annotations

from fractions import Fraction

import pytest

from benchgate.features.mix import outcome, sensitivity, vectors
from benchgate.features.mix.measurement import MixMeasurement, PartMeasurement, StudyRun, alone
from benchgate.features.mix.sensitivity import Sigma
from benchgate.features.mix.study_orders import Limit, pressed_key
from benchgate.features.mix.tests import mixsim
from benchgate.features.mix.tests.mixsim import TRUTH, Simulated, Truth, shares
from benchgate.features.mix.vectors import Amount, NeighbourEffect, Vector, amount

TEXT = mixsim.STUDY.replace("machine: desktop8", "clock: wall\nresources: [cpu, cache]").replace(
    "scaling: prime\n",
    """\
  thief:
    workload: checksum
    inputs:
      none: {workers: 1}
      quarter: {workers: 1}
      half: {workers: 1}
      most: {workers: 1}
antagonists:
  cache: {whole: 16, takes: {thief.none: 0.25, thief.quarter: 4, thief.half: 8, thief.most: 12}}
""",
)
NAMES = ("thief.none", "thief.quarter", "thief.half", "thief.most")
STUDY = mixsim.study(TEXT)
TAKES = {"none": "0.02", "quarter": "0.25", "half": "0.5", "most": "0.75"}
HERE = TRUTH | {f"thief.{name}": Truth(Fraction(9), shares(cache=part)) for name, part in TAKES.items()}


def measured(system: Simulated, text: str = "") -> dict[str, Vector]:
    study = mixsim.study(text)
    return {vector.input.name: vector for vector in vectors.compute(study, mixsim.runs_of(study, system))}


def test_the_shares_are_those_of_the_simulated_system() -> None:
    result = measured(Simulated(TRUTH))
    for name, truth in TRUTH.items():
        for resource, used in result[name].use.items():
            assert used is not None
            assert float(used.value) == pytest.approx(float(truth.needs.get(resource, 0)), abs=1e-6), (
                name,
                resource,
            )
        score = result[name].score
        assert score is not None
        assert score.value == truth.score


def test_a_disk_is_measured_by_the_input_that_calibrates_it() -> None:
    """It needs half of what the disk of the simulated system can do, and is by definition the whole disk."""
    half = {**TRUTH, "writer.large": mixsim.Truth(Fraction(30), mixsim.shares(disk="0.5", network="1"))}
    half["walker.small"] = mixsim.Truth(Fraction(50), mixsim.shares(disk="0.1"))
    result = measured(Simulated(half))
    shares = [
        estimate.value for name in ("writer.large", "walker.small") if (estimate := result[name].use["disk"])
    ]
    assert shares == [1, Fraction(1, 5)]


def test_a_score_has_the_interval_of_its_seeds() -> None:
    score = measured(Simulated(TRUTH, noise=Fraction(1, 10)))["prime.small"].score
    assert score is not None
    assert (
        score.low == float(min(score.samples)) < float(score.value) < score.high == float(max(score.samples))
    )
    assert len(set(score.samples)) == 3


def test_a_resource_without_a_figure_has_a_reason() -> None:
    result = measured(Simulated(TRUTH, unread=("cache",)))
    assert result["walker.small"].use["cache"] is None
    assert result["walker.small"].missing["cache"] == "the kernel has no file for it"
    assert result["walker.small"].use["cpu"] is not None


def test_a_disk_that_nobody_calibrates_is_unavailable() -> None:
    text = mixsim.STUDY.replace("calibrate: {disk: writer.large, network: writer.large}\n", "")
    result = measured(Simulated(TRUTH), text)
    assert result["writer.large"].use["disk"] is None
    assert "no input calibrates it" in result["writer.large"].missing["disk"]


def test_an_input_without_a_valid_run_has_a_reason() -> None:
    fails = {f"alone-prime.small-s{seed}": "part prime.small#1 ended early" for seed in (1, 2, 3)}
    vector = measured(Simulated(TRUTH, fails=fails))["prime.small"]
    assert vector.score is None
    assert vector.missing["score"] == "INVALID: part prime.small#1 ended early (runs/alone-prime.small-s1/1)"


def test_one_invalid_seed_leaves_the_others() -> None:
    vector = measured(Simulated(TRUTH, fails={"alone-prime.small-s1": "it hung"}))["prime.small"]
    assert vector.score is not None
    assert len(vector.score.samples) == 2


def pressed_runs(*scores: str, seed: int = 1) -> dict[str, StudyRun]:
    """Of walker.small, beside each neighbour."""

    def of(score: str) -> StudyRun:
        return StudyRun(
            MixMeasurement(10**8, (PartMeasurement("walker.small#1", Fraction(score), 3, {}),), {}, {}, {})
        )

    return {
        pressed_key("walker.small", "cache", name, seed): of(score)
        for name, score in zip(NAMES, scores, strict=True)
    }


@pytest.mark.parametrize(
    ("kept", "share"),
    [
        (("100", "100", "96", "95"), "0"),
        (("100", "100", "96", "94"), "1/2"),
        (("100", "97", "50", "40"), "3/4"),
        (("100", "94", "99", "99"), "1"),
        (("200", "100", "100", "100"), "1"),
    ],
)
def test_an_input_needs_what_the_last_neighbour_left_that_cost_it_nothing(
    kept: tuple[str, ...], share: str
) -> None:
    (each,) = vectors.beside(STUDY, pressed_runs(*kept), "walker.small", "cache").values()
    assert [effect.left for effect in each] == [Fraction(3, 4), Fraction(1, 2), Fraction(1, 4)]
    assert vectors.needed(each) == Fraction(share)


def test_only_neighbours_that_leave_less_than_is_needed_are_limits() -> None:
    (each,) = vectors.beside(STUDY, pressed_runs("100", "99", "80", "40"), "walker.small", "cache").values()
    assert [*vectors.limits(each)] == [
        NeighbourEffect(Fraction(2, 3), Fraction(4, 5)),
        NeighbourEffect(Fraction(1, 3), Fraction(2, 5)),
    ]


def test_shares_of_a_simulated_system_are_those_of_its_truth_in_steps() -> None:
    """walker needs three quarters of the cache, and nobody else depends on it."""
    result = {
        vector.input.name: vector
        for vector in vectors.compute(STUDY, mixsim.runs_of(STUDY, Simulated(HERE, unread=("cache",))))
    }
    shares_of = {name: vector.use["cache"] for name, vector in result.items()}
    assert {name: estimate and estimate.value for name, estimate in shares_of.items()} == {
        **dict.fromkeys(HERE, Fraction(0)),
        "walker.small": Fraction(3, 4),
    }
    assert result["walker.small"].missing == {}


def sigma(made: dict[str, StudyRun]) -> Sigma:
    sigmas = sensitivity.compute(STUDY, made, vectors.compute(STUDY, made))
    return next(one for one in sigmas if (one.application, one.resource) == ("walker", "cache"))


def test_the_sensitivity_is_what_is_lost_for_what_is_taken() -> None:
    """By hand: of 3/4 there are 1/2 and 1/4 left, so 1/3 and 2/3 are taken; 1/5 and 3/5 are lost."""
    made = mixsim.runs_of(STUDY, Simulated(HERE))
    for seed in (1, 2, 3):
        made |= pressed_runs("100", "99", "80", "40", seed=seed)
    result = sigma(made)
    assert result.figure is not None
    assert result.figure.value == (Fraction(1, 5) + Fraction(3, 5)) / (Fraction(1, 3) + Fraction(2, 3))
    assert [(level.percent, level.kept) for level in result.levels] == [
        (67, Fraction(4, 5)),
        (33, Fraction(2, 5)),
    ]


def test_a_run_that_failed_leaves_the_cache_unavailable_with_its_reason() -> None:
    fails = {pressed_key("walker.small", "cache", "thief.half", seed): "it hung" for seed in (1, 2, 3)}
    made = mixsim.runs_of(STUDY, Simulated(HERE, fails=fails, unread=("cache",)))
    vector = next(vector for vector in vectors.compute(STUDY, made) if vector.input.name == "walker.small")
    assert vector.use["cache"] is None
    assert vector.missing["cache"].startswith("INVALID: it hung (runs/press-walker.small-cache-thief.half-s1")
    assert vector.use["cpu"] is not None
    assert any("cache is unavailable for walker.small: INVALID: it hung" in finding for finding in
               outcome.conclude(STUDY, made, outcome.known(STUDY, made), None, ()).findings)  # fmt: skip


def test_what_the_host_counts_comes_before_what_neighbours_show() -> None:
    """The truth is 12 of 16; beside neighbours it is known in steps."""
    other = {**HERE, "walker.small": Truth(Fraction(50), shares(cpu="0.2", cache="0.7"), shares(cache="0.5"))}
    for unread, share in (((), Fraction(7, 10)), (("cache",), Fraction(3, 4))):
        made = mixsim.runs_of(STUDY, Simulated(other, unread=unread))
        vector = next(
            vector for vector in vectors.compute(STUDY, made) if vector.input.name == "walker.small"
        )
        assert vector.use["cache"] is not None
        assert float(vector.use["cache"].value) == pytest.approx(float(share), abs=1e-6)


def test_an_input_that_completes_nothing_says_so() -> None:
    made = {
        key: run for seed in (1, 2, 3) for key, run in pressed_runs("0", "0", "0", "0", seed=seed).items()
    }
    why = vectors.why_none_beside(STUDY, made, "walker.small", "cache")
    assert why == "it completed nothing beside the one that takes least"


def limit(name: str, resource: str, percent: int, ways: int | None = 16) -> Amount | str:
    study = mixsim.study()
    runs = mixsim.runs_of(study, Simulated(TRUTH))
    vector = next(one for one in vectors.compute(study, runs) if one.input.name == name)
    return amount(Limit(resource, percent), vector, [*alone(study, runs, name).values()], ways)


def test_half_of_a_quarter_of_the_cpus() -> None:
    assert limit("prime.small", "cpu", 50) == Amount("cpu", 125_000, Fraction(1, 2))


def test_bytes_of_memory() -> None:
    """The walker uses a fifth of 1 GiB."""
    result = limit("walker.small", "memory", 25)
    assert isinstance(result, Amount)
    assert result.amount == pytest.approx((1 << 30) / 5 / 4, abs=1)


def test_bytes_per_second_of_a_disk() -> None:
    """40 MB in 100 ms are 400 MB/s."""
    assert limit("writer.large", "disk", 75) == Amount("disk", 300_000_000, Fraction(3, 4))


def test_a_cache_has_whole_ways_and_the_fraction_says_so() -> None:
    """The walker uses 12 of 16 ways: a quarter is 3. Of 6 ways it uses 4.5: half of them are 2."""
    assert limit("walker.small", "cache", 25) == Amount("cache", 3, Fraction(1, 4))
    assert limit("walker.small", "cache", 50, ways=6) == Amount("cache", 2, Fraction(4, 9))


def test_what_cannot_be_limited_says_why() -> None:
    assert limit("walker.small", "cache", 75, ways=0) == "the machine has no shared cache"
    assert limit("walker.small", "cache", 75, ways=1) == "it uses 0.8 of 1 ways, and 75% of them is no fewer"
    for resource in ("cache", "bandwidth"):
        result = limit("walker.small", resource, 50, ways=None)
        assert result == f"nobody can take {resource} away from one guest on wall time: name `antagonists`"
    assert limit("prime.small", "disk", 75) == "prime.small has no figure for disk"
