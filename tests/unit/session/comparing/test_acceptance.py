"""What `benchgate baseline` says if it needs files of the session's user: the command that was asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate import cli
from benchgate.base.errors import NeedsFilesError
from benchgate.evidence import baseline_file, check
from benchgate.session.rejudging import rejudge


@pytest.mark.parametrize(
    ("words", "verb"),
    [
        (("accept", "S"), "baseline accept"),
        (("check", "my file.json", "S"), "baseline check 'my file.json'"),
        (("diff", "my file.json", "S"), "baseline diff 'my file.json'"),
    ],
)
def test_the_advice_names_the_command_that_was_asked_for(
    words: tuple[str, ...],
    verb: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "S").mkdir()
    (tmp_path / "S" / "session.json").write_text("{}")

    def needs_files(folder: Path, _trusted: object, asked: str) -> tuple[check.Check, None]:
        return check.Check(check.NEEDS_FILES, (f"next: benchgate {asked} {folder} --workload mine",)), None

    monkeypatch.setattr(rejudge, "verified", needs_files)
    monkeypatch.setattr(baseline_file, "read", lambda _path: None)
    assert cli.main(["baseline", *words]) == NeedsFilesError.status
    assert f"next: benchgate {verb} S --workload mine" in capsys.readouterr().err
