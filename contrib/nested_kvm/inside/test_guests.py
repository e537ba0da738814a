"""Guests under the nested machine's KVM: each count of CPUs, both systems, and a kernel with a prompt."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from benchgate.build.fetch import inputs
from contrib.nested_kvm.inside.kit import GATE, linux, measured, on_kvm, rows, runs_of
from tests.kernelkit import talker
from tests.line.sessions import Session, run_benchgate
from tests.line.test_prompt import ORACLE, SYSTEM, WINDOWS, WORKLOAD

COUNTS = [n for n in (1, 2, 4) if n <= len(os.sched_getaffinity(0))]
TYPED = """\
import pytest


@pytest.mark.system("printed.yaml")
@pytest.mark.workload("typed.yaml", hi=100_000)
def test_every_run_is_right(cell):
    cell.require_verified()
"""


@pytest.mark.parametrize("system", ["kernel", "linux"])
def test_a_guest_is_verified_at_every_count(tmp_path: Path, system: str) -> None:
    """Each vCPU has a CPU of its own, which the host confirms."""
    rows(tmp_path)
    smp = ",".join(map(str, COUNTS))
    chosen = linux(tmp_path) if system == "linux" else system
    session = measured(tmp_path, f"--smp={smp}", "--runs=1", f"--system={chosen}")
    print(session.output)
    assert session.code == 0, session.output
    done = [row for row in session.rows if row["outcome"] == "ok"]
    assert sorted(int(row["cpus"]) for row in done) == COUNTS
    assert {row["lane"] for row in done} == {"kvm"}
    assert {row["placement"] for row in done} == {"physical"}
    for argv, threads in runs_of(session):
        assert argv[argv.index("-accel") + 1] == "kvm"
        assert argv[argv.index("-cpu") + 1].startswith("host")
        places = [tuple(thread["found"]) for thread in threads if thread["vcpu"] is not None]
        assert len(set(places)) == len(places) == int(argv[argv.index("-smp") + 1].split(",")[0])
        assert all(len(place) == 1 for place in places)


@pytest.mark.skipif(len(COUNTS) < 2, reason="this machine has one CPU, where no speedup can be seen")
def test_a_threshold_is_decided_on_the_lane_kvm(tmp_path: Path) -> None:
    """Which word it is depends on what the real CPUs below have to do; INVALID it may never be."""
    rows(tmp_path, more=GATE)
    (tmp_path / "few.yaml").write_text(FEW)
    session = measured(tmp_path, "--smp=1,2", "--system=kernel", "--policy=few.yaml")
    print(session.output)
    (verdict,) = [one for one in session.verdicts if one["gate"] == "speedup"]
    assert verdict["lane"] == "kvm"
    assert verdict["outcome"] in ("PASS", "FAIL", "INCONCLUSIVE")
    assert session.code == {"PASS": 0, "FAIL": 1, "INCONCLUSIVE": 75}[verdict["outcome"]]


FEW = """\
name: few
looks: [5]
alpha: 0.0276
overall_error: 0.05
first: 5
max_runs: 5
warmups: 1
"""


def test_both_clocks_measure(tmp_path: Path) -> None:
    rows(tmp_path, '"primes", hi=1_000_000')
    session = on_kvm(tmp_path, "--clock=both", "--smp=1,2", "--runs=1", "--system=kernel")
    print(session.output)
    assert session.code == 0, session.output
    assert {row["lane"] for row in session.rows if row["outcome"] == "ok"} == {"kvm", "insn"}


def typed(where: Path, boot: str = "") -> Session:
    """A session with a kernel that has a prompt. `boot`: more keys of the system's `boot`."""
    kernel = f"{talker(where).name}{boot}"
    text = SYSTEM.format(name="printed", work=WINDOWS["printed"], kernel=kernel)
    (where / "printed.yaml").write_text(text)
    (where / "typed.yaml").write_text(WORKLOAD)
    (where / "oracle.py").write_text(ORACLE)
    (where / "test_typed.py").write_text(TYPED)
    session = measured(where, "test_typed.py", "--smp=1", "--runs=1")
    print(session.output)
    assert session.code == 0, session.output
    return session


def test_a_kernel_with_a_prompt(tmp_path: Path) -> None:
    said = next(typed(tmp_path).folder.glob("runs/*/conversation.json"))
    assert json.loads(said.read_text())["typed"][0]["text"] == "cpus\n"


def test_a_disk_and_a_firmware_of_ones_own(tmp_path: Path) -> None:
    """The guest does not write to the disk, and the image is as it was."""
    (bios,) = [path / "bios-256k.bin" for path in inputs.qemu().data if (path / "bios-256k.bin").is_file()]
    image = tmp_path / "disk.img"
    image.write_bytes(bytes(range(256)) * 8192)
    before = image.read_bytes()
    session = typed(tmp_path, f", firmware: {bios}, disks: [{{image: disk.img}}]")
    for argv, _ in runs_of(session):
        assert argv[argv.index("-bios") + 1] == str(bios)
        assert any("disk.img" in word for word in argv)
    assert image.read_bytes() == before


def test_more_vcpus_than_cpus_are_oversubscribed(tmp_path: Path) -> None:
    rows(tmp_path, '"primes", hi=3_000_000')
    more = len(os.sched_getaffinity(0)) + 1
    words = (f"--smp={more}", "--oversubscribe", "--runs=1", "--system=kernel")
    session = measured(tmp_path, *words)
    print(session.output)
    assert session.code == 0, session.output
    assert {row["placement"] for row in session.rows} == {"oversubscribed"}


def test_native_runs_beside_it(tmp_path: Path) -> None:
    rows(tmp_path)
    session = measured(tmp_path, "--smp=1,2", "--runs=1", "--system=native")
    assert session.code == 0, session.output
    assert {row["lane"] for row in session.rows if row["outcome"] == "ok"} == {"native"}


def test_a_profile_of_the_host_or_the_reason_why_there_is_none(tmp_path: Path) -> None:
    rows(tmp_path)
    session = measured(tmp_path, "--smp=1", "--runs=1", "--system=kernel", "--profile-host")
    print(session.output)
    assert session.code == 0, session.output
    files = list(session.folder.rglob("perf.data"))
    assert files or "perf" in (session.folder / "summary.md").read_text()


def test_a_session_is_intact_for_verify(tmp_path: Path) -> None:
    rows(tmp_path)
    session = measured(tmp_path, "--smp=1", "--runs=1", "--system=kernel")
    assert session.code == 0, session.output
    code, said = run_benchgate(tmp_path, "verify", session.folder)
    assert code == 0, said
