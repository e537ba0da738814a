"""Forged histograms against what the machine measured: whatever is moved, halved, capped or invented
contradicts, and an honest guest with interrupts does not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchgate.judge.checks.measured_figures import MeasuredSpans, Slack, contradiction
from benchgate.judge.checks.thread_record import histogram_of

NS = Fraction(1)
AROUND = 116
"""What reading the clock before and after a call takes."""
CALLS = [16_000 + 37 * number for number in range(400)]
"""What the machine measured from call to call: no two are equal."""
HONEST = [length + AROUND for length in CALLS]


def wrong(
    said: Sequence[int],
    calls: Sequence[int] = CALLS,
    *,
    tick: Fraction = NS,
    may_lack: bool = False,
) -> str:
    inner, outer = histogram_of(calls), histogram_of([length + AROUND for length in calls])
    return contradiction(histogram_of(said), tick, MeasuredSpans(inner, outer, may_lack), Slack())


def shifted(values: Sequence[int]) -> list[int]:
    """All but one are moved to a small value, and the last has their time: count and sum hold."""
    return [1001] * (len(values) - 1) + [sum(values) - 1001 * (len(values) - 1)]


def two_ends(values: Sequence[int]) -> list[int]:
    """As many as fit are the maximum, the others small: count, sum and maximum hold."""
    most = max(values)
    large = sum(values) // most
    rest = sum(values) - large * most
    return [most] * large + [rest] + [0] * (len(values) - large - 1)


LIES: dict[str, Callable[[Sequence[int]], list[int]]] = {
    "shifted into the last bucket": shifted,
    "moved to both ends": two_ends,
    "halved": lambda values: [value // 2 for value in values],
    "doubled": lambda values: [2 * value for value in values],
    "capped": lambda values: [min(value, 20_000) for value in values],
    "one tenth better": lambda values: [value * 9 // 10 for value in values],
    "a minimum of nothing": lambda values: [0, *values[1:]],
    "a minimum of 1 ns": lambda values: [1, *values[1:]],
    "a smaller median": lambda values: [*values[:150], *[values[150]] * 100, *values[250:]],
    "a larger median": lambda values: [*values[:150], *[values[249]] * 100, *values[250:]],
    "a maximum that is not there": lambda values: [*values[:-9], *values[-18:-9]],
    "a maximum from nowhere": lambda values: [*values[:-1], 10 * values[-1]],
    "each second one left out": lambda values: list(values[::2]),
    "each one twice": lambda values: [*values, *values],
    "one more": lambda values: [*values, values[0]],
    "one less": lambda values: list(values[1:]),
    "all the mean": lambda values: [sum(values) // len(values)] * len(values),
    "none": lambda _: [],
}


@pytest.mark.parametrize("name", LIES)
def test_a_forged_histogram_contradicts(name: str) -> None:
    assert wrong(LIES[name](HONEST))


def test_an_honest_one_does_not() -> None:
    assert not wrong(HONEST)
    assert not wrong(CALLS)
    assert not wrong([], [])


def test_both_sides_are_named_with_their_numbers() -> None:
    assert wrong(shifted(HONEST)) == (
        "value 1 of 400 is at most 1,002 ns, but the machine measured at least 16,000 ns"
    )
    assert wrong(HONEST[1:]) == "399 values, but the machine measured 400"
    assert wrong([*HONEST[:-1], 10**6]) == (
        "value 400 of 400 is at least 999,999 ns, but the machine measured at most 30,879 ns"
    )


def test_an_interrupt_between_reading_and_call_is_in_both() -> None:
    """It makes what the machine saw read longer, and so what an honest guest says; the calls it leaves."""
    outer = [*HONEST[:-2], HONEST[-2] + 30_000, HONEST[-1] + 2_000_000]
    spans = MeasuredSpans(histogram_of(CALLS), histogram_of(outer))
    assert not contradiction(histogram_of(outer), NS, spans, Slack())
    assert contradiction(histogram_of([value // 2 for value in outer]), NS, spans, Slack())
    # what the guest says may be anything between the two
    assert not contradiction(histogram_of(HONEST), NS, spans, Slack(below_ns=0))


def test_the_slack_is_for_each_value() -> None:
    spans = MeasuredSpans(histogram_of(CALLS), histogram_of(HONEST))
    longer = histogram_of([value + 400 for value in HONEST])
    assert contradiction(longer, NS, spans, Slack(above_ns=100))
    assert not contradiction(longer, NS, spans, Slack(above_ns=400))
    shorter = histogram_of([value - 400 for value in CALLS])
    assert contradiction(shorter, NS, spans, Slack(below_ns=100))
    assert not contradiction(shorter, NS, spans, Slack(below_ns=400))


def test_a_guest_with_a_coarse_clock_is_not_held_against_its_ticks() -> None:
    tick = Fraction(1000, 3)
    read = [length * 3 // 1000 for length in HONEST]
    assert not wrong(read, tick=tick)
    assert wrong([ticks - 3 for ticks in read], tick=tick)


def test_waits_that_found_their_word_set_are_left_free() -> None:
    unslept = [200] * 50
    assert not wrong([*unslept, *HONEST], may_lack=True)
    assert wrong([*unslept, *LIES["halved"](HONEST)], may_lack=True)
    assert wrong([*unslept, *LIES["doubled"](HONEST)], may_lack=True)
    assert wrong([*unslept, *shifted(HONEST)], may_lack=True)
    assert wrong(HONEST[40:], may_lack=True) == "360 values, but the machine measured 400"


LENGTHS = st.lists(st.integers(0, 10**7), min_size=1, max_size=80)


@settings(max_examples=60, deadline=None)
@given(LENGTHS, st.lists(st.integers(0, AROUND), min_size=80, max_size=80))
def test_whatever_lies_between_both_lengths_passes(calls: list[int], extra: list[int]) -> None:
    assert not wrong([length + more for length, more in zip(calls, extra, strict=False)], calls)


@settings(max_examples=60, deadline=None)
@given(LENGTHS, st.integers(0, 79), st.floats(0, 0.9))
def test_no_value_can_be_made_shorter(calls: list[int], place: int, share: float) -> None:
    calls = [length + 1000 for length in sorted(calls)]
    place %= len(calls)
    said = [*calls[:place], int(calls[0] * share), *calls[place + 1 :]]
    assert wrong(said, calls)


@settings(max_examples=60, deadline=None)
@given(LENGTHS, st.integers(0, 79), st.integers(2, 10))
def test_no_value_can_be_made_longer(calls: list[int], place: int, times: int) -> None:
    calls = [length + 1000 for length in sorted(calls)]
    place %= len(calls)
    said = [*calls[:place], calls[-1] * times, *calls[place + 1 :]]
    assert wrong(said, calls)
