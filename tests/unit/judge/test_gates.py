"""The kinds of gate: an unknown one is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchgate.base.errors import DecideError
from benchgate.base.gates import GateInput
from benchgate.judge import gates
from tests.unit.factories import POLICY, speedup


def test_an_unknown_kind_of_gate_lists_the_known_kinds() -> None:
    with pytest.raises(
        DecideError,
        match="unknown kind of gate 'fair'; use one of control, speedup, verified, or the path",
    ):
        gates.judge(replace(speedup(), kind="fair"), GateInput({}, POLICY, {}))
