"""tools.compilers: what it compares, and what it says of compilers that are not here. Nothing is built."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.base.errors import BuildError
from tools import compilers

FOUR = (("linux", "primes", "2", "1", "1", "ok", "975", "980"),)
OTHER = (("linux", "primes", "2", "1", "1", "ok", "976", "980"),)


def test_without_a_compiler_nothing_is_done_and_that_is_no_success(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert compilers.main(["gcc-0", "tcc-of-nobody"]) == 5
    assert capsys.readouterr().out.splitlines() == [
        "compilers: gcc-0: absent, so not compared",
        "compilers: tcc-of-nobody: absent, so not compared",
    ]


def compared(monkeypatch: pytest.MonkeyPatch, folder: Path, **seen: compilers.Digits) -> list[str]:
    def digits(name: str, *_: object) -> compilers.Digits:
        if name not in seen:
            raise BuildError("no plugin")
        return seen[name]

    monkeypatch.setattr(compilers, "digits", digits)
    monkeypatch.setattr(compilers, "MACHINES", ("desktop8",))
    return list(compilers.compared(("a", "b", "c"), folder))


def test_other_digits_with_one_plugin_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert compared(monkeypatch, tmp_path, a=FOUR, b=FOUR, c=FOUR) == []
    (wrong,) = compared(monkeypatch, tmp_path, a=FOUR, b=OTHER, c=FOUR)
    assert wrong.startswith("b: the row has the digits")
    assert len(compared(monkeypatch, tmp_path, a=OTHER, b=FOUR, c=FOUR)) == 2


def test_a_row_that_fails_or_has_no_runs_is_not_equal(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert compared(monkeypatch, tmp_path, a=FOUR, c=FOUR) == ["b: no plugin"]
    assert len(compared(monkeypatch, tmp_path, a=(), b=(), c=())) == 3


@pytest.mark.parametrize(
    ("said", "status", "wrong"), [([], 0, "2 compilers, all equal"), (["it differs"], 1, "cc: it differs")]
)
def test_what_differs_is_the_status(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    said: list[str],
    status: int,
    wrong: str,
) -> None:
    monkeypatch.setattr(compilers, "tern", lambda name, _: said if name == "cc" else [])
    monkeypatch.setattr(compilers, "built_plugin", lambda _: [])
    monkeypatch.setattr(compilers, "compared", lambda *_: [])
    assert compilers.main(["cc", "gcc"]) == status
    assert capsys.readouterr().out.splitlines()[-1] == f"compilers: {wrong}"
