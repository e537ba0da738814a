"""The clock's log: what is read, and the lines that are refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchgate.base.errors import VerifyError
from benchgate.insn.log import CARRIERS, ClockMark, ConsoleInput, LateSightings, VcpuTotals, VcpuWork
from benchgate.insn.log_reader import read_log

COMPLETE = """insn-clock 1
level full
mode serial
seed 7
quantum 5000
fine 100
rush 25
vcpus 2
api 3 2 4
beat 0
halted 12
mark 03 0 1000
mark 01 1 1100
mark 02 1 9100
mark 04 0 9200
vcpu 0 time 9500 executed 9000 paused 100 skipped 0 halted 400
vcpu 1 time 9400 executed 9000 paused 0 skipped 0 halted 400
check notes 3
host grants 17
end 9400
closed
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "clock.log"


def test_a_complete_log_is_read(path: Path) -> None:
    path.write_text(COMPLETE, encoding="ascii")
    log = read_log(path)
    assert (log.seed, log.api) == (7, (3, 2, 4))
    assert (log.quantum, log.fine, log.rush, log.vcpus) == (5000, 100, 25, 2)
    assert log.marks[1] == ClockMark(1, 1, 1100)
    assert log.totals == (VcpuTotals(9500, 9000, 100, 0, 400), VcpuTotals(9400, 9000, 0, 0, 400))
    assert (log.end, dict(log.checks), dict(log.host)) == (9400, {"notes": 3}, {"grants": 17})
    assert log.closed
    assert log.problem == ""


@pytest.mark.parametrize("way", ["", *CARRIERS])
def test_a_log_says_how_the_vcpus_were_run_and_an_older_one_does_not(path: Path, way: str) -> None:
    line = f"host carrier {way}\n" if way else ""
    path.write_text(COMPLETE.replace("beat 0\n", f"{line}beat 0\n"), encoding="ascii")
    log = read_log(path)
    assert (log.carrier, dict(log.host)) == (way, {"grants": 17})


@pytest.mark.parametrize(
    "line", ["host carrier", "host carrier boat", "host carrier prctl 1", 2 * "host carrier prctl\n"]
)
def test_a_way_that_does_not_exist_or_comes_twice_is_refused(path: Path, line: str) -> None:
    path.write_text(COMPLETE.replace("beat 0\n", f"{line}\n"), encoding="ascii")
    with pytest.raises(VerifyError, match="expected `host carrier WAY`, once"):
        read_log(path)


def test_how_the_vcpus_were_run_is_not_part_of_what_repeats(path: Path) -> None:
    path.write_text(COMPLETE.replace("beat 0\n", "host carrier prctl\n"), encoding="ascii")
    one = read_log(path)
    path.write_text(COMPLETE, encoding="ascii")
    assert one.repeatable == read_log(path).repeatable


def test_a_log_of_a_killed_qemu_has_marks_and_no_totals(path: Path) -> None:
    path.write_text(COMPLETE[: COMPLETE.index("vcpu 0 time") + 9], encoding="ascii")
    log = read_log(path)
    assert len(log.marks) == 4
    assert (log.totals, log.end, log.closed) == ((), None, False)


def test_lines_of_the_console_carry_what_each_vcpu_had_done(path: Path) -> None:
    said = "ran 0 700 600\nline 12 900\nran 1 50 0\nran 0 800 650\nline 20 1000\nline 21 1001\n"
    path.write_text(COMPLETE.replace("mark 03", f"{said}mark 03"), encoding="ascii")
    lines = read_log(path).lines
    assert [(line.end, line.time) for line in lines] == [(12, 900), (20, 1000), (21, 1001)]
    assert lines[0].vcpus == (VcpuWork(700, 600), VcpuWork(0, 0))
    assert lines[1].vcpus == lines[2].vcpus == (VcpuWork(800, 650), VcpuWork(50, 0))


def test_lines_of_the_console_carry_what_each_vcpu_had_polled(path: Path) -> None:
    said = "ran 0 700 600\npolled 0 90\nline 12 900\nran 0 800 650\npolled 1 5\nline 20 1000\n"
    path.write_text(COMPLETE.replace("mark 03", f"{said}mark 03"), encoding="ascii")
    first, second = read_log(path).lines
    assert first.vcpus == (VcpuWork(700, 600, 90), VcpuWork(0, 0))
    assert second.vcpus == (VcpuWork(800, 650, 90), VcpuWork(0, 0, 5))


def test_lines_of_the_console_carry_what_was_seen_too_late(path: Path) -> None:
    said = "line 12 900 3 40 7\nline 20 1000 3 40 0\nline 21 1001 4 50 0\n"
    path.write_text(COMPLETE.replace("mark 03", f"{said}mark 03"), encoding="ascii")
    before, _, after = (line.seen_late for line in read_log(path).lines)
    assert (before, after) == (LateSightings(3, 40, 7), LateSightings(4, 50, 0))


def test_what_was_typed_repeats_with_the_run(path: Path) -> None:
    path.write_text(COMPLETE.replace("mark 03", "typed 12 5 950 100\nmark 03"), encoding="ascii")
    log = read_log(path)
    assert log.inputs == (ConsoleInput(console=12, count=5, time=950, pace=100),)
    path.write_text(COMPLETE.replace("mark 03", "typed 12 5 951 100\nmark 03"), encoding="ascii")
    assert read_log(path).repeatable != log.repeatable


def test_a_log_says_where_a_restored_guest_began(path: Path) -> None:
    path.write_text(COMPLETE, encoding="ascii")
    assert read_log(path).start is None
    path.write_text(COMPLETE.replace("beat 0", "start 1500000000 70\nbeat 0"), encoding="ascii")
    assert read_log(path).start == (1_500_000_000, 70)


def test_a_log_says_how_fast_each_vcpu_was(path: Path) -> None:
    text = re.sub(r"^(vcpu .*)$", r"\1 stalled 5", COMPLETE, flags=re.MULTILINE)
    path.write_text(text.replace("beat 0", "capacity 0 1024\ncapacity 1 462\nbeat 0"), encoding="ascii")
    log = read_log(path)
    assert log.capacities == (1024, 462)
    assert [totals.stalled for totals in log.totals] == [5, 5]
    path.write_text(text.replace("beat 0", "capacity 0 1024\ncapacity 1 463\nbeat 0"), encoding="ascii")
    assert read_log(path).repeatable != log.repeatable


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("beat 0", "capacity 1 1024", "expected `capacity VCPU CAPACITY`, in order"),
        ("beat 0", "capacity 0", "expected `capacity VCPU CAPACITY`"),
        ("beat 0", "capacity 0 x", "not a number"),
        ("beat 0", "capacity 0 1024", "expected `vcpu N .* stalled S`"),
        ("beat 0", "start 5 7\nstart 5 7", "expected `start TIME BYTES`, once"),
        ("beat 0", "start 0 0\nstart 5 7", "expected `start TIME BYTES`, once"),
        ("beat 0", "start 5", "expected `start TIME BYTES`"),
        ("beat 0", "start", "expected `start TIME BYTES`"),
        ("beat 0", "start 5 7 9", "expected `start TIME BYTES`"),
        ("beat 0", "start 5 -7", "not a number"),
        ("beat 0", "start x 7", "not a number"),
        ("beat 0", "start 05 7", "not a number"),
        ("beat 0", "start 9223372036854775808 7", "not a number below"),
        ("mark 01 1 1100", "typed 5 6 7", "expected `typed BYTES"),
        ("mark 01 1 1100", "ran 2 5 5", "below 2"),
        ("mark 01 1 1100", "ran 1 5", "expected `ran VCPU"),
        ("mark 01 1 1100", "beat", "expected `beat TIME`"),
        ("mark 01 1 1100", "halted x", "not a number"),
        ("mark 01 1 1100", "line 5", "expected `line BYTES"),
        ("mark 01 1 1100", "line 5 1100\nline 5 1200", "not after the one before"),
        ("mark 01 1 1100", "line 5 1100 3 40", "expected `line BYTES"),
        ("mark 01 1 1100", "line 5 1100 3 40 0\nline 6 1200 2 40 0", "fewer than those of the line before"),
        ("mark 01 1 1100", "line 5 1100 3 40 0\nline 6 1200 3 39 9", "fewer than those of the line before"),
        ("mark 01 1 1100", "line 5 1100 3 40 0\nline 6 1200", "fewer than those of the line before"),
        ("insn-clock 1", "insn-clock 2", "version"),
        ("seed 7", "seed -7", "not a number"),
        ("seed 7", "seed 07", "not a number"),
        ("seed 7\n", "", "expected `seed`"),
        ("vcpus 2", "vcpus 300", "below 257"),
        ("mark 01 1 1100", "mark 01 2 1100", "below 2"),
        ("mark 01 1 1100", "mark 01 1", "expected `mark KIND"),
        ("mark 01 1 1100", "mark 1 1 1100", "expected `mark KIND"),
        ("mark 01 1 1100", "mork 01 1 1100", "unknown line"),
        ("mark 01 1 1100", "mark 01 1 99999999999999999999", "not a number"),
        ("vcpu 1 time", "vcpu 0 time", "in order"),
        ("vcpu 1 time 9400", "vcpu 1 time -1", "not a number"),
        ("executed 9000 paused 0", "executed 9000 slept 0", "expected `vcpu N"),
        ("check notes 3", "check notes 3\ncheck notes 3", "each name once"),
        ("check notes 3", "check ../x 3", "each name once"),
        ("end 9400", "end 9400\nend 9400", "once"),
        ("vcpu 1 time 9400 executed 9000 paused 0 skipped 0 halted 400\n", "", "incomplete"),
        ("level full", "level count", "expected `level full` and `mode serial`"),
        ("mode serial", "mode parallel", "expected `level full` and `mode serial`"),
        ("closed\n", "closed\nmark 01 0 5\n", "text after the end"),
    ],
)
def test_a_line_outside_the_format_is_refused(path: Path, old: str, new: str, why: str) -> None:
    assert old in COMPLETE
    path.write_text(COMPLETE.replace(old, new), encoding="ascii")
    with pytest.raises(VerifyError, match=why):
        read_log(path)


def test_a_refusal_a_stuck_lockstep_and_a_flood_are_problems(path: Path) -> None:
    head = COMPLETE[: COMPLETE.index("mark 03")]
    path.write_text(head + "refused the guest's \x07clock\n", encoding="ascii")
    assert read_log(path).problem.endswith("the guest's \\x07clock")
    path.write_text(head + "stuck no progress for 60 s\nstuck vcpu 1 at 5\n", encoding="ascii")
    assert "vcpu 1 at 5" in read_log(path).problem
    path.write_text(head + "flood 4096\n", encoding="ascii")
    assert "more marks" in read_log(path).problem


def test_a_missing_a_huge_and_a_binary_log_are_refused(path: Path) -> None:
    with pytest.raises(VerifyError, match="left no log"):
        read_log(path)
    path.write_bytes(b"\xff" * 10)
    with pytest.raises(VerifyError, match="not ASCII"):
        read_log(path)
    with path.open("wb") as stream:
        stream.truncate(5 << 20)
    with pytest.raises(VerifyError, match="at most"):
        read_log(path)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_a_damaged_log_is_read_or_refused_without_a_crash(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged.log"
    at = data.draw(st.integers(0, len(COMPLETE) - 1))
    patch = data.draw(st.binary(max_size=12))
    raw = COMPLETE.encode()
    path.write_bytes(raw[:at] + patch + raw[at + data.draw(st.integers(0, 20)) :])
    try:
        read_log(path)
    except VerifyError as error:
        assert str(path) in str(error)  # noqa: PT017
