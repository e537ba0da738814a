from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest

from benchgate.base.cells import Cell, Mode, Window
from benchgate.base.files import read_json
from benchgate.base.jsonfields import (
    As,
    Between,
    Matches,
    OrWord,
    PlainWord,
    Presence,
    Printable,
    Seconds,
    Size,
    as_json,
    read,
    read_key,
    without_head,
)
from benchgate.base.workload.metrics import Metric, MetricDirection, MetricKind


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True)
class Inner:
    left: int
    right: tuple[int, str]


@dataclass(frozen=True)
class Beside:
    beside: bool


def _twice(value: int) -> int:
    if value > 1000:
        raise ValueError("too much")
    return 2 * value


@dataclass(frozen=True)
class Outer:
    number: int
    signed: Annotated[int, Between(-5, 5)]
    real: float
    seconds: Seconds
    flag: bool
    text: str
    word: PlainWord
    shown: Annotated[str, Printable(10)]
    colour: Colour
    path: Path
    either: int | str
    perhaps: Inner | None
    unknown: Annotated[int | None, OrWord("unavailable")]
    many: Annotated[tuple[Inner, ...], Size(0, 2)]
    each: frozenset[int]
    by_name: Mapping[str, Inner]
    by_number: Mapping[int, Colour]
    literal: Literal["a", 1]
    other: Annotated[Fraction, As(str, Fraction, str)]
    twice: Annotated[int, As(int, _twice, lambda value: value // 2)]
    anything: Any
    inline: Annotated[Beside, Presence.INLINE]
    later: Annotated[str, Presence.LATER] = "none"
    sparse: Annotated[str, Presence.SPARSE] = ""
    apart: Annotated[object, Presence.APART] = None


WHOLE = Outer(
    number=2**63 - 1,
    signed=-5,
    real=-0.5,
    seconds=1.5,
    flag=False,
    text="\x1b",
    word="a.b",
    shown="a\nb",
    colour=Colour.BLUE,
    path=Path("/a"),
    either="x",
    perhaps=Inner(1, (2, "c")),
    unknown=None,
    many=(Inner(0, (0, "")),),
    each=frozenset({3, 1}),
    by_name={"n": Inner(7, (8, "d"))},
    by_number={0: Colour.RED},
    literal="a",
    other=Fraction(1, 3),
    twice=8,
    anything=[None, {}],
    inline=Beside(True),
)


def test_a_value_is_read_back_as_it_was_written() -> None:
    for outer in (
        WHOLE,
        replace(WHOLE, perhaps=None, unknown=4, either=-0, sparse="x", later="y", literal=1),
    ):
        assert read(Outer, json.loads(json.dumps(as_json(outer), allow_nan=False)), "it") == outer


def test_what_is_written_is_plain() -> None:
    result = as_json(WHOLE)
    assert result["colour"] == "blue"
    assert type(result["colour"]) is str
    assert (result["unknown"], result["beside"], result["each"]) == ("unavailable", True, [1, 3])
    assert (result["other"], result["twice"], result["by_number"]) == ("1/3", 4, {"0": "red"})
    assert not {"inline", "sparse", "apart"} & result.keys()


def test_what_is_apart_is_given_by_the_reader() -> None:
    assert read(Outer, as_json(WHOLE), "it", apart="mine") == replace(WHOLE, apart="mine")


def test_what_an_earlier_version_did_not_write_has_its_default() -> None:
    older = {name: value for name, value in as_json(WHOLE).items() if name != "later"}
    assert read(Outer, older, "it").later == "none"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"number": True}, "it: number True has a wrong type"),
        ({"number": 1.0}, "it: number 1.0 has a wrong type"),
        ({"number": -1}, "it: number -1 is not a whole number of at least 0"),
        ({"number": 2**63}, "it: number 9223372036854775808 is not a whole number"),
        ({"number": 10**4000}, "is not a whole number"),
        ({"signed": -6}, "it: signed -6 is not a whole number of at least -5"),
        ({"signed": 6}, "it: signed 6 is not a whole number of at least -5 of at most 5"),
        ({"real": "1"}, "it: real '1' has a wrong type"),
        ({"real": True}, "it: real True has a wrong type"),
        ({"real": float("nan")}, "it: real nan is not a finite number"),
        ({"real": float("inf")}, "it: real inf is not a finite number"),
        ({"real": 10**400}, "is not a finite number"),
        ({"real": -2e12}, "it: real -2000000000000.0 is not a finite number"),
        ({"seconds": -0.1}, "it: seconds -0.1 is not a finite number of at least 0"),
        ({"flag": 0}, "it: flag 0 has a wrong type"),
        ({"flag": None}, "it: flag None has a wrong type"),
        ({"text": 1}, "it: text 1 has a wrong type"),
        ({"word": "a b"}, "it: word 'a b' is not a plain word"),
        ({"word": "a\n"}, "is not a plain word"),
        ({"word": "a" * 129}, "is not a plain word"),
        ({"shown": "\x1b"}, r"it: shown '\\x1b' is too long, or has a control character"),
        ({"shown": "a" * 11}, "it: shown 'aaaaaaaaaaa' is too long"),
        ({"colour": "green"}, "it: colour 'green' is not one of red, blue"),
        ({"colour": []}, r"it: colour \[\] is not one of red, blue"),
        ({"path": 3}, "it: path 3 has a wrong type"),
        ({"either": 1.5}, "it: either 1.5 has a wrong type"),
        ({"either": True}, "it: either True has a wrong type"),
        ({"perhaps": []}, "it: perhaps is not an object"),
        ({"perhaps": {"left": 1}}, "it: perhaps has no right"),
        ({"perhaps": {"left": 1, "right": [1]}}, r"it: perhaps: right \[1\] does not have 2 values"),
        ({"perhaps": {"left": 1, "right": [1, 2]}}, r"it: perhaps: right\[1\] 2 has a wrong type"),
        ({"unknown": "no"}, "it: unknown 'no' has a wrong type"),
        ({"many": {}}, "it: many {} has a wrong type"),
        ({"many": [1]}, r"it: many\[0\] is not an object"),
        ({"many": [as_json(Inner(1, (1, "")))] * 3}, "it: many has 3 values; 0 to 2 are possible"),
        ({"many": [{"left": 1, "right": [1, ""], "\x1b": 1}]}, r"many\[0\] has an unknown key '\\x1b'"),
        ({"each": [0, "1"]}, r"it: each\[1\] '1' has a wrong type"),
        ({"by_name": {"\x1b": 1}}, r"it: by_name: '\\x1b' is not an object"),
        ({"by_number": {"x": "red"}}, "it: by_number: key 'x' has a wrong type"),
        ({"by_number": {"01": "red"}}, "it: by_number: key '01' has a wrong type"),
        ({"by_number": {"²": "red"}}, "it: by_number: key '²' has a wrong type"),
        ({"literal": True}, "it: literal True is not one of a, 1"),
        ({"literal": 1.0}, "it: literal 1.0 is not one of a, 1"),
        ({"other": "x"}, "it: other: Invalid literal for Fraction"),
        ({"twice": 2000}, "it: twice: too much"),
        ({"beside": 1}, "it: beside 1 has a wrong type"),
        ({"sparse": None}, "it: sparse None has a wrong type"),
        ({"apart": 1}, "it has an unknown key 'apart'"),
        ({"inline": {}}, "it has an unknown key 'inline'"),
        ({"new": 1}, "it has an unknown key 'new'"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(change: dict[str, object], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        read(Outer, as_json(WHOLE) | change, "it")


OPTIONAL = ("later", "sparse")


@pytest.mark.parametrize("name", [name for name in as_json(WHOLE) if name not in OPTIONAL])
def test_a_key_that_is_missing_is_named(name: str) -> None:
    value = as_json(WHOLE)
    del value[name]
    with pytest.raises(ValueError, match=f"it has no {name}"):
        read(Outer, value, "it")


def test_an_infinity_that_is_valid_json_is_refused() -> None:
    with pytest.raises(ValueError, match="real inf is not a finite number"):
        read_key(float, read_json('{"real": 1e999}'), "real", "it")


@pytest.mark.parametrize("value", [None, [], 3, "x", True])
def test_what_is_no_object_is_refused(value: object) -> None:
    for reading in (lambda: read(Outer, value, "it"), lambda: without_head(value, "it", "no", version=1)):
        with pytest.raises(ValueError, match="it is not an object"):
            reading()


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({}, "it has no format"),
        ({"format": "x", "version": 1}, "it: format is not mine; take another"),
        ({"format": "mine", "version": 2}, "it: version is not 1; take another"),
        ({"format": "mine", "version": True}, "it: version True has a wrong type"),
        ({"format": "mine", "version": 1.0}, "it: version 1.0 has a wrong type"),
    ],
)
def test_a_file_of_another_version_is_refused(value: object, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        without_head(value, "it", "take another", format="mine", version=1)


def test_the_rest_is_what_is_not_the_head() -> None:
    assert without_head({"version": 1, "a": 2}, "it", "", version=1) == {"a": 2}


CELL = Cell("linux", "primes", Mode.PROCESS, (("hi", 100), ("split", "cost")), 2)
P99 = Metric(
    "wake_p99", MetricKind.PERCENTILE, MetricDirection.LESS, "ns", of="wake", at=99.9, window=Window.TOTAL
)


def test_a_cell_and_a_metric_are_read_back() -> None:
    assert as_json(CELL)["params"] == {"hi": 100, "split": "cost"}
    assert "clock" not in as_json(CELL)
    for cell in (CELL, replace(CELL, clock="wall", variant="smt")):
        assert read(Cell, json.loads(json.dumps(as_json(cell))), "a cell") == cell
    assert "about" not in as_json(P99)
    assert read(Metric, json.loads(json.dumps(as_json(P99))), "a metric") == P99


@pytest.mark.parametrize(
    "change", [{"kind": "speed"}, {"better": "bigger"}, {"name": "a b"}, {"at": None}, {"more": 1}]
)
def test_an_invalid_metric_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="a metric"):
        read(Metric, as_json(P99) | change, "a metric")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"params": {"hi": 1.5}}, "a cell: params: 'hi' 1.5 has a wrong type"),
        ({"params": []}, "a cell: params is not an object"),
        ({"clock": "sun"}, "a cell: clock 'sun' is not one of wall, insn"),
        ({"system": "../x"}, "a cell: system '../x' is not a plain word"),
        ({"cpus": 0}, "a cell: cpus 0 is not a whole number of at least 1"),
    ],
)
def test_an_invalid_cell_is_refused(change: dict[str, object], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        read(Cell, as_json(CELL) | change, "a cell")


@dataclass(frozen=True)
class Checked:
    text: Annotated[str, Matches("a|bc", "a or bc")]

    def __post_init__(self) -> None:
        if self.text == "a":
            raise ValueError("a is not today's")


def test_the_check_of_a_dataclass_names_the_place() -> None:
    assert read(Checked, {"text": "bc"}, "it") == Checked("bc")
    with pytest.raises(ValueError, match=r"it\[0\]: a is not today's"):
        read(tuple[Checked, ...], [{"text": "a"}], "it")
    for text in ("ab", "b", "abc", "c", ""):
        with pytest.raises(ValueError, match="is not a or bc"):
            read(Checked, {"text": text}, "it")
