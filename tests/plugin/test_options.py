"""Options that change what a sweep does: --include-smt, --measure, --profile-host."""

from __future__ import annotations

import csv
import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.cells import Lane, Placement
from benchgate.evidence.check import verify_session
from benchgate.host import topology
from benchgate.host.topology import CpuIsolation, HostTopology, LogicalCpu
from benchgate.plan.catalog import load_system, load_workload
from benchgate.plan.planned import Ground
from benchgate.plan.seats import seat_smt
from benchgate.session.rejudging import rejudge
from tests.plugin.conftest import Rig


def one_core_with_two_hyperthreads() -> HostTopology:
    """CPUs 0 and 1, independent of this host."""
    cpus = tuple(LogicalCpu(number, True, 0, (0, 1)) for number in (0, 1))
    return HostTopology(cpus, (0, 1), "sysfs", False, CpuIsolation(*["none"] * 5))


SMT = "primes.hi-10000-fake-smp2-smt"


def rows(rig: Rig) -> list[dict[str, str]]:
    with (rig.latest / "results.csv").open() as stream:
        return list(csv.DictReader(stream))


def verdict(rig: Rig) -> dict[str, object]:
    """The verdict of the speedup; those of the cells follow it."""
    result = json.loads((rig.latest / "verdicts.json").read_text())[0]
    assert isinstance(result, dict)
    return result


def command_lines(rig: Rig) -> list[list[str]]:
    result = [json.loads(path.read_text()) for path in (rig.latest / "runs").glob("*/argv.json")]
    assert result
    return result


def assert_intact(rig: Rig) -> None:
    check = verify_session(rig.latest, rejudge.recompute)
    assert check.exit_code == 0, check.text


# ---- --include-smt


@pytest.fixture
def one_core(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> Rig:
    monkeypatch.setattr(topology, "read", one_core_with_two_hyperthreads)
    return rig


def test_a_row_over_all_hyperthreads_is_measured_and_never_gated(one_core: Rig) -> None:
    result = one_core.run("--include-smt", "-v")
    result.stdout.fnmatch_lines([f"*::test_every_run_is_right?{SMT}? PASSED*"])
    smt = [row for row in rows(one_core) if row["placement"] == "smt"]
    assert {(row["cpus"], row["pins"], row["verified"]) for row in smt} == {("2", "0;1", "true")}
    assert [row["outcome"] for row in smt] == ["warmup", *["ok"] * 5]
    assert verdict(one_core)["outcome"] == "SKIP"  # the gate needs two cores
    assert_intact(one_core)


def test_without_the_option_no_smt_row_is_measured(one_core: Rig) -> None:
    result = one_core.run("-v")
    result.stdout.no_fnmatch_line("*-smt*")
    assert {row["placement"] for row in rows(one_core)} == {"physical"}


def test_an_smt_cell_is_skipped_on_the_instruction_clock() -> None:
    ground = Ground((0,), (0, 1), {"qemu": (Lane.TCG, ""), "native": (Lane.NATIVE, "")})
    linux, primes = load_system("linux"), load_workload("primes")
    seats = seat_smt(linux, primes, ground)
    assert (seats.lane, seats.placement, seats.pins, seats.skip) == (Lane.TCG, Placement.SMT, (0, 1), "")
    on_clock = seat_smt(linux, primes, replace(ground, lanes={"qemu": (Lane.INSN, "")}))
    assert on_clock.lane is Lane.INSN
    assert "share no core" in on_clock.skip


# ---- --measure


def test_measure_skips_the_gates_and_says_why(rig: Rig) -> None:
    result = rig.run("--measure")
    assert result.ret == 5
    result.assert_outcomes(passed=2, skipped=1)
    found = verdict(rig)
    assert (found["outcome"], found["ratio"]) == ("SKIP", None)
    assert str(found["reason"]).endswith("smp2/smp1: --measure changes what is measured")
    for argv in command_lines(rig):
        (line,) = [word for word in argv if "bench.nonce=" in word]
        assert " bench.measure=1" in line
    assert "## primes.hi-10000-fake-smp2 (times in ns)" in (rig.latest / "attribution.md").read_text()
    assert_intact(rig)


def test_a_wrong_answer_is_invalid_with_measure_too(rig: Rig) -> None:
    rig.consoles((19_000_000, 10_000_000), wrong_worker=1)
    assert rig.run("--measure").ret == 1
    assert verdict(rig)["outcome"] == "INVALID"


def test_without_measure_no_guest_is_asked_for_attribution(rig: Rig) -> None:
    rig.run("--runs", "1")
    assert not [word for argv in command_lines(rig) for word in argv if "bench.measure" in word]


# ---- --profile-host

PERF = """\
#!{python}
import signal, sys, time
words = sys.argv[1:]
if {refuses}:
    sys.exit("Error:\\nAccess to performance monitoring is limited: perf_event_paranoid is 4\\x1b[2J")
assert words[0] == "record" and words[words.index("--tid") + 1].count(",") == 1, words
out = open(words[words.index("--output") + 1], "wb")
def leave(*_):
    out.write(b"PERFILE2")
    out.close()
    sys.exit(0)
signal.signal(signal.SIGTERM, leave)
time.sleep(6000)
"""


@pytest.fixture
def perf_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on PATH. It has what the stand-in needs; a test may add `perf`."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, result in {
        "env": "/usr/bin/env",
        "python3": sys.executable,
        "git": shutil.which("git"),
    }.items():
        if result:
            (folder / name).symlink_to(result)
    monkeypatch.setenv("PATH", str(folder))
    return folder


def put_perf(folder: Path, *, refuses: bool = False) -> None:
    perf = folder / "perf"
    perf.write_text(PERF.format(python=sys.executable, refuses=refuses))
    perf.chmod(0o755)


def test_a_profiled_run_is_kept_but_is_not_a_sample(rig: Rig, perf_folder: Path) -> None:
    put_perf(perf_folder)
    result = rig.run("--profile-host")
    assert result.ret == 0
    name = "profile/primes.hi-10000-fake/perf.data"
    assert (rig.latest / name).read_bytes() == b"PERFILE2"
    assert f"profile of primes.hi-10000-fake-smp2: {name}" in (rig.latest / "summary.md").read_text().replace(
        "\\", ""
    )
    assert len(rows(rig)) == len(list((rig.latest / "runs").iterdir())) == 12
    assert f"  {name}\n" in (rig.latest / "manifest.sha256").read_text()
    assert_intact(rig)


@pytest.mark.parametrize("kind", ["absent", "refuses"])
def test_a_profile_that_cannot_be_recorded_is_unavailable_with_its_reason(
    rig: Rig, perf_folder: Path, kind: str
) -> None:
    if kind == "refuses":
        put_perf(perf_folder, refuses=True)
    result = rig.run("--profile-host")
    assert result.ret == 0
    reason = {
        "absent": "`perf` is not on PATH",
        "refuses": "perf recorded nothing: Access to performance monitoring is limited",
    }[kind]
    result.stderr.fnmatch_lines([f"*profile of primes.hi-10000-fake-smp2: unavailable: {reason}*"])
    facts = json.loads((rig.latest / "session.json").read_text())
    (note,) = facts["notes"]
    assert "\x1b" not in note
    assert len(rows(rig)) == 12
    assert_intact(rig)


def test_a_guest_that_fails_leaves_no_profile(rig: Rig, perf_folder: Path) -> None:
    put_perf(perf_folder)
    rig.run("--profile-host", play="cannot-start")
    assert "unavailable: " in json.loads((rig.latest / "session.json").read_text())["notes"][0]
    assert list(rig.latest.glob("profile/**/perf.data")) == []
