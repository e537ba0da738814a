from __future__ import annotations

import json
from dataclasses import asdict, replace
from fractions import Fraction
from pathlib import Path

import pytest

from benchgate.base.jsonfields import as_json, read
from benchgate.mix import orders
from benchgate.mix.orders import Order
from benchgate.mix.study import Antagonists, Study
from tests import mixsim


def test_a_study_and_its_orders_survive_their_file() -> None:
    whole = {"cache": Antagonists(Fraction(16), {"walker.small": Fraction(1, 4), "prime.large": Fraction(8)})}
    study = replace(mixsim.study(), text="", antagonists=whole)
    again = read(Study, json.loads(json.dumps(as_json(study))), "the study")
    assert asdict(again) == asdict(study)
    found = [*orders.alone(study), *orders.limited(study), *orders.swept(study)]
    stored = json.loads(json.dumps([as_json(one) for one in found]))
    assert read(tuple[Order, ...], stored, "runs") == tuple(found)


def test_a_study_without_a_sweep() -> None:
    study = replace(mixsim.study(), text="", sweep=None, file=Path("other.yaml"))
    assert read(Study, json.loads(json.dumps(as_json(study))), "the study") == study


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("seeds", 0),
        ("capacity", {"disk": "1/0"}),
        ("capacity", {"disk": "1e999999999"}),
        ("least_use", "1e999999999"),
        ("inputs", [{}]),
        ("antagonists", {"cache": {}}),
        ("more", 1),
    ],
)
def test_a_wrong_study_is_refused(key: str, value: object) -> None:
    with pytest.raises(ValueError, match=r"."):
        read(Study, {**as_json(mixsim.study()), key: value}, "the study")
