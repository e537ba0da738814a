"""contrib.nested_kvm.machine: its command line, and how it judges what came out. Nothing is booted."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from benchgate.base.system.qemu import Qemu
from contrib.nested_kvm import machine as nested_kvm
from contrib.nested_kvm import root as nested_root
from contrib.nested_kvm.machine import CheckOutcome, NestedMachine
from contrib.nested_kvm.root import NestedDisk

QEMU = Qemu(Path("/q"), {}, (), (10, 0, 2), "d")
DISK = NestedDisk(Path("/d/disk.ext4"), Path("/d/vmlinuz"), Path("/d/initrd"), Path("/d/qemu"))
NAMES = [
    "inside/test_a.py::test_good",
    "inside/test_a.py::test_bad[1]",
    "inside/test_a.py::test_left_out",
    "inside/test_b.py::test_broken_at_its_end",
    "inside/test_b.py::test_lost",
]
REPORT = """<testsuites><testsuite>
<testcase classname="inside.test_a" name="test_good"/>
<testcase classname="inside.test_a" name="test_bad[1]"><failure message="1 == 2&#10;more"/></testcase>
<testcase classname="inside.test_a" name="test_left_out"><skipped message="no counters"/></testcase>
<testcase classname="inside.test_b" name="test_broken_at_its_end"/>
<testcase classname="inside.test_b" name="test_broken_at_its_end"><error message="gone"/></testcase>
</testsuite></testsuites>"""


def test_each_collected_check_has_an_outcome_and_one_that_did_not_run_is_absent() -> None:
    outcomes = nested_kvm.outcomes(NAMES, REPORT)
    assert [(outcome.word, outcome.why) for outcome in outcomes] == [
        ("passed", ""),
        ("failed", "1 == 2"),
        ("skipped", "no counters"),
        ("failed", "gone"),
        ("absent", "it did not run"),
    ]
    assert [outcome.is_good for outcome in outcomes] == [True, False, True, False, False]


def booted(monkeypatch: pytest.MonkeyPatch, *reports: str) -> list[list[str]]:
    """Each machine leaves one of these reports, or none if it is empty. Gives the words of each."""
    seen: list[list[str]] = []

    def boot(_machine: object, _made: object, words: list[str], results: Path) -> int:
        results.mkdir(parents=True)
        if text := reports[len(seen)] if len(seen) < len(reports) else "":
            (results / "junit.xml").write_text(text)
        seen.append(words)
        return 0

    monkeypatch.setattr(nested_kvm, "boot", boot)
    return seen


def checked(folder: Path, names: list[str]) -> list[CheckOutcome]:
    return nested_kvm.checked(NestedMachine(), DISK, names, folder)


def test_machines_from_which_nothing_came_are_red(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    machines = booted(monkeypatch)
    assert nested_kvm.judged(checked(tmp_path, NAMES), tmp_path) == 1
    assert len(machines) == 3
    assert "5 checks, 5 of them failed or did not run; 0 sessions" in capsys.readouterr().out


def test_the_next_machine_runs_what_did_not_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    good = REPORT.replace('<failure message="1 == 2&#10;more"/>', "").replace('<error message="gone"/>', "")
    machines = booted(monkeypatch, "", REPORT, good)
    outcomes = checked(tmp_path, NAMES[:4])
    assert [outcome.word for outcome in outcomes] == ["passed", "passed", "skipped", "passed"]
    assert [words[:-2] for words in machines] == [NAMES[:4], NAMES[:4], [NAMES[1], NAMES[3]]]
    assert "machine 2 of at most 3: failed: inside/test_a.py::test_bad[1]: 1 == 2" in capsys.readouterr().out


def test_a_machine_that_dies_loses_only_its_own_checks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nested_kvm, "CHECKS_OF_A_MACHINE", 1)
    machines = booted(monkeypatch, "", REPORT, REPORT)
    outcomes = checked(tmp_path, [NAMES[0], NAMES[2]])
    assert [outcome.word for outcome in outcomes] == ["passed", "skipped"]
    assert [words[0] for words in machines] == [NAMES[0], NAMES[2], NAMES[0]]
    assert len(list(tmp_path.iterdir())) == 3


def test_what_fails_in_every_machine_is_red(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machines = booted(monkeypatch, REPORT, REPORT, REPORT)
    outcomes = checked(tmp_path, NAMES[:2])
    assert [outcome.is_good for outcome in outcomes] == [True, False]
    assert len(machines) == 3
    assert nested_kvm.judged(outcomes, tmp_path) == 1


@pytest.mark.parametrize(("status", "is_good"), [(0, True), (11, True), (14, True), (10, False), (12, False)])
def test_a_session_that_contradicts_itself_is_red(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    status: int,
    is_good: bool,
) -> None:
    folder = tmp_path / "1/checks/test_good0/reports/runs/one"
    folder.mkdir(parents=True)
    (folder / "manifest.sha256").write_text("")
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\necho 'benchmark.json does not follow'\nexit {status}\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    good = [CheckOutcome(NAMES[0], "passed")]
    assert nested_kvm.judged(good, tmp_path) == int(not is_good)
    said = capsys.readouterr().out
    assert f"1 sessions brought out, {int(not is_good)} of them not intact" in said
    assert (f"exit {status}: benchmark.json does not follow" in said) is not is_good


def test_the_machine_has_the_processor_and_topology_that_were_asked_for() -> None:
    (machine,), folder, rest = nested_kvm.arguments(
        ["--cpus", "8", "--topology", "sockets=2,cores=2,threads=2", "-k", "kernel"]
    )
    words = nested_kvm.argv(QEMU, machine, DISK, Path("/c,o.tar"), Path("/out"))
    assert words[words.index("-smp") + 1] == "8,sockets=2,cores=2,threads=2"
    assert "+svm" in words[words.index("-cpu") + 1]
    assert words[words.index("-append") + 1].endswith(" kvm")
    assert "file=/d/disk.ext4,snapshot=on,cache=unsafe,format=raw,if=virtio" in words
    assert "file=/c,,o.tar,readonly=on,format=raw,if=virtio" in words
    assert words[words.index("-accel") + 1] == "tcg,thread=multi"
    assert "-icount" not in words
    assert rest == ["-k", "kernel"]
    assert folder.is_absolute()


def test_a_steady_machine_counts_instructions() -> None:
    (machine,), _, _ = nested_kvm.arguments(["--steady"])
    words = nested_kvm.argv(QEMU, machine, DISK, Path("/c.tar"), Path("/out"))
    assert words[words.index("-icount") + 1] == "shift=1"
    assert words[words.index("-accel") + 1] == "tcg,thread=single"
    shapes, _, _ = nested_kvm.arguments(["--shapes", "--steady"])
    assert {shape.accel for shape in shapes} == {nested_kvm.STEADY}


def test_nodes_share_memory_and_cpus() -> None:
    words = nested_kvm._numa(NestedMachine(cpus=4, nodes=2, memory="4G"))
    assert words[1] == "memory-backend-ram,id=ram0,size=2048M"
    assert words[-1] == "node,nodeid=1,memdev=ram1,cpus=2-3"
    assert nested_kvm._numa(NestedMachine()) == []


def test_the_disk_depends_on_what_is_compiled_and_not_on_the_checks() -> None:
    names = nested_root.checkout_names()
    of_all = nested_root.digest_of(names)
    assert nested_root.digest_of([name for name in names if not name.startswith("tests/")]) == of_all
    assert nested_root.digest_of([name for name in names if not name.startswith("kernel/")]) != of_all
    assert nested_root.digest_of([name for name in names if name != "requirements.lock"]) != of_all


def test_a_machine_without_the_tools_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert nested_kvm.main([]) == nested_kvm.NOTHING_DONE
    assert "only root" in capsys.readouterr().err


def test_the_shapes_have_a_check_of_their_own() -> None:
    machines, _, rest = nested_kvm.arguments(["--shapes"])
    assert len({(machine.smp, machine.cpu) for machine in machines}) == 8
    assert all("kvm" not in machine.append.split() for machine in machines)
    assert nested_kvm.checks_of(machines, rest) == [nested_kvm.SHAPE_CHECKS]
    assert nested_kvm.checks_of(machines[:1], []) == [
        "contrib/nested_kvm/inside",
        f"--ignore={nested_kvm.SHAPE_CHECKS}",
    ]
    assert nested_kvm.checks_of(machines[:1], ["contrib/nested_kvm/inside/test_host.py"]) == [
        "contrib/nested_kvm/inside/test_host.py"
    ]
