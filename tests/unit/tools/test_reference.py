"""The committed pages of docs/reference are those of the code, and say everything that it has."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import pytest

from benchgate import commands
from benchgate.evidence import check
from benchgate.plan import mark_table, option_table
from benchgate.session import exit_codes
from tools import reference

PAGES = reference.pages()


@pytest.mark.parametrize("name", PAGES)
def test_a_committed_page_is_that_of_the_code(name: str) -> None:
    text = (reference.FOLDER / name).read_text(encoding="utf-8")
    assert text == PAGES[name], "next: python -m tools.reference"


def test_no_other_page_says_that_it_is_generated() -> None:
    """Pages by hand are beside them: the wire, the evidence."""
    made = [path.name for path in reference.FOLDER.glob("*.md") if reference.SAYS in path.read_text()]
    assert sorted(made) == sorted(PAGES)


def test_every_mark_option_and_command_has_its_line() -> None:
    for name, words in (
        (
            "marks.md",
            [f"`{text}" for text in (*mark_table.SHIPPED, *(plain.name for plain in mark_table.PLAIN))],
        ),
        ("options.md", [f"`{option.flag}" for option in option_table.TABLE]),
        ("commands.md", [f"## benchgate {command.name.partition('-')[0]}" for command in commands.TABLE]),
        ("exit-codes.md", [f"| {number} |" for number in (*exit_codes.OF_SESSION, *check.MEANINGS)]),
    ):
        assert [word for word in words if word not in PAGES[name]] == []


def test_every_fixture_of_the_plugin_has_its_line() -> None:
    for name in ("benchgate_session", "cell", "verdict", "isolation", "image", "boot"):
        assert f"\n| `{name}` |" in PAGES["fixtures.md"]


@dataclass(frozen=True)
class Sample:
    """A class of the test."""

    figure: float | None
    """What it is,
    in two lines."""
    names: tuple[str, ...]

    def twice(self, times: int, *, loud: bool) -> int:
        """More of it."""
        return times * (2 + loud)

    @property
    def size(self) -> int:
        """How many names."""
        return len(self.names)


def test_members_are_attributes_methods_and_properties_with_their_docstrings() -> None:
    result = [
        (member.name, member.type, reference.cell(member.about)) for member in reference.members(Sample)
    ]
    assert result == [
        ("figure", "float | None", "What it is, in two lines."),
        ("names", "tuple[str, ...]", ""),
        ("twice(times, loud)", "int", "More of it."),
        ("size", "int", "How many names."),
    ]


def test_a_cell_cannot_break_its_table() -> None:
    assert reference.cell("a|b\n<c>") == "a\\|b &lt;c>"
    assert reference.table(("x",), [[reference.code("NAME|PATH")]]) == "| x |\n| --- |\n| `NAME\\|PATH` |\n"


def test_arguments_are_shown_as_help_shows_them() -> None:
    parser = argparse.ArgumentParser(prog="benchgate sample")
    parser.add_argument("folder", nargs="*")
    parser.add_argument("--out", "-o", default="here", help="default: %(default)s, of %(prog)s")
    parser.add_argument("--lane", choices=("a", "b"), help="100%% of one")
    text = "".join(reference.words_of(parser))
    assert "| `[folder ...]` |  |" in text
    assert "| `--out, -o OUT` | default: here, of benchgate sample |" in text
    assert "| `--lane a\\|b` | 100% of one |" in text
