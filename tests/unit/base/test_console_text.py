"""Normalized console text is the same for all line ends and colours, and wherever a read cuts it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgate.base.console_text import Stream, by_lines, line_ends, plain, plain_with_moves

CONSOLE = b"\x1b[2J\x1b[1;1Hboot\r\n\x1b[31mpanic:\x1b[0m no\rroot\n\x1b]0;title\x07$ "


def test_colours_and_carriage_returns_are_removed() -> None:
    assert plain(CONSOLE) == b"boot\npanic: no\nroot\n$ "
    assert plain(b"a\x1b") == b"a\x1b"


def test_an_escape_between_cr_and_lf_keeps_them_apart_in_pieces_too() -> None:
    stream = Stream()
    assert b"".join(map(stream.feed, (b"\r", b"\x1b", b"[1m\n."))) == plain(b"\r\x1b[1m\n.") == b"\n\n."


@given(st.lists(st.sampled_from([b"\r", b"\n", b"\r\n", b"\x1b[1m", b"\x1b]t", b"\x07", b"x"]), max_size=12))
def test_each_line_of_the_text_has_its_end_on_the_console(parts: list[bytes]) -> None:
    console = b"".join(parts)
    ends = line_ends(console)
    assert len(ends) == plain(console).count(b"\n")
    assert all(console[end - 1 : end] in (b"\r", b"\n") for end in ends)
    assert all(plain(console[:end]).count(b"\n") == at for at, end in enumerate(ends, 1))


PIECES = [b"\r", b"\n", b"\x1b[", b"3", b"1m", b"x", b"\x1b]", b"\x07", b"1" * 64, b"t" * 256]


@given(st.lists(st.sampled_from(PIECES), max_size=30), st.data())
def test_a_stream_cut_anywhere_gives_the_same_text(parts: list[bytes], data: st.DataObject) -> None:
    text = b"".join(parts) + b".\n\n"
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=5)))
    stream, said = Stream(), b""
    for begin, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
        said += stream.feed(text[begin:end])
    assert said == plain(text)


def test_a_title_that_never_ends_hides_no_later_line() -> None:
    assert (
        plain(b"\x1b]0;menu\r\nprimes: 6057 found\r\ntook 12 ms\x07\r\n").splitlines()[1]
        == b"primes: 6057 found"
    )


def test_an_overlong_escape_is_passed_on_as_text() -> None:
    stream = Stream()
    assert stream.feed(b"\x1b[" + b"1" * 100 + b"\n") == b"\x1b[" + b"1" * 100 + b"\n"


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("^up$", b"x\nup\n", True),
        ("^up$", b"x\nup", False),  # the line may go on
        ("^up$", b"up\n", False),  # the line may have begun earlier
        ("^(a|up)$|^b$", b"\nb\n", True),
        (r"\^up\$", b"^up$", True),
        ("[$^]up[^$]", b"$up.", True),
        ("[]^]$", b"^\n", True),
        ("[^]$]x", b"]x", False),
    ],
)
def test_line_ends_in_a_pattern(pattern: str, text: bytes, matches: bool) -> None:
    assert (re.search(by_lines(pattern), text) is not None) is matches


@given(st.lists(st.sampled_from([b"\x1b[1m", b"\x1b[2D", b"\b", b"\n", b" ", b"x"]), max_size=12))
def test_only_a_move_within_the_text_of_a_line_is_kept(parts: list[bytes]) -> None:
    console = b"".join(parts)
    text = plain_with_moves(console)
    assert text.replace(b"\x1b", b"") == plain(console).replace(b"\b", b"")
    for line in text.split(b"\n"):
        assert not line.strip(b" ").startswith(b"\x1b")
        assert not line.strip(b" ").endswith(b"\x1b")
    assert (b"\x1b" in text) == any(
        b"\x1b"
        in line.replace(b"\x1b[1m", b"").replace(b"\x1b[2D", b"\x1b").replace(b"\b", b"\x1b").strip(b" \x1b")
        for line in console.split(b"\n")
    )
