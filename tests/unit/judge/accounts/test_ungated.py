"""The CPU counts that no gate uses."""

from __future__ import annotations

from dataclasses import replace

from benchgate.base.gates import Gate
from benchgate.judge.accounts.ungated import UngatedRow, ungated
from tests.unit.factories import cell, control, right, speedup

ROW = tuple(cell(count) for count in (1, 2, 4, 8))


def test_a_count_without_a_threshold_is_ungated() -> None:
    """A base is used by its gate; that runs are verified is no threshold."""
    found = ungated(ROW, [speedup(2), *(right(count) for count in (1, 2, 4, 8))])
    assert found == (UngatedRow("primes-linux", (4, 8)),)
    assert str(found[0]) == "ungated (no threshold): primes-linux smp4, smp8"


def test_a_gate_over_several_arms_uses_all_of_them() -> None:
    law = Gate("law", "scaling", ROW[0], ROW[3], at_most=0.1, more=(ROW[1],))
    assert ungated(ROW, [law]) == (UngatedRow("primes-linux", (4,)),)
    assert ungated(ROW, [replace(law, more=ROW[1:3])]) == ()


def test_a_row_without_any_threshold_is_said_as_a_whole() -> None:
    found = ungated([*ROW[:2], cell(1, system="tern")], [control(2)])
    assert found == (UngatedRow("primes-tern", (1,)),)


def test_a_variant_is_never_gated_and_so_not_named() -> None:
    assert ungated([*ROW[:2], replace(cell(4), variant="smt")], [speedup(2)]) == ()
    assert ungated([], []) == ()
