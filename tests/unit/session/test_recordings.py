"""What was recorded becomes files with names, and replaces no file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.errors import EvidenceError, UsageError
from benchgate.cli import main
from benchgate.insn.sharing import read_sharing
from benchgate.judge.accounts.sharing import KEPT
from benchgate.run.record import save
from benchgate.session import keepers, recordings
from benchgate.session.workbench import SymbolFiles
from tests import traceformat
from tests.unit.insn.test_sharing import FILE
from tests.wirekit import primes_run, recorded


def test_moved_lines_become_named_lines_a_picture_and_sentences(tmp_path: Path) -> None:
    file = tmp_path / keepers.SHARING
    file.write_text(FILE, encoding="ascii")
    symbols = tmp_path / "System.map"
    symbols.write_text("0000000000404040 D flags\n0000000000404048 B counters\n")
    told = recordings.moved_lines(file, SymbolFiles(None, symbols), "Lines of a run")
    said = "CPU 0 writes bytes 0-7 (flags), CPU 1 writes bytes 0-63 (flags, counters)"
    assert any(line.startswith(said) for line in told)
    assert read_sharing(tmp_path / KEPT).lines[0].names[1].name == "counters"
    picture = (tmp_path / recordings.LINES_PICTURE).read_text(encoding="utf-8")
    assert "flags, counters" in picture
    assert told[-2:] == [f"picture: {tmp_path / 'lines.svg'}", f"the lines: {tmp_path / KEPT}"]


# ---- traces


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    run = primes_run(tmp_path / "0001-primes-linux-smp2", recorded("good-linux-primes-smp2"))
    save(replace(run, folder=run.folder))
    return run.folder


def test_a_trace_is_written_where_it_was_asked_for(folder: Path, tmp_path: Path) -> None:
    before = sorted(folder.iterdir())
    out = tmp_path / "trace.json"
    lines = recordings.write_trace(folder, out)
    assert lines[0].startswith(f"{out}: 4 spans, 0 wake-ups, 0 samples; open it in")
    names = {one["name"] for one in traceformat.check(out.read_text()) if one["ph"] == "X"}
    assert {"total", "work"} < names
    assert sorted(folder.iterdir()) == before


def test_by_default_it_is_beside_the_user_and_has_a_free_name(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["timeline", str(folder)]) == 0
    assert main(["timeline", str(folder)]) == 0
    made = sorted(path.name for path in tmp_path.glob("timeline-*.json"))
    assert made == [f"timeline-{folder.name}-2.json", f"timeline-{folder.name}.json"]
    assert "another zero" in capsys.readouterr().out


def test_a_file_that_exists_is_not_changed(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "mine.json"
    out.write_text("mine")
    with pytest.raises(UsageError, match="already exists; it was not changed; name another file"):
        recordings.write_trace(folder, out)
    assert out.read_text() == "mine"
    with pytest.raises(UsageError, match="cannot be written"):
        recordings.write_trace(folder, tmp_path / "absent" / "x.json")


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EvidenceError, match=r"run.json cannot be read"):
        recordings.write_trace(tmp_path, tmp_path / "x.json")
