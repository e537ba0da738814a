"""What a replay recorded becomes files with names."""

from __future__ import annotations

from pathlib import Path

from benchgate.insn.sharing import read_sharing
from benchgate.judge.sharing import KEPT
from benchgate.session import recordings
from tests.unit.insn.test_sharing import FILE


def test_moved_lines_become_named_lines_a_picture_and_sentences(tmp_path: Path) -> None:
    file = tmp_path / recordings.SHARING
    file.write_text(FILE, encoding="ascii")
    symbols = tmp_path / "System.map"
    symbols.write_text("0000000000404040 D flags\n0000000000404048 B counters\n")
    told = recordings.moved_lines(file, None, symbols, "Lines of a run")
    said = "CPU 0 writes bytes 0-7 (flags), CPU 1 writes bytes 0-63 (flags, counters)"
    assert any(line.startswith(said) for line in told)
    assert read_sharing(tmp_path / KEPT).lines[0].names[1].name == "counters"
    picture = (tmp_path / recordings.LINES_PICTURE).read_text(encoding="utf-8")
    assert "flags, counters" in picture
    assert told[-2:] == [f"picture: {tmp_path / 'lines.svg'}", f"the lines: {tmp_path / KEPT}"]


def test_records_name_their_files_and_nothing_else() -> None:
    folder = Path("folder")
    assert recordings.records(folder).options() == {}
    wanted = recordings.records(folder, lines=True, profile=True).options()
    assert wanted == {"profile": folder / "profile.txt", "sharing": folder / "sharing.txt"}
