"""Invalid words are refused before anything is booted."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate import cli
from benchgate.session.first_contact import Written, advice, command
from benchgate.session.first_contact.listening import Boot, Stop


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
    written = Written("version: 1\n", "selftest", scales)
    monkeypatch.setattr(command, "new_system", lambda *_: written)
    assert cli.main(["new-system", "mine.elf"]) == 0
    said = capsys.readouterr().out
    assert shown in said
    compile(said[said.index("import pytest") :], "shown", "exec")


def test_a_kernel_that_prints_nothing_is_told_how_to_print() -> None:
    """It prints to a screen that nobody sees; Xen does that, unless its command line names the port."""
    assert "send its console to the serial port" in advice(Boot(1, Stop.QUIET, "\n"))
    assert "serial" not in advice(Boot(1, Stop.SUSPECT, "panic: no disk\n"))
