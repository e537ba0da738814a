"""Claims: what is one, which units fit, and what its sides are. Only arithmetic gets through."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgate.base.workload import witness
from benchgate.base.workload.witness import COUNT, SIZE, TIME, Promise, Unit, parse

UNITS = {
    "calls": COUNT,
    "rounds": COUNT,
    "workers": COUNT,
    "window": TIME,
    "latency.sum": TIME,
    "moved": SIZE,
}
VALUES = {
    "calls": 12,
    "rounds": 5,
    "workers": 2,
    "window": 2_000_000,
    "latency.sum": 1_500_000,
    "moved": 8192,
}
SEEN = {name: Fraction(value) for name, value in VALUES.items()}


def unit_of(name: str) -> Unit:
    if name not in UNITS:
        raise ValueError(f"there is no `{name}`")
    return UNITS[name]


@pytest.mark.parametrize(
    ("text", "sides", "holds"),
    [
        ("calls >= rounds * workers", (12, 10), True),
        ("calls == rounds + workers * 3", (12, 11), False),
        ("calls // rounds == 2", (2, 2), True),
        ("calls / rounds > 2.3", (Fraction(12, 5), Fraction(23, 10)), True),
        ("rounds <= calls < 3 * workers * 2", (5, 12, 12), False),
        ("min(calls, rounds, 4) < max(1, workers)", (4, 2), False),
        ("-workers <= calls - 2 * (rounds + 1)", (-2, 0), True),
        ("latency.sum + 600us >= window", (2_100_000, 2_000_000), True),
        ("window / 1ms <= workers", (2, 2), True),
        ("moved >= 4KiB * workers", (8192, 8192), True),
        ("moved * 1s >= window * 1MiB", (8192 * 10**9, 2_000_000 << 20), True),
    ],
)
def test_both_sides_of_a_claim_have_their_values(text: str, sides: tuple[int, ...], holds: bool) -> None:
    claim = parse(text, unit_of)
    assert [*claim.values(SEEN)] == [*map(Fraction, sides)]
    assert claim.holds(SEEN) is holds


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("calls", "expected a comparison"),
        ("", "ends too early"),
        ("calls >=", "ends too early"),
        ("calls >= rounds >= 1 >= 0", "at most two of them"),
        ("calls >= (rounds", r"`\)` is missing"),
        ("calls >= rounds)", "expected a comparison"),
        ("calls >= 3rounds", "`rounds` is no unit"),
        ("calls >= 3 rounds", "expected a comparison"),
        ("calls >= 3x", "`x` is no unit"),
        ("calls >= unknown", "there is no `unknown`"),
        ("calls ** 9 >= 1", r"`\*` is not expected"),
        ("calls != 1", "`!` is no part"),
        ("calls >= rounds and 1 >= 0", "expected a comparison"),
        ("__import__('os')", "there is no `__import__`"),
        ("calls[0] >= 1", r"`\[` is no part"),
        ("window >= calls", "between ns and a count"),
        ("window + 1 >= 1ms", "between ns and a count"),
        ("max(window, 3) >= 1ms", "between ns and a count"),
        ("moved >= window", "between bytes and ns"),
        ("window // 2 >= 1ns", "only a count can be rounded"),
        ("max(calls) >= 1", "needs two values"),
        ("(" * 30 + "calls" + ")" * 30 + " >= 1", "nested more than"),
        ("calls >= " + "1 + " * 100 + "1", "more than 300"),
        ("calls >= 1234567890123456789012345", "is no part|expected a comparison"),
    ],
)
def test_what_is_no_claim_is_refused_with_a_reason(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parse(text, unit_of)


@pytest.mark.parametrize("text", ["calls / (workers - 2) >= 1", "calls // (workers - 2) >= 1"])
def test_a_division_by_zero_is_a_sentence(text: str) -> None:
    with pytest.raises(ValueError, match="divides by 0"):
        parse(text, unit_of).holds(SEEN)


def test_a_number_cannot_grow_without_end() -> None:
    claim = parse("calls * calls * calls * calls >= 1", unit_of)
    with pytest.raises(ValueError, match="too large"):
        claim.holds({"calls": Fraction(2**63)})


@given(st.text(alphabet="calrounds0123456789.+-*/()<>=, \n", max_size=60))
def test_any_text_is_a_claim_or_refused(text: str) -> None:
    try:
        parse(text, unit_of).holds(SEEN)
    except ValueError:
        return


def test_only_a_length_of_time_is_one() -> None:
    assert witness.parse_length("window - 1ms", unit_of).value(SEEN) == 1_000_000
    with pytest.raises(ValueError, match="expected a length of time"):
        witness.parse_length("calls", unit_of)
    with pytest.raises(ValueError, match="expected a length of time"):
        witness.parse_length("window >= 1ms", unit_of)


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("syscalls.write", COUNT),
        ("total.syscalls", COUNT),
        ("bytes.read", SIZE),
        ("work", TIME),
        ("away.latency.max", TIME),
        ("away.latency.count", COUNT),
        ("spent.latency", TIME),
        ("syscalls.", None),
        ("away.latency", None),
        ("result.calls", None),
        ("latency.max", None),
    ],
)
def test_what_the_machine_sees_is_known_by_its_name(name: str, unit: Unit | None) -> None:
    assert witness.of_machine(name) == unit


def test_a_promise_is_made_with_its_choices_only() -> None:
    claim = parse("calls >= 1", unit_of)
    promise = Promise("why", {"lock": ("park", "spin"), "rps": ("0",)}, (claim,))
    assert promise.is_made({"lock": "spin", "rps": 0})
    assert not promise.is_made({"lock": "spin", "rps": 1})
    assert not promise.is_made({"lock": "none", "rps": 0})
    assert promise.text == "calls >= 1"


def test_what_only_functions_of_the_kernel_or_the_program_show_must_be_looked_for() -> None:
    """That of each worker needs the threads, which switches tell apart: it was never seen of a workload with
    no other such promise."""
    assert witness.needs_events(["calls", "total.program.work"])
    assert witness.needs_events(["each.children.own", "each.blocks"])
    assert not witness.needs_events(["products", "each.blocks", "blocks"])
