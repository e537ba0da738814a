"""Untrusted text never becomes markup, a formula, a command or an escape sequence."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgate.base.gates import Word
from benchgate.base.runs import Ending
from benchgate.base.text import csv_field, plain_field, visible
from benchgate.render import escape
from benchgate.render.files import junit, speedup_svg, summary
from benchgate.render.tables import terminal
from benchgate.render.view import SessionView
from benchgate.session import publish
from tests.unit.factories import cell, raw_run, rows, run_row, scaled_view

EVIL = (
    "\x1b[2J\x1b]0;owned\x07 \u202eright \u2028line\r\n# head\n| cell | <script>alert(1)</script> "
    "[go](https://e.example/) ![i](http://e.example/i.png) @admin #1 `tick` **bold** ]]> &lt; \x00 \ud800 "
    "www.e.example"
)


def evil_view() -> SessionView:
    full = scaled_view(
        notes=(EVIL,), labels=(EVIL,), isolation=EVIL, machine=((EVIL, EVIL),), repeat=(f"```\n{EVIL}",)
    )
    verdict = replace(full.verdicts[0], outcome=Word.FAIL, reason=f"FAIL: {EVIL}", id=EVIL)
    bad = run_row(raw_run(cell(4), attempt=30, ending=Ending.FAILED), None, EVIL)
    strange = replace(cell(2), system="x](y)\x1b", label="<b>\u202e|")
    return replace(
        full, rows=(*full.rows, bad, *rows(cell(1), [9]), *rows(strange, [9], first=40)), verdicts=(verdict,)
    )


def test_untrusted_text_is_not_markup_in_the_summary() -> None:
    text = summary.render(evil_view())
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "\n# head" not in text
    prose = text.split("## Repeat it")[0]  # the commands follow, in a fence
    assert "<script>" not in prose.replace("\\<script>", "")
    assert "](https" not in prose
    assert "://" not in prose
    assert "@admin" not in prose
    assert text.count("```") == 4  # the bars and the commands, each opened and closed


def test_a_table_row_keeps_its_columns() -> None:
    tables = summary.render(evil_view()).split("\n| arm |")[1:]
    body = [[line for line in table.splitlines() if line.startswith("| smp")] for table in tables]
    assert sum(map(len, body)) >= 4
    for table, lines in zip(tables, body, strict=True):
        heading = f"| arm |{table.splitlines()[0]}"
        assert {line.replace("\\|", "").count("|") for line in lines} == {heading.count("|")}


def test_the_terminal_gets_no_escape_sequences() -> None:
    text = terminal.render(evil_view(), 100)
    assert all(char.isprintable() for char in text.replace("\n", ""))
    assert "\\x1b[2J" in text


def test_xml_with_untrusted_text_is_valid() -> None:
    root = ET.fromstring(junit.render(evil_view()))
    result = root.find("testsuite/testcase/failure")
    assert result is not None
    assert "<script>alert(1)</script>" in (result.text or "")
    assert "\\x1b[2J" in (result.text or "")
    ET.fromstring(speedup_svg.render(evil_view()))


def test_one_annotation_is_one_command() -> None:
    commands = publish.workflow_commands(evil_view())
    assert len(commands) == 1
    assert "\n" not in commands[0]
    assert "\r" not in commands[0]
    title = commands[0].split("::")[1]
    assert title.startswith("error title=")
    assert ":" not in title.removeprefix("error title=")
    assert "," not in title


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("# head", "\\# head"),
        ("## head", "\\## head"),
        ("  - item", "\\- item"),
        ("> quote", "\\> quote"),
        ("1. item", "1\\. item"),
        ("12) item", "12\\) item"),
        ("---", "\\---"),
        ("===", "\\==="),
        ("1.43 [1.41, 1.46] > 1.6", "1.43 [1.41, 1.46] > 1.6"),
        ("-cpu max", "-cpu max"),
    ],
)
def test_text_cannot_begin_a_markdown_block(text: str, made: str) -> None:
    assert escape.markdown(text) == made


def test_encoded_line_breaks_are_escaped_for_github() -> None:
    assert escape.github_message("100%0A::set-output") == "100%250A::set-output"
    assert escape.github_property("a:b,c%") == "a%3Ab%2Cc%25"


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "'"])
def test_spreadsheet_formulas_are_escaped(start: str) -> None:
    made = csv_field(f"{start}1+1")
    assert made[0] in "'\\"
    if start.isprintable():
        assert plain_field(made) == f"{start}1+1"


@given(st.text())
def test_visible_text_is_printable_and_plain_text_unchanged(text: str) -> None:
    made = visible(text)
    assert made == "" or made.isprintable()
    commands = "##" in text or any(word.startswith("::") for word in text.split())
    assert not any(word.startswith("::") for word in made.split())
    if text.isprintable() and not commands:
        assert made == text


@given(st.text())
def test_any_text_is_read_back_from_xml(text: str) -> None:
    element = ET.fromstring(f'<a b="{escape.xml(text)}">{escape.xml(text)}</a>')
    if text.isprintable():
        assert element.text in (text, text or None)
        assert element.get("b") == text


@given(st.text())
def test_markdown_is_one_line_with_escaped_marks(text: str) -> None:
    made = escape.markdown(text)
    assert made == "" or made.isprintable()
    for mark in "|`<*":
        bare = made.replace("\\\\", "").replace(f"\\{mark}", "")
        assert mark not in bare
