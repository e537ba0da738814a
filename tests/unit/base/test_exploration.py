"""The file of an exploration: written, read back, and refused if it is anything else."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgate.base.exploration import MOST_POINTS, Exploration, StallPoint, Strategy, exploration_of, usual

LISTED = Exploration(Strategy.SYNC, 9, window=True).at_points(
    [StallPoint(0, 5, 100), StallPoint(1, 2, 0), StallPoint(0, 5, 7)]
)
TEXT = """\
benchgate-exploration 1
strategy points
seed 9
from_ns 0
until_ns 0
window 1
one_in 10
reach 300
shortest_ns 200
longest_ns 30000
depth 3
steps 0
point 0 5 100
point 1 2 0
point 0 5 7
end
"""


def test_the_file_is_as_documented_and_is_read_back() -> None:
    assert LISTED.text == TEXT
    assert exploration_of(TEXT) == LISTED
    for strategy in Strategy:
        exploration = usual(strategy, 4, steps=1000)
        assert exploration_of(exploration.text) == exploration


def test_it_is_named_by_its_seed_or_its_points() -> None:
    assert [str(usual(Strategy.PCT, 4)), str(LISTED)] == ["strategy pct, seed 4", "strategy points, 3 points"]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"seed": -1}, "seed -1 is not from 0"),
        ({"one_in": 0}, "one_in 0 is not from 1"),
        ({"shortest_ns": 40_000}, "shortest_ns 40000 is more than longest_ns 30000"),
        ({"strategy": Strategy.PCT}, "needs the number of steps"),
        ({"points": (StallPoint(0, 1, 1),)}, "strategy sync has points"),
    ],
)
def test_values_that_fit_no_run_are_refused(change: dict[str, object], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        replace(Exploration(Strategy.SYNC), **change)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("points", "why"),
    [
        ([StallPoint(256, 1, 1)], "point 1 is out of range"),
        ([StallPoint(0, 9, 1), StallPoint(1, 1, 1), StallPoint(0, 8, 1)], "point 3 of vCPU 0 comes before"),
        ([StallPoint(0, 1, 1)] * (MOST_POINTS + 1), "at most 20000"),
    ],
)
def test_points_that_cannot_be_made_are_refused(points: list[StallPoint], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        LISTED.at_points(points)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("exploration 1", "exploration 2", "the version is not 1"),
        ("strategy points", "strategy luck", "'luck' is not a valid Strategy"),
        ("seed 9\n", "", "line 3: expected `seed` and 1 values, found `from_ns 0`"),
        ("seed 9", "seed 09", "`09` is not a number"),
        ("window 1", "window 2", "not in the form"),
        ("point 1 2 0", "point 1 2", "expected `point VCPU .*, `place ADDRESS` or `end`, found `point 1 2`"),
        ("end\n", "", "or `end`, found ``"),
        ("end\n", "end\n\n", "not in the form"),
    ],
)
def test_a_file_in_another_form_is_refused(old: str, new: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        exploration_of(TEXT.replace(old, new))


@given(st.text(alphabet="abcpoint 0159\n", max_size=80), st.integers(0, len(TEXT)))
def test_any_text_is_read_or_refused_without_a_crash(more: str, at: int) -> None:
    try:
        exploration = exploration_of(TEXT[:at] + more + TEXT[at:])
    except ValueError:
        return
    assert exploration.text == TEXT[:at] + more + TEXT[at:]
