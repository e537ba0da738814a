"""The committed manual page is that of the parsers, and plain text in it cannot be a request of roff."""

from __future__ import annotations

import re

import pytest

from benchgate import commands
from benchgate.session import exit_codes
from tools import man

REQUESTS = {".TH", ".SH", ".SS", ".TP", ".B", ".I", ".BR", ".RI", ".nh", ".ad"}
ESCAPES = re.compile(r"\\(?:-|e|&|\((?:ga|aq|dq|ha|ti))")


def test_the_committed_page_is_that_of_the_code() -> None:
    assert man.PAGE.read_text(encoding="utf-8") == man.text(), "next: python -m tools.man"


def test_every_command_has_a_section_and_its_options() -> None:
    lines = man.text().splitlines()
    result = {line.replace("\\", "").removeprefix(".SS benchgate ") for line in lines if line[:3] == ".SS"}
    names = {command.name for command in commands.TABLE}
    assert {name for name in names if name.replace("-", " ", 1) not in result and name not in result} == set()
    assert {"history import", "explore small", "fleet scheduler"} <= result
    assert "\n.TP\n.B \\-\\-workload NAME\na folder " in man.text()
    assert [code for code in exit_codes.OF_SESSION if f".B {code}" not in lines] == []


def test_lines_are_known_requests_or_plain_text() -> None:
    lines = man.text().splitlines()[1:]
    assert {line.split()[0] for line in lines if line.startswith(".")} == REQUESTS
    assert [line for line in lines if line.startswith("'") or not line] == []
    assert [line for line in lines if "\\" in ESCAPES.sub("", line)] == []


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (".so /etc/passwd", "\\&.so /etc/passwd"),
        ("'br", "\\(aqbr"),
        ("a\n.b  c", "a .b c"),
        ("--x=`y\\z`", "\\-\\-x=\\(gay\\ez\\(ga"),
        ('~"^"', "\\(ti\\(dq\\(ha\\(dq"),
    ],
)
def test_text_is_not_read_as_a_request(words: str, shown: str) -> None:
    assert man.plain(words) == shown
