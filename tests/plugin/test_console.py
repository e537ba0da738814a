"""On a terminal pytest's letters and ours have lines of their own, and colours are those of pytest."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest

from tests.machines import PATIENCE_S
from tests.plugin.conftest import CONFTEST, Rig

ESCAPE = re.compile(r"\x1b\[([0-9;]*)([A-Za-z])")
WIDE = (50, 150)
GREEN, RED = "\x1b[32mPASS\x1b[0m", "\x1b[31m\x1b[1mFAIL\x1b[0m"


def on_terminal(rig: Rig, *words: str) -> str:
    """All that pytest and benchgate write to a terminal."""
    arguments = ["-m", "pytest", *rig.arguments(*words)]
    with pexpect.spawn(
        sys.executable,
        arguments,
        cwd=str(rig.pytester.path),
        dimensions=WIDE,
        timeout=10 * PATIENCE_S,
        encoding="utf-8",
    ) as child:
        child.expect(pexpect.EOF)
    assert isinstance(child.before, str)
    return child.before


def screen(text: str) -> list[str]:
    """The lines that a terminal shows in the end. It knows what is written here: CR, LF, erasing, colours."""
    lines, column = [""], 0
    for piece in re.split(r"(\r|\n|\x1b\[[0-9;]*[A-Za-z])", text):
        if piece == "\r":
            column = 0
        elif piece == "\n":
            lines.append("")
        elif (match := ESCAPE.fullmatch(piece)) is not None:
            assert match[2] in "Km", f"an escape that this terminal does not know: {piece!r}"
            lines[-1] = lines[-1][:column] if match[2] == "K" else lines[-1]
        else:
            line = lines[-1].ljust(column)
            lines[-1] = line[:column] + piece + line[column + len(piece) :]
            column += len(piece)
    return lines


def test_the_terminal_of_this_test_erases_and_overwrites() -> None:
    assert screen("abc\rX\r\x1b[K\x1b[31mde\x1b[0m\r\nf") == ["de", "f"]
    assert screen("letter.\r\x1b[K") == [""]


@pytest.mark.parametrize("quiet", [(), ("-q",)], ids=["usual", "quiet"])
def test_letters_and_progress_have_lines_of_their_own(rig: Rig, quiet: tuple[str, ...]) -> None:
    rig.pytester.makepyfile(test_earlier="def test_fine(): pass\n")
    text = on_terminal(rig, "--runs=1", *quiet)
    assert "verified" in text.partition("= benchgate =")[0]  # there was a live line
    shown = screen(text)
    letters = [line for line in shown if re.search(r"(^|py )[.sF]+ *(\[ *\d+%\])?$", line)]
    assert "".join(re.sub(r"\S+\.py|\[.*\]| ", "", line) for line in letters) == "...s"
    assert [line[-6:] for line in letters][-1] == "[100%]"
    assert not [line for line in shown if "run 1 of 1" in line]


PLAIN = """
from benchgate.session.pytest_hooks import pytest_use

# As without an option of ours: the session begins in the middle of collection, where output is captured.
pytest_use.is_configured = lambda config: False
"""
CAPTURES = [("-q",), ("-s",), ("--capture=tee-sys",), ("-p", "no:capture")]


@pytest.mark.parametrize("words", CAPTURES, ids=" ".join)
def test_there_is_a_live_line_although_the_session_begins_while_output_is_captured(
    rig: Rig, words: tuple[str, ...]
) -> None:
    rig.pytester.makeconftest(CONFTEST + PLAIN)
    text = on_terminal(rig, "--runs=1", *words)
    assert "\r\x1b[K[1/4] primes.hi-10000-fake-smp1 warm-up: " in text.replace("smp2", "smp1")
    assert "left)" in text
    assert "PASS" in text or "SKIP" in text
    assert not [line for line in screen(text) if "run 1 of 1" in line]


@pytest.mark.parametrize("words", CAPTURES, ids=" ".join)
def test_plain_lines_show_the_progress_where_standard_error_is_no_terminal(
    rig: Rig, words: tuple[str, ...], tmp_path: Path
) -> None:
    rig.pytester.makeconftest(CONFTEST + PLAIN)
    arguments = [sys.executable, "-m", "pytest", *rig.arguments("--runs=1", *words)]
    with (tmp_path / "said").open("wb") as stream:
        subprocess.run(
            arguments,
            cwd=rig.pytester.path,
            stdout=subprocess.DEVNULL,
            stderr=stream,
            timeout=10 * PATIENCE_S,
            check=False,
        )
    said = (tmp_path / "said").read_text()
    numbers = re.findall(r"^benchgate: \[(\d)/4\] .*verified", said, re.MULTILINE)
    assert numbers == ["1", "2", "3", "4"]
    assert "\x1b" not in said


@pytest.mark.parametrize(
    ("words", "variables", "is_coloured"),
    [
        (["--color=yes"], {}, True),
        (["--color=no"], {"FORCE_COLOR": "1"}, False),
        ([], {"FORCE_COLOR": "1"}, True),
        ([], {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        ([], {}, False),
    ],
)
def test_verdicts_have_colours_where_pytest_has_them(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, words: list[str], variables: dict[str, str], is_coloured: bool
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "PY_COLORS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    rig.consoles((19_000_000, 13_000_000), wrong_worker=0)
    text = rig.run("--runs=1", "-k", "scales", *words).stdout.str()
    assert ("\x1b[31m\x1b[1mINVALID\x1b[0m: 1 of 1 verdicts" in text) is is_coloured
    assert ("\x1b[" in text) is is_coloured


def test_a_terminal_has_colours(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "PY_COLORS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    rig.consoles((19_000_000, 13_000_000))
    text = on_terminal(rig)
    assert f"{RED}: 1 of 3 verdicts" in text
    assert f"< 1.6x {RED}" in text or f"> 1.6x {RED}" in text
    assert f"{GREEN}: 2 tests that a cell is right" in text
