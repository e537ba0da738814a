"""`benchgate new-system` on kernels of our own: what it writes runs as it is, and a broken kernel is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate import cli
from benchgate.base.errors import FetchError
from benchgate.base.system.arch import RISCV64
from benchgate.base.system.boots import Smoke
from benchgate.base.system.results import TYPED, LineWindow
from benchgate.base.system.systems import AskMethod
from benchgate.build.fetch import inputs
from benchgate.features.new_system import listening
from benchgate.features.new_system.listening import Patience
from benchgate.plan import systemfile
from tests.kernelkit import talker


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return talker(tmp_path_factory.mktemp("talker"))


def new_system(kernel: Path, out: Path, *words: str) -> int:
    return cli.main(["new-system", str(kernel), "--name", "mine", "--out", str(out), *words])


def test_a_kernel_with_a_prompt(kernel: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "mine.yaml"
    assert new_system(kernel, out, "--send", "primes {workers} 20000") == 0
    said = capsys.readouterr()
    assert "it waits at its prompt `$ `" in said.err
    assert "to fill in" not in said.out
    assert "talker: boots" in said.out, "the console is shown"
    promised = said.out.partition("what a workload of it could promise")[2]
    assert "smp2, since its last input, the machine saw: " in promised
    system = systemfile.load(out)
    assert (system.ask, system.qemu.machine, system.qemu.arguments) == (AskMethod.PROMPT, "q35", ())
    assert system.console.online == "^talker: (?P<n>[0-9]+) CPUs? up$"
    assert system.result.expect is not None
    assert system.result.work == LineWindow(TYPED, "^primes: took [0-9]+ ns$")
    assert "# at 1, 2, 4 CPUs its prompt came back" in out.read_text()
    assert system.smoke == Smoke("", "^talker: [0-9]+ CPUs up$")
    explored = (
        "--system",
        str(out),
        "--smoke",
        "--smp",
        "2",
        "--seeds",
        "2",
        "--out",
        str(tmp_path / "found"),
    )
    assert cli.main(["explore", *explored]) == 0


def test_a_kernel_that_prints_backspaces_and_nothing_of_its_cpus(
    kernel: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The clock shows that its CPUs came up: that is filled in, and tried. A line with backspaces, which a
    terminal shows differently, is no pattern."""
    out = tmp_path / "mine.yaml"
    words = "countdown=shown online=unsaid"
    assert new_system(kernel, out, "--append", words, "--send", "primes {workers} 20000") == 0
    said = capsys.readouterr()
    assert "to fill in" not in said.out
    assert "booting with 2 CPUs on the instruction clock" in said.err
    assert "no result" not in said.err
    assert "speedup(cpus=2" in said.out
    system = systemfile.load(out)
    assert system.console.by_clock
    assert system.console.ready == "^talker: boots$"


def test_a_kernel_that_brings_up_one_cpu_gets_no_speedup(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It comes to its prompt and answers with 2 and 4 CPUs, too."""
    out = tmp_path / "mine.yaml"
    assert new_system(talker(tmp_path, cpus=1), out, "--send", "primes 1 20000") == 0
    said = capsys.readouterr()
    assert "that run is no result: work: right answers, but of 2 CPUs" in said.err
    assert "speedup" not in said.out
    assert "cell.require_verified()" in said.out
    assert "what a workload of it could promise" in said.out
    assert systemfile.load(out).cpus == (1, 1)
    why = "a run with 2 is no result: work: right answers, but of 2 CPUs"
    assert f"cpus: {{maximum: 1}}    # {why}" in out.read_text()


def test_a_guest_that_spins_in_its_firmware_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        inputs.qemu(guest=RISCV64)
        kernel = talker(tmp_path, RISCV64)
    except FetchError as error:
        pytest.skip(f"no QEMU or compiler for {RISCV64}: {error}")
    (tmp_path / "loop.bin").write_bytes(bytes.fromhex("6f000000"))  # j .
    words = ("--firmware", str(tmp_path / "loop.bin"), "--machine", "virt")
    assert new_system(kernel, tmp_path / "mine.yaml", *words) == 4
    said = capsys.readouterr().err
    assert "its CPU stays in the firmware loop.bin: that may not know this CPU model" in said


def test_a_kernel_that_spins_is_told_where(
    kernel: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listening, "_AFTER_OUTPUT", Patience(1.0, 1.0))  # each of its boots spins for so long
    assert new_system(kernel, tmp_path / "mine.yaml", "--append", "lie=spins", "--machine", "q35") == 0
    said = capsys.readouterr().err
    assert "it prints nothing more, and its CPU spins: wait_for_disk (0x" in said


def test_a_kernel_that_repeats_itself_came_up_on_no_machine(
    kernel: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "mine.yaml"
    assert new_system(kernel, out, "--append", "lie=dots", "--machine", "q35") == 4
    assert "it printed nothing but the byte `.` any more" in capsys.readouterr().err
    assert not out.exists()


def test_a_panic_of_a_command_is_no_answer(
    kernel: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "mine.yaml"
    assert new_system(kernel, out, "--append", "lie=dies", "--send", "primes {workers} 20000") == 0
    said, written = capsys.readouterr(), out.read_text()
    panicked = "it printed a line that looks like a panic: panic: code 17 at 4711"
    assert f"`primes 4 20000`: {panicked}" in said.err
    assert f"# at 1, 2, 4 CPUs {panicked}" in written
    assert "nothing was taken from a line whose prompt did not come back" in said.out
    assert systemfile.load(out).result.expect == {"answer": "0"}, "it is to be filled in"


def test_a_command_that_panics_with_more_cpus_is_for_one(
    kernel: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "mine.yaml"
    assert new_system(kernel, out, "--append", "lie=dies-many", "--send", "primes {workers} 20000") == 0
    assert "cell.require_verified()" in capsys.readouterr().out, "no speedup is proposed"
    assert "# at 1 CPU its prompt came back; at 2, 4 CPUs it printed a line that looks" in out.read_text()
    system = systemfile.load(out)
    assert system.cpus == (1, 1)
    assert system.result.expect is not None
    assert (system.result.expect["hi"], "17" in system.result.expect.values()) == ("20000", False)


def test_a_command_whose_prompt_never_comes_back_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its CPUs are halted, and there is a kernel for one CPU only: one that computes costs the whole of the
    time at each CPU count."""
    talker(tmp_path, cpus=1)
    out, template = tmp_path / "mine.yaml", tmp_path / "talker-{n}.elf"
    words = ("--append", "lie=stuck", "--send", "primes {workers} 20000", "--seconds", "12")
    assert new_system(template, out, *words) == 0
    silent = "it printed nothing more, and its prompt did not come back"
    assert f"`primes 1 20000`: {silent}" in capsys.readouterr().err
    assert f"# at 1 CPU {silent}" in out.read_text()


def test_a_number_that_was_printed_before_the_work_is_no_answer(
    kernel: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "mine.yaml"
    assert new_system(kernel, out, "--append", "lie=recites", "--send", "primes {workers} 4000000") == 0
    assert "what shows that its work was done" in capsys.readouterr().out
    assert systemfile.load(out).result.expect == {"answer": "0"}, "it is to be filled in"
    assert "#   primes: 42 tables are ready" in out.read_text()


def test_a_kernel_that_is_built_for_each_cpu_count(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for cpus in (1, 2):
        talker(tmp_path, cpus=cpus)
    out, template = tmp_path / "mine.yaml", tmp_path / "talker-{n}.elf"
    assert new_system(template, out, "--send", "primes {workers} 20000") == 0
    assert (
        f"there is no {tmp_path / 'talker-4.elf'}, so it is not booted with 4 CPUs" in capsys.readouterr().err
    )
    assert "kernel: 'talker-{n}.elf'    # relative to this file, one for each CPU count" in out.read_text()
    system = systemfile.load(out)
    assert (system.has_guest_per_count, system.cpus) == (True, (1, 2))
    assert system.console.online == "^talker: (?P<n>[0-9]+) CPUs? up$", "the kernel of each count was booted"


def test_a_template_without_a_kernel_for_one_cpu_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert new_system(tmp_path / "talker-{n}.elf", tmp_path / "mine.yaml") == 4
    assert f"{tmp_path / 'talker-1.elf'}" in capsys.readouterr().err
