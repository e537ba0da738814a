from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.mix import orders, study_json
from tests import mixsim


def test_a_study_and_its_orders_survive_their_file() -> None:
    study = replace(mixsim.study(), text="")
    assert study_json.read_study(json.loads(json.dumps(study_json.study(study)))) == study
    found = [*orders.alone(study), *orders.limited(study), *orders.swept(study)]
    assert [*map(study_json.read_order, json.loads(json.dumps(study_json.orders(found))))] == found


def test_a_study_without_a_sweep() -> None:
    study = replace(mixsim.study(), text="", sweep=None, file=Path("other.yaml"))
    assert study_json.read_study(json.loads(json.dumps(study_json.study(study)))) == study


@pytest.mark.parametrize(
    ("key", "value"), [("seeds", 0), ("capacity", {"disk": "1/0"}), ("inputs", [{}]), ("more", 1)]
)
def test_a_wrong_study_is_refused(key: str, value: object) -> None:
    with pytest.raises(ValueError, match=r"."):
        study_json.read_study({**study_json.study(mixsim.study()), key: value})
