"""`benchgate new-system` on kernels of our own: what it writes runs as it is, and a broken kernel is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate import cli
from benchgate.base.systems import Ask
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
    system = systemfile.load(out)
    assert (system.ask, system.qemu.machine, system.qemu.arguments) == (Ask.PROMPT, "q35", ())
    assert system.console.online == "^talker: (?P<n>[0-9]+) CPUs? up$"
    assert system.result.expect is not None
    assert "primes: took" in system.result.work.regex  # type: ignore[union-attr]


def test_a_kernel_that_repeats_itself_came_up_on_no_machine(
    kernel: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "mine.yaml"
    assert new_system(kernel, out, "--append", "lie=dots", "--machine", "q35") == 4
    assert "it printed nothing but the byte `.` any more" in capsys.readouterr().err
    assert not out.exists()
