"""A run is refused if it began elsewhere than its row says, and a warm one if its words are another run's."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.cells import Lane, Placement
from benchgate.base.errors import VerifyError
from benchgate.base.runs import RawRun
from benchgate.base.snapshots import FILE, WORDS, SnapshotRecord, StartKind
from benchgate.base.system.boots import BootDefinition
from benchgate.base.system.script import Script, ScriptStep
from benchgate.base.system.systems import AskMethod, System
from benchgate.judge.checks.agreement import check_agreement, check_host
from benchgate.judge.checks.start_agreement import check_start
from benchgate.judge.run_files import RunFiles
from benchgate.plan import catalog
from tests.unit.judge.checks.test_agreement import CLOCK, LOG
from tests.wirekit import (
    NONCE,
    console,
    guest_argv,
    primes_run,
    recorded,
    unframed,
    write_affinity,
    write_argv,
)

GOOD = recorded("good-linux-primes-smp2")
COLD = catalog.load_system("linux")
WARM = catalog.load_system("linux:start=warm")
TIME, PRINTED = 1_500_000_000, 40
RECORD = SnapshotRecord(TIME, PRINTED, 3, {"ram": "a" * 64}, {"qemu": "d"})
Change = Callable[[Path], object]


def clocked(folder: Path) -> RawRun:
    """A run of the cold system on the instruction clock, as it is recorded."""
    run = primes_run(folder, GOOD)
    log = folder / "clock.log"
    log.write_text(LOG)
    write_argv(folder, [*guest_argv(2), *CLOCK])
    write_affinity(folder, [[0, 1], [0, 1]])
    return replace(run, lane=Lane.INSN, placement=Placement.VIRTUAL, pins=(), clock_log=log)


@pytest.fixture
def cold(tmp_path: Path) -> RawRun:
    return clocked(tmp_path)


@pytest.fixture
def warm(tmp_path: Path) -> RawRun:
    """The same run from a snapshot: the words of its command line came later."""
    run = clocked(tmp_path)
    own, asked = COLD.boot.append, guest_argv(2)[-1]
    words = [*guest_argv(2)[:-1], own, "-incoming", "defer", CLOCK[0], f"{CLOCK[1]},start={TIME}:{PRINTED}"]
    assert asked.startswith(f"{own} bench.workload=primes ")
    write_argv(tmp_path, words)
    (tmp_path / WORDS).write_text(f"{asked}\n")
    (tmp_path / "clock.log").write_text(f"{LOG}start {TIME} {PRINTED}\n")
    RECORD.save(tmp_path)
    return run


def test_runs_that_began_where_their_rows_say_are_accepted(tmp_path: Path) -> None:
    check_agreement(RunFiles(clocked(tmp_path)), COLD)


def test_a_warm_run_in_a_warm_row_is_accepted(warm: RawRun) -> None:
    check_agreement(RunFiles(warm), WARM)
    assert (WARM.boot.start, WARM.name) == (StartKind.WARM, "linux.start-warm")


def restored(*option: str) -> Change:
    return lambda folder: write_argv(folder, [*guest_argv(2), *option, *CLOCK])


def start_option(folder: Path) -> None:
    write_argv(folder, [*guest_argv(2), CLOCK[0], f"{CLOCK[1]},start={TIME}:{PRINTED}"])


def start_line(folder: Path) -> None:
    (folder / "clock.log").write_text(f"{LOG}start {TIME} {PRINTED}\n")


def no_moment(folder: Path) -> None:
    (folder / "clock.log").write_text(f"{LOG}start 0 0\n")


def words(folder: Path) -> None:
    (folder / WORDS).write_text("bench.workload=primes\n")


TRACES: dict[str, tuple[Change, str]] = {
    "the option of a snapshot": (restored("-incoming", "defer"), "argv.json"),
    "with two dashes": (restored("--incoming", "file:/tmp/state"), "argv.json"),
    "another option": (restored("-loadvm", "booted"), "argv.json"),
    "an option of the clock": (start_option, "argv.json"),
    "a line of the clock": (start_line, "clock.log"),
    "a line with no time": (no_moment, "clock.log"),
    "a record": (RECORD.save, FILE),
    "words": (words, WORDS),
}


@pytest.mark.parametrize("trace", TRACES)
def test_each_trace_of_a_snapshot_refuses_a_cold_run(cold: RawRun, trace: str) -> None:
    change, file = TRACES[trace]
    change(cold.folder)
    with pytest.raises(VerifyError, match=f"{file} of .* is not of a cold start, as its row says"):
        check_agreement(RunFiles(cold), COLD)


@pytest.mark.parametrize("option", ["-incoming", "--incoming", "-loadvm", "--loadvm"])
def test_a_run_on_wall_time_is_not_restored_either(tmp_path: Path, option: str) -> None:
    """A system's YAML may give QEMU any argument."""
    run = primes_run(tmp_path, GOOD)
    check_host(RunFiles(run), COLD)
    write_argv(tmp_path, [*guest_argv(2), option, "file:/tmp/state"])
    with pytest.raises(VerifyError, match=r"argv\.json of .* is not of a cold start"):
        check_host(RunFiles(run), COLD)


def test_a_row_on_wall_time_is_never_warm(warm: RawRun) -> None:
    check_start(RunFiles(warm), WARM)
    with pytest.raises(VerifyError, match=r"clock\.log of .* is not of a warm start"):
        check_start(RunFiles(replace(warm, lane=Lane.TCG)), WARM)


def edit(name: str, old: str, new: str) -> Change:
    def change(folder: Path) -> None:
        text = (folder / name).read_text()
        assert text.count(old) == 1
        (folder / name).write_text(text.replace(old, new))

    return change


def removed(name: str) -> Change:
    return lambda folder: (folder / name).unlink()


def other_record(**values: int) -> Change:
    return lambda folder: replace(RECORD, **values).save(folder)  # type: ignore[arg-type]


def short_console(folder: Path) -> None:
    (folder / "serial.log").write_bytes(GOOD[: PRINTED - 1])


MISSING: dict[str, tuple[Change, str]] = {
    "no option of a snapshot": (edit("argv.json", '"-incoming", "defer", ', ""), "argv.json"),
    "another option beside it": (edit("argv.json", '"defer"', '"defer", "-loadvm", "x"'), "argv.json"),
    "no option of the clock": (edit("argv.json", f",start={TIME}:{PRINTED}", ""), "argv.json"),
    "another time in it": (edit("argv.json", f"start={TIME}:", f"start={TIME + 1}:"), "argv.json"),
    "another length in it": (edit("argv.json", f":{PRINTED}", f":{PRINTED + 1}"), "argv.json"),
    "two options": (edit("argv.json", ",start=", ",start=1:1,start="), "argv.json"),
    "no line of the clock": (edit("clock.log", f"start {TIME} {PRINTED}\n", ""), "clock.log"),
    "another time of the clock": (edit("clock.log", f"start {TIME}", f"start {TIME - 1}"), "clock.log"),
    "another length of the clock": (edit("clock.log", f"{TIME} {PRINTED}", f"{TIME} 41"), "clock.log"),
    "no record": (removed(FILE), FILE),
    "another time in the record": (other_record(time_ns=TIME + 1), "argv.json"),
    "another length in the record": (other_record(console=PRINTED - 1), "argv.json"),
    "a console that is shorter": (short_console, "serial.log"),
    "no words": (removed(WORDS), WORDS),
    "empty words": (lambda folder: (folder / WORDS).write_text("\n"), WORDS),
}


@pytest.mark.parametrize("trace", MISSING)
def test_each_missing_or_other_trace_refuses_a_warm_run(warm: RawRun, trace: str) -> None:
    change, file = MISSING[trace]
    change(warm.folder)
    with pytest.raises(VerifyError, match=f"{file} of .* is not of a warm start, as its row says"):
        check_host(RunFiles(replace(warm)), WARM) if file != WORDS else check_start(RunFiles(warm), WARM)


def test_a_warm_run_is_no_cold_one_and_a_cold_run_no_warm_one(tmp_path: Path, warm: RawRun) -> None:
    with pytest.raises(VerifyError, match="is not of a cold start"):
        check_start(RunFiles(warm), COLD)
    for name in (FILE, WORDS):
        (tmp_path / name).unlink()
    with pytest.raises(VerifyError, match="is not of a warm start"):
        check_start(RunFiles(clocked(tmp_path)), WARM)


@pytest.mark.parametrize("system", [COLD, WARM])
def test_a_record_that_is_malformed_refuses_both(tmp_path: Path, warm: RawRun, system: System) -> None:
    (tmp_path / FILE).write_text("{}")
    with pytest.raises(VerifyError, match=r"start\.json: the start has no schema"):
        check_start(RunFiles(warm), system)


def asked(old: str, new: str) -> Change:
    return edit(WORDS, old, new)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (asked("bench.hi=100000", "bench.hi=200000"), "argv.json asks otherwise: bench.hi="),
        (asked("bench.workload=primes", "bench.workload=checksum"), "asks otherwise: bench.workload="),
        (asked("bench.workers=2", "bench.workers=1"), "asks otherwise: bench.workers="),
        (asked(f"bench.nonce={NONCE}", "bench.nonce=00"), "asks otherwise: bench.nonce="),
        (asked("bench.split=cost", "bench.split=cost mitigations=off"), "asks otherwise: mitigations=off"),
        (asked("console=ttyS0", "console=ttyS1"), "-append in argv.json is not the one of its YAML"),
        (asked("quiet ", "quiet nosmp "), "-append in argv.json is not the one of its YAML"),
        (edit("argv.json", "quiet ", "quiet nosmp "), "-append in argv.json is not the one of its YAML"),
        (edit("argv.json", '", "-incoming"', ' bench.hi=5", "-incoming"'), "-append in argv.json is not"),
    ],
)
def test_words_that_ask_for_something_else_refuse_a_warm_run(warm: RawRun, change: Change, said: str) -> None:
    change(warm.folder)
    with pytest.raises(VerifyError, match=said):
        check_agreement(RunFiles(warm), WARM)


@pytest.mark.parametrize("wants", [True, False])
def test_measure_lines_belong_to_warm_runs_whose_words_asked_for_them(warm: RawRun, wants: bool) -> None:
    lines = [*unframed(GOOD), "measure phase=work cpu=0 name=idle_time value=7"]
    (warm.folder / "serial.log").write_bytes(console(*lines))
    if wants:
        asked("bench.nonce=", "bench.measure=1 bench.nonce=")(warm.folder)
        check_agreement(RunFiles(warm), WARM)
        return
    with pytest.raises(VerifyError, match=r"printed measure lines, but .* does not ask for them"):
        check_agreement(RunFiles(warm), WARM)


def test_a_cold_run_does_not_get_its_words_from_a_file(warm: RawRun) -> None:
    """Only its own command line counts."""
    own = json.loads((warm.folder / "argv.json").read_text())
    write_argv(warm.folder, own[: own.index("-incoming")] + CLOCK)
    (warm.folder / FILE).unlink()
    (warm.folder / "clock.log").write_text(LOG)
    with pytest.raises(VerifyError, match=r"words of .* is not of a cold start"):
        check_agreement(RunFiles(warm), COLD)
    (warm.folder / WORDS).unlink()
    with pytest.raises(VerifyError, match=r"argv\.json asks otherwise: bench\."):
        check_agreement(RunFiles(warm), COLD)


def test_a_system_at_its_prompt_gets_no_words(tmp_path: Path, warm: RawRun) -> None:
    """What it is to run is typed."""
    script = Script(r"^\$ $", (ScriptStep("go", r"^\$ $"),))
    boots = BootDefinition(kernel="k", append=WARM.boot.append, start=StartKind.WARM)
    prompted = replace(WARM, ask=AskMethod.PROMPT, script=script, boot=boots)
    assert [one.boot.takes_words for one in (WARM, COLD, prompted)] == [True, False, False]
    with pytest.raises(VerifyError, match=r"words of .* is not of a warm start"):
        check_start(RunFiles(warm), prompted)
    (tmp_path / WORDS).unlink()
    check_start(RunFiles(replace(warm)), prompted)
