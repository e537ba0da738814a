"""What `python -m tools.scx_schedulers` builds for a word, and what it says of one that it does not know."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import scx_schedulers


@pytest.fixture(autouse=True)
def folders(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is built: a folder says what of."""
    monkeypatch.setattr(scx_schedulers, "built", lambda word: Path("/linux", word))
    monkeypatch.setattr(scx_schedulers, "crate", lambda word: Path("/crate", word))


@pytest.mark.parametrize(
    ("words", "folder"),
    [
        ([], "/linux/linux-source-6.12"),
        (["../linux@v6.14"], "/linux/../linux@v6.14"),
        (["scx_rusty"], "/crate/scx_rusty"),
    ],
)
def test_a_word_is_a_source_of_linux_or_a_crate(
    words: list[str], folder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert scx_schedulers.main(words) == 0
    assert capsys.readouterr().out == f"{folder}\n"


def test_a_scheduler_that_is_no_crate_is_refused_with_what_there_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert scx_schedulers.main(["scx_qmap"]) == 4
    said = capsys.readouterr().err
    assert "`scx_qmap` is none of the crates that are built here (scx_bpfland, scx_rusty)" in said
    assert "built together, from a source such as linux-source-6.12" in said


def test_help_says_what_it_does(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        scx_schedulers.main(["--help"])
    assert ended.value.code == 0
    assert "Builds schedulers in BPF" in capsys.readouterr().out
