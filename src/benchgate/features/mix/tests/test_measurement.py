from __future__ import annotations

import json
from fractions import Fraction

import pytest

from benchgate.base.jsonfields import as_json, read
from benchgate.features.mix.measurement import MixMeasurement, PartMeasurement

RUN = MixMeasurement(
    window_ns=1000,
    parts=(
        PartMeasurement("a.b#1", Fraction(1, 3), 3, {"cpu": 500, "disk": None}),
        PartMeasurement("a.b#2", Fraction(0), 0, {"cpu": 700, "disk": 4}, "memory"),
    ),
    use={"cache": 77},
    capacity={"cpu": 2000, "cache": None},
    missing={"disk": "no file"},
)


def test_a_run_survives_its_file() -> None:
    assert read(MixMeasurement, json.loads(json.dumps(as_json(RUN))), "a run") == RUN


def test_use_of_all_parts() -> None:
    assert RUN.used("cpu") == 1200
    assert RUN.used("disk") is None
    assert RUN.used("cache") == 77
    assert RUN.used("network") is None
    assert RUN.parts[1].input == "a.b"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"1/3"', '"1/0"', r"parts\[0\]: score"),
        ('"1/3"', '"-1"', "score is below 0"),
        ('"window_ns": 1000', '"window_ns": 0', "window_ns"),
        ('"cpu": 500', '"cpu": -1', "cpu"),
        ('"cpu": 500', '"gpu": 1', "'gpu' is not a resource"),
        ('"runs": 3', '"runs": "3"', "runs"),
        ('"missing"', '"mising"', "missing"),
    ],
)
def test_a_wrong_file_is_refused(old: str, new: str, said: str) -> None:
    text = json.dumps(as_json(RUN))
    assert old in text
    with pytest.raises(ValueError, match=said):
        read(MixMeasurement, json.loads(text.replace(old, new)), "a run")
