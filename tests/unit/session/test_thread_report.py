"""`benchgate threads`, from the folder of a run to its text."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import jsonschema
import pytest

from benchgate.base.cells import Lane, Placement
from benchgate.base.paths import data_root
from benchgate.base.runs import RawRun
from benchgate.cli import main
from benchgate.judge.accounts.threads.accounting import books_of_run
from benchgate.run.record import save
from benchgate.session import thread_report
from tests.unit.factories import cell, raw_run
from tests.unit.insn.test_log_reader import COMPLETE
from tests.unit.judge.accounts.threads.test_accounting import FILE


def recorded(folder: Path, **changes: object) -> RawRun:
    raw = raw_run(cell(2), lane=Lane.INSN, placement=Placement.VIRTUAL, folder=folder)
    return replace(raw, pins=(), **changes)  # type: ignore[arg-type]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "0001-primes"
    folder.mkdir()
    save(recorded(folder))
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
    out = capsys.readouterr().out
    assert out.count("behind ") == 2
    assert "2 of 3 waits were as long as --late\n" in out
    assert main(["threads", str(run), "--late", "1ms"]) == 0
    assert "no thread waited as long as --late" in capsys.readouterr().out


def test_waits_for_which_there_is_no_room_are_counted(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thread_report, "books_of_run", partial(books_of_run, explained=1))
    assert main(["threads", str(run), "--late", "700ns"]) == 0
    assert "2 of 3 waits were as long as --late; explained are the 1 longest" in capsys.readouterr().out


def test_phases_are_those_of_the_clock_s_marks_and_moves_of_the_machine(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Thread 1 is woken on CPU 1 and thread 10 is moved there, which is on another socket."""
    marks = "mark 03 0 1000\nmark 01 0 1500\nmark 02 1 3150\nmark 04 0 4000\n"
    before, after = COMPLETE[: COMPLETE.index("mark 03")], COMPLETE[COMPLETE.index("vcpu 0") :]
    save(recorded(run, clock_log=run / "clock.log"))
    (run / "clock.log").write_text(before + marks + after, encoding="ascii")
    (run / "machine.shape").write_text("cpu 0 0 0 0\ncpu 1 1 1 1\n", encoding="ascii")
    assert main(["threads", str(run), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert [(one["name"], one["begin"]) for one in result["phases"]] == [
        ("spawn_ready", 1000),
        ("work", 1500),
        ("shutdown", 3150),
    ]
    assert [one["moves"]["sockets"] for one in result["threads"]] == [1, 1, 0]
    assert main(["threads", str(run), "--phases"]) == 0
    assert "waited on CPU" in capsys.readouterr().out


def test_symbols_of_a_file_name_the_trail(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "System.map"
    file.write_text("000000000000ff00 T wake_up_new_task\n", encoding="ascii")
    assert main(["threads", str(run), "--symbols", str(file)]) == 0
    assert "wake_up_new_task" in capsys.readouterr().out


def test_json_is_printed(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["threads", str(run), "--json", "--most", "2"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["run"], len(result["waits"]), result["end"]) == ("0001-primes", 2, 4000)
    jsonschema.validate(result, json.loads((data_root() / "reports/schema/threads-1.json").read_text()))


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


# ---- lines for a workload that has none


def test_counts_near_a_multiple_of_a_figure_are_proposed() -> None:
    seen = {"syscalls.futex": 404, "events.p_take": 100, "atomics": 50, "halts": 100, "spaces": 17}
    figures = {"result.wakes": 200, "printed.takes": 99, "sleep_us": 50, "few": 2}
    lines = thread_report.proposed(seen, figures)
    assert [line for line in lines if "because" not in line] == [
        "witness:",
        "  - claim: program.take >= printed.takes",
        "  - claim: syscalls.futex >= 2 * result.wakes",
    ]
    assert lines[2].endswith("# the machine saw 100, the guest says 99")


def test_nothing_is_proposed_for_counts_that_are_near_no_figure() -> None:
    (line,) = thread_report.proposed({"syscalls.futex": 404}, {"result.wakes": 1000})
    assert line.startswith("# No count")


COUNTED = """counted syscalls
counted atomics
typed 10 8 100 20
ran 0 50 50
saw so_far 0 syscalls 7
called so_far 0 1 7 -
line 10 90
ran 0 900 900
saw so_far 0 syscalls 2015
called so_far 0 1 2015 -
saw so_far 0 atomics 400
line {whole} 900
"""


@pytest.mark.parametrize("typed", [True, False])
def test_a_guest_without_marks_is_counted_since_its_last_input_or_its_first_line(
    run: Path, capsys: pytest.CaptureFixture[str], typed: bool
) -> None:
    """Two lines, and what was counted before each: 7 calls before the first one, 2,015 in all."""
    console = b"ready 111\nsend 1000 a2000 3.5\r\n"
    lines = COUNTED.format(whole=len(console))
    lines = lines if typed else lines.replace("typed 10 8 100 20\n", "")
    begin, end = COMPLETE.index("mark 03"), COMPLETE.index("vcpu 0")
    (run / "clock.log").write_text(COMPLETE[:begin] + lines + COMPLETE[end:], encoding="ascii")
    (run / "serial.log").write_bytes(console)
    save(recorded(run, clock_log=run / "clock.log"))
    assert main(["threads", str(run), "--witness"]) == 0
    said = capsys.readouterr().out
    since = "its last input" if typed else "its first line"
    assert f"since {since}, the machine saw: 2,008 syscalls, 400 atomics." in said
    assert "  - claim: syscalls >= 2 * 1000\n" in said  # the number that it printed
    assert "2 * 2000" not in said


def test_several_runs_are_told_together_and_side_by_side(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same run twice: the shares are those of one, the times twice as long."""
    assert main(["threads", str(run), str(run)]) == 0
    told = capsys.readouterr().out
    assert "92% of the wasted time began with the start of a thread, 7.7% with a preemption" in told
    assert "main waited in 100% of it" in told
    assert main(["threads", str(run), str(run), "--json"]) == 0
    both = json.loads(capsys.readouterr().out)
    assert both["together"]["time"] == 2 * both["runs"][run.name]["time"] == 2600
    assert main(["threads", str(run), str(run), "--late", "1ms"]) == 4
    assert "are about one run" in capsys.readouterr().err


def test_the_folder_of_a_session_stands_for_its_observed_runs(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    session = tmp_path / "session"
    (session / "runs").mkdir(parents=True)
    shutil.copytree(run, session / "runs" / run.name)
    (session / "runs" / "0002-primes").mkdir()
    assert main(["threads", str(session)]) == 0
    once = capsys.readouterr().out
    assert "began with the start of a thread" in once
    repeated = session / "runs" / "0000-repeated"
    shutil.copytree(run, repeated)
    record = json.loads((repeated / "run.json").read_text())
    (repeated / "run.json").write_text(json.dumps(record | {"warmup": True}))
    assert main(["threads", str(session)]) == 0
    assert capsys.readouterr().out == once  # one seed is not counted twice
    shutil.rmtree(repeated)
    (session / "runs" / run.name / "threads.txt").unlink()
    assert main(["threads", str(session)]) == 4
    assert "has no run with threads.txt" in capsys.readouterr().err
