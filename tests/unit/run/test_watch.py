"""Patterns are found in a console whatever pieces it is read in, and on lines of any length."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgate.run.watch import PatternMatch, Scanner, Watch, watch_for
from tests.unit.plans import own_system

WATCH = Watch(
    ready=rb"(?<=\n)up[^\n]*",
    ends=(rb"(?:(?<=\n)sum=[0-9]+)[^\n]*\n", rb"(?:(?<=\n)work: [0-9]+)[^\n]*\n"),
    panics=(rb"\npanic:[^\n]*", rb"(?<=\n)two\nlines(?=\n)"),
)


def names(text: bytes, *cuts: int, watch: Watch = WATCH) -> list[str]:
    scanner = Scanner(watch)
    edges = [0, *sorted(cuts), len(text)]
    pieces = [text[a:b] for a, b in pairwise(edges)]
    matches = [match for piece in pieces for match in scanner.feed(piece)]
    return [match.name for match in (*matches, *scanner.feed(b"", last=True))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"boot\nup 1\nsum=4\nwork: 5\n", ["ready", "end"]),
        (b"work: 5\nup 1\nsum=4\n", ["ready", "end"]),
        (b"up 1\nsum=4\nwork: 5", ["ready"]),
        (b"up 1\nsum=4 " + b"x" * 200_000 + b"\nwork: 5\n", ["ready", "end"]),
        (b"sum=4 panic: no\npanic: 1\nup\n", ["panic", "ready"]),
        (b"a\ntwo\nlines\nb", ["panic"]),
        (b"panic: without an end", ["panic"]),
        (b"up\nup\nup\n", ["ready"]),
    ],
)
@given(data=st.data())
def test_pieces_do_not_matter(text: bytes, expected: list[str], data: st.DataObject) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=6))
    assert names(text, *cuts) == expected


def test_the_whole_line_is_given() -> None:
    scanner = Scanner(WATCH)
    assert scanner.feed(b"up an") == ()
    assert scanner.feed(b"d running\npan") == (PatternMatch("ready", b"up and running"),)


def test_a_failure_is_shown_with_what_follows_it(tmp_path: Path) -> None:
    """A kernel's own pattern often ends before the reason: `panic: ` of `panic: remap`."""
    scanner = Scanner(watch_for(own_system(tmp_path)))
    assert scanner.feed(b"oops: remap of page 3\n") == (PatternMatch("failure", b"oops: remap of page 3"),)
