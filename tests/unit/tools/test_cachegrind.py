"""The memory model counts what valgrind's cachegrind counts for the same program and the same caches."""

from __future__ import annotations

import pytest

from benchgate.base.errors import FetchError, HostError
from tools.cachegrind import FIRST, Comparison, beside, in_the_guest, on_a_trace
from tools.valgrind import Counts, parse_counts, valgrind


@pytest.fixture(scope="module")
def seen() -> Comparison:
    try:
        outsider = valgrind()
    except (FetchError, HostError) as error:
        pytest.skip(f"valgrind cannot be had: {error}")
    return on_a_trace(outsider)


@pytest.mark.long
def test_on_the_same_trace_all_counts_are_equal(seen: Comparison) -> None:
    for name in ("instructions", "reads", "writes"):
        assert seen.model[name] == getattr(seen.cachegrind, name)
    held = FIRST.bytes // FIRST.line
    for name in ("fetch_misses", "read_misses", "write_misses"):
        assert seen.model[name] == pytest.approx(getattr(seen.cachegrind, name), abs=held)
    assert seen.cachegrind.read_misses > 100 * held
    assert seen.cachegrind.write_misses > 100 * held


@pytest.mark.long
def test_the_guest_is_within_one_percent(seen: Comparison) -> None:
    for name, outside, inside in beside(seen, in_the_guest()):
        assert inside == pytest.approx(outside, rel=0.01), name


EVENTS = "events: Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw\n"


def test_a_function_has_several_lines() -> None:
    text = f"{EVENTS}fl=a.c\nfn=other\n1 9 9 9 9 9 9 9 9 9\nfn=f\n2 1 2 3 4 5 6 7 8 9\n3 10 0 0 0 1 0 0 2 0\n"
    assert parse_counts(text, "f") == Counts(11, 2, 4, 6, 7, 10)


@pytest.mark.parametrize(
    ("text", "why"),
    [("events: Ir\n", "does not have the events"), (f"{EVENTS}fn=other\n1 1\n", "no function f")],
)
def test_a_file_without_the_counts_is_refused(text: str, why: str) -> None:
    with pytest.raises(RuntimeError, match=why):
        parse_counts(text, "f")
