"""Keys that the fields of a dataclass declare: their table, and how they are read."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import pytest

from benchgate.base.errors import CatalogError
from benchgate.base.yaml import yamlfile
from benchgate.base.yaml.keys import (
    Block,
    Blocks,
    Choice,
    FilledText,
    Integer,
    Integers,
    Number,
    Pattern,
    Text,
    Texts,
    table,
)


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True)
class Wheel:
    size: Annotated[int, Integer("its size", low=1)]
    name: Annotated[str, FilledText("its name", key="called")] = "{side} wheel"


@dataclass(frozen=True)
class Cart:
    wheels: Annotated[tuple[Wheel, ...], Blocks("its wheels", Block("a wheel"))]
    spare: Annotated[Wheel | None, Block("one more", otherwise="none")] = None
    colour: Annotated[Colour, Choice("its colour")] = Colour.BLUE
    shape: Annotated[str, Choice("its shape", ("flat", "deep"))] = "flat"
    load: Annotated[float, Number("what it bears", high=9)] = 1.5
    plate: Annotated[str, Pattern("what its plate shows")] = ""
    owner: Annotated[str, Text("who has it", default="the town")] = ""
    words: Annotated[tuple[str, ...], Texts("words")] = ()
    numbers: Annotated[tuple[int, ...], Integers("numbers")] = (7,)
    seats: Annotated[int | None, Integer("its seats", otherwise="none")] = None
    driver: str = "nobody"


KIND = Block("a cart", forms=(table(Cart),))


def read(text: str) -> Cart:
    with yamlfile.collecting(yamlfile.parse(text, Path("cart.yaml"), KIND)) as top:
        return top.read(Cart, {"side": "left"})


def test_the_table_has_the_rows_in_the_order_of_the_fields() -> None:
    wheel = {
        "size": Integer("its size", low=1),
        "called": FilledText("its name", key="called", default="{side} wheel"),
    }
    assert list(table(Wheel)) == list(wheel)
    assert table(Wheel) == wheel
    assert list(table(Cart)) == [
        *("wheels", "spare", "colour", "shape", "load", "plate", "owner", "words", "numbers", "seats")
    ]


def test_a_row_takes_from_the_type_what_it_does_not_say() -> None:
    rows = table(Cart)
    assert rows["colour"] == Choice("its colour", ("red", "blue"), default="blue")
    assert rows["wheels"] == Blocks("its wheels", Block("a wheel", forms=(table(Wheel),)))
    assert rows["spare"] == Block("one more", otherwise="none", forms=(table(Wheel),))
    assert rows["load"] == Number("what it bears", high=9, default=1.5)
    assert rows["owner"].default == "the town"
    assert rows["seats"].default is None
    assert rows["wheels"].is_needed
    assert not rows["numbers"].is_needed


def test_what_is_absent_has_the_default() -> None:
    assert read("wheels: []\n") == Cart((), owner="the town")


def test_every_kind_is_read() -> None:
    text = (
        "wheels: [{size: 2}, {size: 3, called: '{side}most'}]\nspare: {size: 4, called: '{side}x'}\n"
        "colour: red\nshape: deep\nload: 2\nplate: a+\nowner: me\nwords: [a, b]\nnumbers: [1, 2]\nseats: 5\n"
    )
    wheels = (Wheel(2, "left wheel"), Wheel(3, "leftmost"))
    cart = read(text)
    assert cart == Cart(
        wheels, Wheel(4, "leftx"), Colour.RED, "deep", 2.0, "a+", "me", ("a", "b"), (1, 2), 5, "nobody"
    )
    assert type(cart.colour) is Colour


def test_what_is_given_is_not_read() -> None:
    top = yamlfile.parse("wheels: []\nowner: me\n", Path("cart.yaml"), KIND)
    cart = top.read(Cart, owner="you", seats=9, driver="somebody")
    assert (cart.owner, cart.seats, cart.driver) == ("you", 9, "somebody")


def test_every_problem_has_its_line() -> None:
    text = "wheels:\n- {size: 0}\n- {size: 1, wide: 2}\nspare: {}\nload: 10\ncolour: green\nplate: (\n"
    with pytest.raises(CatalogError) as caught:
        read(text)
    lines = str(caught.value).splitlines()
    assert [line.split(": ")[:2] for line in lines[1:]] == [
        ["  cart.yaml:2", "wheels.0.size"],
        ["  cart.yaml:3", "wheels.1.wide"],
        ["  cart.yaml:4", "spare.size"],
        ["  cart.yaml:5", "load"],
        ["  cart.yaml:6", "colour"],
        ["  cart.yaml:7", "plate"],
    ]


def test_a_whole_mapping_has_no_other_key() -> None:
    top = yamlfile.parse("size: 1\nwide: 2\n", Path("wheel.yaml"), Block("a wheel", forms=(table(Wheel),)))
    with pytest.raises(CatalogError, match=r"wheel\.yaml:2: wide: unknown key"):
        top.whole(Wheel)
