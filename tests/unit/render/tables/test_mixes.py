from __future__ import annotations

import json
from fractions import Fraction

from benchgate.mix.applications import Input, Mix
from benchgate.render.tables import mixes

GAME = Input("game", "1", Fraction(1), (Fraction("0.3"), Fraction(1, 10)), "v.csv:2")
SCAN = Input("scan", "N", Fraction(1), (Fraction(0), Fraction("0.4")), "v.csv:3")
MIX = Mix(((GAME, 2), (SCAN, 1)), Fraction("0.625"), (Fraction("0.6"), Fraction("0.6")))


def test_json_has_objective_mix_and_totals() -> None:
    assert json.loads(mixes.as_json([MIX], ("cpu", "disk"))) == [
        {"objective": 0.625, "mix": {"game.1": 2, "scan.N": 1}, "totals": {"cpu": 0.6, "disk": 0.6}}
    ]


def test_the_table_has_a_line_for_each_mix() -> None:
    heading, _, line = mixes.text([MIX], ("cpu", "disk"))
    assert heading.split() == ["objective", "cpu", "disk", "mix"]
    assert line.split() == ["0.625", "60%", "60%", "2", "x", "game.1", "1", "x", "scan.N"]
