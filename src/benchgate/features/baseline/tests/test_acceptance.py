"""What `benchgate baseline` says if it needs files of the session's user: the command that was asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate import cli
from benchgate.base.errors import NeedsFilesError
from benchgate.evidence import check
from benchgate.features.baseline import baseline_file, diff
from benchgate.session.rejudging import rejudge, remembered
from benchgate.session.rejudging.trust import TrustedPrograms


@pytest.mark.parametrize(
    ("words", "verb"),
    [
        (("accept", "S"), "baseline accept"),
        (("check", "my file.json", "S"), "baseline check 'my file.json'"),
        (("diff", "my file.json", "S"), "baseline diff 'my file.json'"),
        (
            ("diff", "b.json", "S", "--profile", "--system", "k.yaml"),
            "baseline diff b.json --profile --system k.yaml",
        ),
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


def test_a_run_has_the_programs_that_are_remembered_of_its_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The advice under a FAIL names a run, whose session this user made with a workload of his own."""
    run = tmp_path / "S" / "runs" / "0002-mine"
    run.mkdir(parents=True)
    (run / "run.json").write_text("{}")
    asked: list[Path] = []

    def known_of(folder: Path, given: TrustedPrograms) -> tuple[TrustedPrograms, tuple[str, ...]]:
        asked.append(folder)
        return given, ()

    monkeypatch.setattr(remembered, "trusted_of", known_of)
    monkeypatch.setattr(baseline_file, "read", lambda _path: None)
    monkeypatch.setattr(diff, "text", lambda *_all: "")
    assert cli.main(["baseline", "diff", "b.json", str(run)]) == 0
    assert asked == [tmp_path / "S"]
