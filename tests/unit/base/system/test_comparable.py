"""One rule for all that makes ratios: which systems' figures may meet."""

from __future__ import annotations

from itertools import product

import pytest

from benchgate.base.snapshots import StartKind
from benchgate.base.system.comparable import conditions_of, incomparable, start_in


@pytest.mark.parametrize(
    ("system", "start"),
    [
        ("linux", StartKind.COLD),
        ("linux.start-warm", StartKind.WARM),
        ("linux-desktop8.start-warm", StartKind.WARM),
        ("linux.linux-6.12.start-warm", StartKind.WARM),
        ("kernel.sched-rr.start-warm-0123abcd", StartKind.WARM),
        ("start-warm", StartKind.COLD),
        ("kernel.restart-warm", StartKind.COLD),
        ("kernel.start-warmer", StartKind.COLD),
    ],
)
def test_a_name_says_where_runs_begin(system: str, start: StartKind) -> None:
    assert start_in(system) is start


def test_systems_differ_in_nothing_but_themselves() -> None:
    names = ("linux", "kernel", "linux.start-warm", "kernel-desktop8", "linux-desktop8.start-warm")
    for one, other in product(names, names):
        said = incomparable(one, other)
        assert bool(said) == (conditions_of(one) != conditions_of(other))
        assert not said or (one in said and other in said)
    assert incomparable("linux", "kernel.start-warm") == "kernel.start-warm starts warm and linux cold"
    assert incomparable("a", "b-desktop8") == "a is on machine ideal and b-desktop8 on desktop8"
