"""contention.c tells contention for a line from vCPUs that met there once."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.insn.c.native import load

APART = 1000
PLACES = 64
At = Callable[[int, int, bool], bool]


@pytest.fixture
def at(tmp_path: Path) -> At:
    function = load(tmp_path, "contention").contention_at
    function.restype = ctypes.c_bool
    function.argtypes = (ctypes.c_uint64, ctypes.c_uint64, ctypes.c_bool)
    return lambda line, time, late: bool(function(line, time, late))


def test_the_third_late_access_is_contention(at: At) -> None:
    assert [at(7, 100 * n, True) for n in range(1, 5)] == [False, False, True, True]


def test_while_the_line_moves_contention_goes_on(at: At) -> None:
    for n in range(3):
        at(7, n, True)
    assert at(7, APART, False)
    assert at(7, 2 * APART, False)
    assert not at(7, 3 * APART + 1, False)


def test_accesses_that_only_wait_are_no_contention(at: At) -> None:
    assert not any(at(7, n, False) for n in range(9))


@pytest.mark.parametrize(("apart", "counts"), [(APART, True), (APART + 1, False)])
def test_late_accesses_far_apart_are_several_meetings(at: At, apart: int, counts: bool) -> None:
    at(7, 1, True)
    at(7, 2, True)
    assert at(7, 2 + apart, True) is counts


def test_an_earlier_vcpu_is_as_near_as_a_later_one(at: At) -> None:
    at(7, 5000, True)
    at(7, 4500, True)
    assert at(7, 4800, True)


def test_lines_are_counted_apart_and_one_takes_the_place_of_another(at: At) -> None:
    for n in range(2):
        assert not at(7, n, True)
        assert not at(8, n, True)
    assert not at(7 + PLACES, 3, True)
    assert not at(7, 4, True)
    assert at(8, 4, True)
