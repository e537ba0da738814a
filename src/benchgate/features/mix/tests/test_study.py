from __future__ import annotations

import json
from dataclasses import asdict, replace
from fractions import Fraction
from pathlib import Path

import pytest

from benchgate.base.jsonfields import as_json, read
from benchgate.features.mix import study_orders
from benchgate.features.mix.study import Antagonists, Study, kept_number, written_number
from benchgate.features.mix.study_orders import StudyOrder
from benchgate.features.mix.tests import mixsim


def test_a_study_and_its_orders_survive_their_file() -> None:
    whole = {"cache": Antagonists(Fraction(16), {"walker.small": Fraction(1, 4), "prime.large": Fraction(8)})}
    study = replace(mixsim.study(), text="", antagonists=whole)
    again = read(Study, json.loads(json.dumps(as_json(study))), "the study")
    assert asdict(again) == asdict(study)
    orders = [*study_orders.alone(study), *study_orders.limited(study), *study_orders.swept(study)]
    stored = json.loads(json.dumps([as_json(order) for order in orders]))
    assert read(tuple[StudyOrder, ...], stored, "runs") == tuple(orders)


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


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("0.00012344155042587335", Fraction(12344155042587335, 10**20)),
        ("12345678901.5", Fraction(24691357803, 2)),
        (".5", Fraction(1, 2)),
        ("1.", Fraction(1)),
        ("1e+0", Fraction(1)),
        ("1e+16", Fraction(10**16)),
        ("1.5E-05", Fraction(15, 10**6)),
        ("-1", Fraction(-1)),
        ("1/3", Fraction(1, 3)),
    ],
)
def test_numbers_that_people_and_programs_write(word: str, value: Fraction) -> None:
    assert written_number(word) == value


@pytest.mark.parametrize(
    "word", ["", ".", "e5", "1e100", "1e99999999", "1/0", "1_0", "nan", "٣", "1" * 41, "1 ", "1\n", "0x1"]
)
def test_what_is_no_number_or_would_fill_the_memory(word: str) -> None:
    with pytest.raises(ValueError, match="is no number"):
        written_number(word)


def test_what_a_study_keeps() -> None:
    small = Fraction(1, 10**139)
    assert kept_number(str(small)) == small
    assert kept_number("-3/4") == Fraction(-3, 4)
    for word in ("1e9", "0.5", "1/0", "1" * 301, "1/" + "1" * 301):
        with pytest.raises(ValueError, match="is no number"):
            kept_number(word)
