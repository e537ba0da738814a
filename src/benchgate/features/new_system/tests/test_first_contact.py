"""What is said of a kernel that comes up with some CPU counts only."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from benchgate import cli
from benchgate.base.errors import BenchgateError
from benchgate.base.system.systems import System
from benchgate.build.kernel_file import look
from benchgate.features.new_system import first_contact
from benchgate.features.new_system.candidates import GuestWords, candidates
from benchgate.features.new_system.first_contact import (
    FirstContactRequest,
    FirstContactResult,
    _tried_out,
    _with_more,
    advice,
)
from benchgate.features.new_system.guesses import guesses
from benchgate.features.new_system.listening import BootObservation, ListeningEnd
from benchgate.features.new_system.proposal import Proposal
from tests.unit.build.test_kernel_file import I386, MULTIBOOT, elf, with_bytes

WAITING = BootObservation(1, ListeningEnd.QUIET, "start hart 1\n")


@dataclass
class Booting:
    """Kernels that come to a prompt from `least` CPUs on."""

    least: int
    said: list[str] = field(default_factory=list)

    def boot(self, _: System, cpus: int, *, patient: bool = False) -> BootObservation:  # noqa: ARG002
        up = BootObservation(cpus, ListeningEnd.PROMPT, f"{cpus} CPUs up\n$ ", prompt="$ ")
        return up if cpus >= self.least else WAITING

    def say(self, text: str) -> None:
        self.said.append(text)


@pytest.mark.parametrize(("least", "said"), [(1, ""), (2, "with 2 CPUs"), (4, "with 4 CPUs"), (5, "")])
def test_a_kernel_that_comes_further_with_more_cpus(tmp_path: Path, least: int, said: str) -> None:
    path = tmp_path / "mine.elf"
    path.write_bytes(elf(I386, 32, body=MULTIBOOT))
    system = candidates(look(path), "x86_64", GuestWords("mine", tmp_path / "mine.yaml"))[0]
    booting: Any = Booting(least)
    _with_more(booting, system, booting.boot(system, 1), ("{n}",))
    assert [text.partition(" it came further than with 1")[0] for text in booting.said] == (
        [said] if said else []
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--name", "My Kernel"], "lower-case letters"),
        (["--arch", "mips"], "choose one of x86_64, riscv64, aarch64"),
        (["--seconds", "0"], "between 1 and 3600"),
        (["--send", "a\nb"], "control character"),
        (["--disk", "absent.img"], "absent.img: does not exist"),
        (["--firmware", "absent.fd"], "absent.fd: does not exist"),
        (["--out", "there.yaml"], "there.yaml already exists"),
        ([], "is a 32-bit ELF file for mips: benchgate measures"),
    ],
)
def test_they_are_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    message: str,
) -> None:
    from tests.unit.build.test_kernel_file import MIPS, elf

    monkeypatch.chdir(tmp_path)
    Path("mine.elf").write_bytes(elf(MIPS, 32))
    Path("there.yaml").touch()
    assert cli.main(["new-system", "mine.elf", *words]) == 4
    assert message in capsys.readouterr().err
    assert Path("there.yaml").read_bytes() == b""


def test_raw_code_for_x86_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("fs.img").write_bytes(b"files")
    assert cli.main(["new-system", "fs.img", "--arch", "x86_64"]) == 4
    assert "give the ELF file, or the disk image" in capsys.readouterr().err
    assert cli.main(["new-system", "fs.img"]) == 4
    assert "add --arch (x86_64, riscv64, aarch64)" in capsys.readouterr().err


@pytest.mark.parametrize(("scales", "shown"), [(True, "speedup(cpus=2"), (False, "def test_it_works(cell)")])
def test_the_test_that_is_shown_fits_the_kernel(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    scales: bool,
    shown: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    written = FirstContactResult("version: 1\n", "selftest", scales)
    monkeypatch.setattr(first_contact, "new_system", lambda *_: written)
    assert cli.main(["new-system", "mine.elf"]) == 0
    said = capsys.readouterr().out
    assert shown in said
    compile(said[said.index("import pytest") :], "shown", "exec")


@pytest.mark.parametrize(
    ("refused_with", "scales"),
    [({1, 2}, False), ({2}, False), (set(), True), (None, True)],
    ids=["both", "two", "none", "no clock here"],
)
def test_after_a_run_that_is_no_result_no_speedup_is_proposed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused_with: set[int] | None, scales: bool
) -> None:
    def counted(_: object, __: System, cpus: int, ___: object) -> tuple[str, str]:
        if refused_with is None:
            raise BenchgateError("no instruction clock here")
        return ("the window never ended", "") if cpus in refused_with else ("", "counted")

    path = tmp_path / "mine.elf"
    path.write_bytes(elf(I386, 32, body=MULTIBOOT))
    order = FirstContactRequest(path, GuestWords("mine", tmp_path / "mine.yaml"), "", (), 60.0, None)
    system = candidates(look(path), "x86_64", order.given)[0]
    boots = {
        cpus: BootObservation(cpus, ListeningEnd.EXITED, f"{cpus} CPUs up\nbegin\nsum=4711\nend\n", status=0)
        for cpus in (1, 2, 4)
    }
    monkeypatch.setattr(first_contact, "counted_run", counted)
    result = _tried_out(order, Proposal(system, "a kernel", guesses(boots)), print)
    assert result.scales == scales


def test_init_advises_it_for_a_kernel_that_boots_of_a_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k.img").write_bytes(with_bytes(510, b"\x55\xaa"))
    assert cli.main(["init", "--kernel", "k.img"]) == 4
    assert "; next: benchgate new-system k.img --out k.yaml" in capsys.readouterr().err


def test_a_kernel_that_prints_nothing_is_told_how_to_print() -> None:
    """On a screen nobody sees it; Xen does that, unless its command line names the port."""
    assert "send its console to the serial port" in advice(BootObservation(1, ListeningEnd.QUIET, "\n"))
    assert "serial" not in advice(BootObservation(1, ListeningEnd.SUSPECT, "panic: no disk\n"))
