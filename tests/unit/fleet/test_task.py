"""A command line travels without a path of this machine, and is whole again on the worker."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgate.fleet.task import (
    FolderFile,
    GuestFile,
    Item,
    Place,
    WorkerPath,
    filled,
    is_plain_path,
    manifest,
    templated,
)
from tests.unit.fleet.tasks import ARGV, PLACES, SHA, task


def test_no_path_is_left() -> None:
    texts = [part for word in templated(ARGV, PLACES) for part in word if isinstance(part, str)]
    assert [text for text in texts if text.startswith("/") or "/cache" in text or "/runs" in text] == []
    assert (GuestFile(SHA["kernel"]),) in templated(ARGV, PLACES)


def test_the_same_paths_give_the_same_command_line_again() -> None:
    paths = {place: path for path, place in PLACES.items()}
    assert filled(templated(ARGV, PLACES), lambda place: paths[place]) == ARGV


def test_a_worker_has_its_own_paths() -> None:
    words = templated(
        ("-plugin", "/a/clock.so,out=/runs/1/clock.log,seed=1"), {"/a/clock.so": WorkerPath("plugin")}
    )
    assert words[1] == (WorkerPath("plugin"), ",out=/runs/1/clock.log,seed=1")
    both: Mapping[str, Place] = {
        "/a/clock.so": WorkerPath("plugin"),
        "/runs/1/clock.log": FolderFile("clock.log"),
    }
    words = templated(("-plugin", "/a/clock.so,out=/runs/1/clock.log,seed=1"), both)
    there: Mapping[Place, str] = {WorkerPath("plugin"): "/w/c.so", FolderFile("clock.log"): "/w/r/clock.log"}
    assert filled(words, lambda place: there[place])[1] == "/w/c.so,out=/w/r/clock.log,seed=1"


def test_only_whole_paths_are_replaced() -> None:
    places = {"/data": GuestFile("a" * 64), "/data/two": GuestFile("b" * 64)}
    words = ("/database", "/mnt/data", "/data", "x=/data/two", "/data,y", "/data/three")
    found = [word != (text,) for text, word in zip(words, templated(words, places), strict=True)]
    assert found == [False, False, True, True, True, False]
    assert templated(("x=/data/two",), places) == (("x=", GuestFile("b" * 64)),)


def by_expression(word: str, places: Mapping[str, Place]) -> tuple[object, ...]:
    """Another way to the same parts."""
    longest = "|".join(map(re.escape, sorted(places, key=len, reverse=True)))
    pieces = re.split(rf"(?<![^=,])({longest})(?![^,])", word)
    found = [places[one] if number % 2 else one for number, one in enumerate(pieces)]
    return tuple(one for one in found if one != "")


@given(st.text("/ab=,", max_size=30), st.sets(st.text("/ab", min_size=1, max_size=4), min_size=1, max_size=4))
def test_words_are_split_where_whole_paths_stand(word: str, paths: set[str]) -> None:
    places: dict[str, Place] = {path: GuestFile(path) for path in paths}
    assert templated((word,), places) == (by_expression(word, places),)


def test_a_path_with_a_comma_is_found_as_qemu_writes_it() -> None:
    assert templated(("file=/a,,b,x=1",), {"/a,b": GuestFile("a" * 64)}) == (
        ("file=", GuestFile("a" * 64), ",x=1"),
    )


def test_the_guests_own_words_stay() -> None:
    assert templated(("-append", "root=/data"), {"/data": GuestFile("a" * 64)})[1] == ("root=/data",)


def test_what_travels_is_what_no_worker_has() -> None:
    assert [one.role for one in task().files] == ["kernel", "initrd"]
    assert task().digest_of("qemu") == SHA["qemu"]
    assert task().digest_of("disk") == ""


def test_a_manifest_is_one_text_of_its_items() -> None:
    items = [Item("kernel", "b" * 64), Item("clock", "a" * 64), Item("kernel", "b" * 64)]
    assert manifest(items) == f"clock {'a' * 64}\nkernel {'b' * 64}\n"


@pytest.mark.parametrize(("path", "plain"), [("/var/lib/w-1/x.so", True), ("/a b", False), ("/a,b", False)])
def test_paths_of_a_worker_are_plain(path: str, plain: bool) -> None:
    assert is_plain_path(path) is plain


@pytest.mark.parametrize("path", ["", "a/b", "/a:b", "/a\n", "/a$HOME", "/ä"])
def test_others_are_not(path: str) -> None:
    assert not is_plain_path(path)
