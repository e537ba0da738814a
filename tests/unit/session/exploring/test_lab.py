"""What a lab takes from a run that was verified."""

from __future__ import annotations

import pytest

from benchgate.session.exploring.lab import window_ns
from tests.unit import factories


@pytest.mark.parametrize(("unit", "ns"), [("insn", 800), ("ns", 800), ("cycles", None)])
def test_a_window_is_compared_with_others_if_its_length_is_guest_time(unit: str, ns: int | None) -> None:
    """`ns`: between two lines of the console, or a figure that the clock agreed with."""
    run = factories.raw_run(factories.cell())
    assert window_ns(factories.verified(run, 800, unit=unit)) == ns
