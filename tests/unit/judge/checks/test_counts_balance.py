"""What a forger changes in the clock's log, whose hashes and reports he makes again, contradicts the rest."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.base.errors import VerifyError
from benchgate.insn.log_reader import read_log
from benchgate.judge.checks.counts_balance import check_counts

WORKED = "ff" * 9 + "80"
LOG = f"""\
insn-clock 1
level full
mode serial
seed 1
quantum 10
fine 1
rush 1
vcpus 2
api 3 2 4
mark 03 0 100000
mark 01 0 110000
mark 01 1 110020
mark 02 0 190000
mark 02 1 195000
mark 04 0 200000
vcpu 0 time 300000 executed 250000 paused 1000 skipped 0 halted 49000
vcpu 1 time 300000 executed 240000 paused 1000 skipped 0 halted 59000
host carrier fsbase
host tsc_thunks 2
columns 10 10000 100000 200000
worked 0 {"ff" * 10}
spun 0 {"00" * 10}
worked 1 {WORKED}
spun 1 {"00" * 10}
end 300000
counted syscalls
counted instructions
counted worked
counted programs
counted spun
counting total 100000 200000
saw total 0 instructions 100000
saw total 0 worked 100000
saw total 0 programs 60000
saw total 0 spun 500
saw total 1 instructions 97000
saw total 1 worked 95000
saw total 1 programs 50000
counting work 110000 195000
saw work 0 instructions 84000
saw work 0 worked 83900
saw work 0 programs 55000
saw work 0 spun 400
saw work 1 instructions 83000
saw work 1 worked 81000
saw work 1 programs 45000
counting whole 100000 300000
saw whole 0 instructions 180000
saw whole 0 worked 170000
saw whole 0 programs 70000
saw whole 0 spun 600
saw whole 1 instructions 170000
saw whole 1 worked 160000
saw whole 1 programs 60000
measured latency
thread 0 126 0 110000 190000 110010 190010
thread 1 127 1 110020 195000 110030 195010
spans latency 0 inner 1 500 500 500
buckets latency 0 inner 378:1
spans latency 0 outer 1 500 500 500
buckets latency 0 outer 378:1
spans latency 1 inner 1 500 500 500
buckets latency 1 inner 378:1
spans latency 1 outer 1 500 500 500
buckets latency 1 outer 378:1
closed
"""
"""Of a clock whose vCPUs may be 80 ns apart."""


def checked(folder: Path, text: str) -> None:
    (folder / "clock.log").write_text(text)
    check_counts(read_log(folder / "clock.log"))


def test_a_log_whose_accounts_agree_passes(tmp_path: Path) -> None:
    checked(tmp_path, LOG)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        # spun: more than programs do, and more than in a window that contains this one
        ("saw work 0 spun 400", "saw work 0 spun 110001", "vCPU 0 in the work window has 110001 spun"),
        ("saw total 0 spun 500", "saw total 0 spun 399", "400 spun in the work window, 399 in the total"),
        ("saw whole 0 spun 600", "saw whole 0 spun 499", "500 spun in the total window, 499 in the whole"),
        # what was executed
        ("saw work 0 programs 55000", "saw work 0 programs 85025", "85025 programs, of 84000 instructions"),
        ("saw work 1 worked 81000", "saw work 1 worked 83001", "83001 worked, of 83000 instructions"),
        ("saw work 1 programs 45000", "saw work 1 programs 50001", "50001 programs in the work window"),
        (
            "saw total 0 worked 100000",
            "saw total 0 worked 99000",
            "worked 99000 ns, but 100000 ns in its col",
        ),
        (
            f"worked 1 {WORKED}",
            f"worked 1 {'ff' * 9}60",
            "vCPU 1 worked 95000 ns, but 93765 ns in its columns",
        ),
        ("saw total 1 instructions 97000", "saw total 1 instructions 100081", "longer than the window"),
        ("executed 250000", "executed 179999", "180000 instructions in whole, but executed 179999"),
        # windows
        ("counting work 110000", "counting work 110001", "from 110001 to 195000, but marked from 110000"),
        ("counting total 100000 200000", "counting total 100000 199999", "100000 to 199999, but marked"),
        ("mark 02 1 195000", "mark 02 1 196000", "110000 to 195000, but marked from 110000 to 196000"),
        ("columns 10 10000 100000 200000", "columns 10 10000 99910 199910", "not those of the total window"),
        # operations
        ("126 0 110000", "126 0 110001", "latency of thread 126 is measured from 110001 to 190000"),
        ("126 0 110000", "126 1 110000", "latency of thread 126 is measured from 110000 to 190000"),
        ("127 1 110020 195000", "127 1 110020 194000", "measured from 110020 to 194000, not at marks"),
    ],
)
def test_a_changed_number_contradicts_what_was_not_changed(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    assert LOG.count(old) == 1
    with pytest.raises(VerifyError, match=said):
        checked(tmp_path, LOG.replace(old, new))


def test_a_block_in_which_another_cpu_stood_may_be_in_one_count_only(tmp_path: Path) -> None:
    """At the begin and at the end of the window. Seen: 33,612 programs, of 33,609 instructions."""
    changed = LOG.replace("saw work 0 programs 55000", "saw work 0 programs 85024")
    changed = changed.replace("saw total 0 programs 60000", "saw total 0 programs 86000")
    checked(tmp_path, changed.replace("saw whole 0 programs 70000", "saw whole 0 programs 90000"))


@pytest.mark.parametrize("old", ["saw total 1 worked", "saw whole 1 programs", "saw total 0 instructions"])
def test_a_removed_number_is_0(tmp_path: Path, old: str) -> None:
    left = [line for line in LOG.splitlines(keepends=True) if not line.startswith(old)]
    with pytest.raises(VerifyError, match="the machine's counts do not agree with its log"):
        checked(tmp_path, "".join(left))


def test_on_a_machine_whose_instructions_take_longer_columns_are_not_compared(tmp_path: Path) -> None:
    slower = LOG.replace("mark 03", "capacity 0 512\ncapacity 1 1024\nmark 03", 1)
    slower = slower.replace("halted 49000", "halted 49000 stalled 0").replace(
        "halted 59", "stalled 0 halted 59"
    )
    slower = slower.replace("stalled 0 halted 59000", "halted 59000 stalled 0")
    checked(tmp_path, slower.replace(WORKED, "80" * 10))


@pytest.mark.parametrize("way", ["", "host carrier prctl\n", "host carrier threads\n"])
def test_no_account_depends_on_how_the_vcpus_were_run(tmp_path: Path, way: str) -> None:
    """The hashes alone protect these lines."""
    checked(tmp_path, LOG.replace("host carrier fsbase\n", way).replace("host tsc_thunks 2\n", ""))
