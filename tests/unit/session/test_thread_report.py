"""`benchgate threads`, from the folder of a run to its text."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.cells import Lane, Placement
from benchgate.cli import main
from benchgate.run.record import save
from tests.unit.factories import cell, raw_run
from tests.unit.judge.accounts.threads.test_accounting import FILE


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "0001-primes"
    folder.mkdir()
    save(replace(raw_run(cell(2), lane=Lane.INSN, placement=Placement.VIRTUAL, folder=folder), pins=()))
    (folder / "threads.txt").write_text(FILE.replace("11 0 2 -", "11 0 2 ff10"), encoding="ascii")
    return folder


def test_the_longest_waits_are_explained(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path: path.read_bytes() for path in run.iterdir()}
    assert main(["threads", str(run), "--most", "1"]) == 0
    out = capsys.readouterr().out
    assert out.count(" waited 1.200 us on CPU 1") == 1
    assert "woken by" not in out
    assert {path: path.read_bytes() for path in run.iterdir()} == before


def test_all_waits_from_a_length_on_are_explained(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["threads", str(run), "--late", "700ns"]) == 0
    assert capsys.readouterr().out.count("behind ") == 2
    assert main(["threads", str(run), "--late", "1ms"]) == 0
    assert "no thread waited as long as --late" in capsys.readouterr().out


def test_symbols_of_a_file_name_the_trail(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "System.map"
    file.write_text("000000000000ff00 T wake_up_new_task\n", encoding="ascii")
    assert main(["threads", str(run), "--symbols", str(file)]) == 0
    assert "wake_up_new_task" in capsys.readouterr().out


def test_json_is_printed(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["threads", str(run), "--json", "--most", "2"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["run"], len(found["waits"]), found["end"]) == ("0001-primes", 2, 4000)


def test_a_run_whose_threads_were_not_observed_says_what_to_do(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (run / "threads.txt").unlink()
    assert main(["threads", str(run)]) != 0
    assert "its threads were not observed; next: benchgate replay" in capsys.readouterr().err
    save(raw_run(cell(2), folder=run))
    assert main(["threads", str(run)]) != 0
    assert "on the instruction clock only" in capsys.readouterr().err


def test_a_wrong_record_and_a_wrong_length_are_told(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (run / "threads.txt").write_text(FILE.replace("fork 0 1200 11 10 776f726b\n", ""), encoding="ascii")
    assert main(["threads", str(run)]) != 0
    assert "threads.txt:7: " in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["threads", str(run), "--late", "soon"])
    assert "is not a length of time such as" in capsys.readouterr().err
