from __future__ import annotations

from fractions import Fraction

import pytest

from benchgate.mix import vectors
from benchgate.mix.limits import Amount, amount
from benchgate.mix.measurement import alone
from benchgate.mix.study_orders import Limit
from tests import mixsim
from tests.mixsim import TRUTH, Simulated


def limit(name: str, resource: str, percent: int, ways: int | None = 16) -> Amount | str:
    study = mixsim.study()
    runs = mixsim.runs_of(study, Simulated(TRUTH))
    vector = next(one for one in vectors.compute(study, runs) if one.input.name == name)
    return amount(Limit(resource, percent), vector, [*alone(study, runs, name).values()], ways)


def test_half_of_a_quarter_of_the_cpus() -> None:
    assert limit("prime.small", "cpu", 50) == Amount("cpu", 125_000, Fraction(1, 2))


def test_bytes_of_memory() -> None:
    """The walker uses a fifth of 1 GiB."""
    found = limit("walker.small", "memory", 25)
    assert isinstance(found, Amount)
    assert found.amount == pytest.approx((1 << 30) / 5 / 4, abs=1)


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
        found = limit("walker.small", resource, 50, ways=None)
        assert found == f"nobody can take {resource} away from one guest on wall time: name `antagonists`"
    assert limit("prime.small", "disk", 75) == "prime.small has no figure for disk"
