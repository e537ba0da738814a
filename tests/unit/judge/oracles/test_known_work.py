"""The closed forms of guest/work.h, compared with published numbers and with one operation at a time."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from benchgate.judge.oracles import known_work


def test_published_elements_of_splitmix64() -> None:
    # The first outputs for seed 0 of Vigna's splitmix64.c, as its ports test them.
    assert known_work.random_numbers(0, 3).tolist() == [
        0xE220A8397B1DCDAF,
        0x6E789E6AA1B965F4,
        0x06C45D188009454F,
    ]
    assert known_work.random_numbers(1, 3).tolist() == known_work.random_numbers(0, 3)[1:].tolist()
    with_seed = known_work.random_numbers(0, 3, 1234567)  # as in the lists of Rosetta Code
    assert with_seed.tolist() == [6457827717110365317, 3203168211198807973, 9817491932198370423]


def plain_turns(x: int, turns: int) -> int:
    for _ in range(turns):
        x = (x * 6364136223846793005 + 1442695040888963407) % 2**64
    return x


@given(st.lists(st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 300)), min_size=1, max_size=5))
def test_turns_agree_with_one_at_a_time(cases: list[tuple[int, int]]) -> None:
    starts, turns = (np.array(column, dtype=np.uint64) for column in zip(*cases, strict=True))
    assert known_work.after_turns(starts, turns).tolist() == [plain_turns(*case) for case in cases]


@given(st.integers(-5, 2**64), st.integers(0, 2**50), st.integers(0, 99))
def test_turns_of_one_number_add_up(start: int, first: int, more: int) -> None:
    middle = known_work.after_turns_from(start, first)
    assert known_work.after_turns_from(start, first + more) == plain_turns(middle, more)


@given(st.integers(0, 2**64 - 1), st.integers(0, 99))
def test_any_number_of_turns_is_possible(start: int, more: int) -> None:
    """A worker may report any count of 64 bits, and its product may have more. The map of one turn has the
    period 2^64."""
    assert known_work.after_turns_from(start, 5 * 2**64 + more) == plain_turns(start, more)


def test_one_count_of_turns_serves_all_numbers() -> None:
    starts = np.array([1, 2, 3], dtype=np.uint64)
    assert known_work.after_turns(starts, 7).tolist() == [plain_turns(x, 7) for x in (1, 2, 3)]


@given(st.lists(st.integers(0, 2**64 - 1), max_size=9))
def test_folds_and_totals_agree_with_one_value_at_a_time(values: list[int]) -> None:
    fold = 0
    for value in values:
        fold = (fold * 0x9FB21C651E98DF25 + value) % 2**64
    words = np.array(values, dtype=np.uint64)
    assert (known_work.folded(words), known_work.total(words)) == (fold, sum(values) % 2**64)


def test_shares_are_the_whole_and_differ_by_one_at_most() -> None:
    cuts = [known_work.equal_share(10, 4, worker) for worker in range(4)]
    assert cuts == [(0, 2), (2, 5), (5, 7), (7, 10)]
