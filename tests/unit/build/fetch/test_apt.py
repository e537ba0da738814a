"""A package source that changes while apt reads it is read again; one that is broken is an error at once."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from benchgate.base.errors import FetchError
from benchgate.build.fetch.apt import Apt, Package, parse_packages

CHANGING = "E: Failed to fetch Packages.xz  File has unexpected size (1 != 2). Mirror sync in progress?"
BROKEN = "E: The repository is not signed."


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    seen: list[float] = []
    monkeypatch.setattr("benchgate.build.fetch.apt.time.sleep", seen.append)
    return seen


def client(folder: Path, monkeypatch: pytest.MonkeyPatch, *answers: str) -> tuple[Apt, list[str]]:
    """Its apt gives these errors in turn; an empty one is success."""
    left, said = list(answers), list[str]()

    def ask(*_: object) -> subprocess.CompletedProcess[str]:
        error = left.pop(0)
        return subprocess.CompletedProcess((), 100 if error else 0, "", error)

    apt = Apt(folder, "", said.append, "amd64")
    monkeypatch.setattr(apt, "_ask", ask)
    return apt, said


def test_a_source_that_changes_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pauses: list[float]
) -> None:
    apt, said = client(tmp_path, monkeypatch, CHANGING, CHANGING, "")
    apt.update()
    assert pauses == [5, 15]
    assert said[1:] == [f"the package source is being changed; reading it again in {s} s ..." for s in pauses]


def test_a_source_that_does_not_stop_changing_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pauses: list[float]
) -> None:
    apt, _ = client(tmp_path, monkeypatch, *[CHANGING] * 3)
    with pytest.raises(FetchError, match="Mirror sync in progress"):
        apt.update()
    assert len(pauses) == 2


def test_a_broken_source_is_an_error_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pauses: list[float]
) -> None:
    apt, _ = client(tmp_path, monkeypatch, BROKEN)
    with pytest.raises(FetchError, match="not signed"):
        apt.update()
    assert not pauses


def test_a_package_has_its_place_in_the_archive() -> None:
    text = "Package: a\nVersion: 1:2-3\nFilename: pool/main/a/a_2-3_all.deb\nSize: 9\nSHA256: 00\n\n"
    assert parse_packages(text) == (Package("a", "1:2-3", "00", 9, path="pool/main/a/a_2-3_all.deb"),)
