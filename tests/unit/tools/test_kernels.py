"""Kernels from outside: their YAML files load, and one that is not given is named and not run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from benchgate.plan import systemfile
from tests.unit.build.test_kernel_file import bz_image
from tools import kernels


@pytest.mark.parametrize("name", [name for name in kernels.known() if name != kernels.LINUX])
def test_its_system_loads(name: str) -> None:
    system = systemfile.load(kernels.SUITE / name / "system.yaml")
    assert system.boot.kernel.startswith("source/")
    assert system.console.counts_cpus


def test_without_a_path_nothing_runs_and_each_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert kernels.main([]) == kernels.NOTHING_GATED
    assert capsys.readouterr().out.splitlines() == [
        f"kernels: {name} is skipped; give {name}=PATH" for name in kernels.known()
    ]


def test_a_wrong_name_and_a_wrong_path_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert kernels.main([f"xv7={tmp_path}"]) == 4
    assert "xv7: known: kvm_unit_tests, lk, rt_linux, solo5" in capsys.readouterr().err
    assert kernels.main([f"xv6={tmp_path}/absent"]) == 4
    assert "xv6: " in capsys.readouterr().err


def test_a_given_kernel_is_planned_with_its_source(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    image = tmp_path / "vmlinuz"
    image.write_bytes(bz_image(0x20F, 8_000_000))
    assert kernels.main([f"xv6={tmp_path}", f"rt_linux={image}", "--plan"]) == 0
    printed = capfd.readouterr().out
    assert "gate   selftest-xv6-smp2: speedup of work over smp1, at least 1.8" in printed
    assert "primes.hi-300000-rt_linux-smp2" in printed
    assert "lk is skipped" in printed


KERNEL = "tests/test_hello/test_hello.virtio"


@pytest.fixture
def solo5(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A suite whose solo5 has a build command of the test's own, and a source tree that is not built."""
    shutil.copytree(kernels.SUITE, tmp_path / "suite")
    monkeypatch.setattr(kernels, "SUITE", tmp_path / "suite")
    monkeypatch.setattr(kernels, "_pytest", lambda folder, _: calls(folder))
    source = tmp_path / "source"
    (source / KERNEL).parent.mkdir(parents=True)
    (source / "kernel.c").write_text("as it is")
    return source


def calls(folder: Path) -> int:
    """Replaces pytest: says what the gate would boot."""
    print(f"boots {(folder / 'solo5' / 'source' / KERNEL).read_text()}")
    return 0


def test_a_source_tree_is_built_in_a_copy(solo5: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (kernels.SUITE / "solo5" / kernels.BUILD).write_text(f"cat kernel.c > {KERNEL}; echo more >> kernel.c\n")
    assert kernels.main([f"solo5={solo5}"]) == 0
    assert "boots as it is" in capsys.readouterr().out
    assert not (solo5 / KERNEL).exists()
    assert (solo5 / "kernel.c").read_text() == "as it is"


def test_a_kernel_that_is_built_already_is_taken(solo5: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (kernels.SUITE / "solo5" / kernels.BUILD).write_text("exit 3\n")
    (solo5 / KERNEL).write_text("the user's own")
    assert kernels.main([f"solo5={solo5}"]) == 0
    assert "boots the user's own" in capsys.readouterr().out


@pytest.mark.parametrize("script", ["echo no compiler; exit 3", "echo no compiler"])
def test_a_build_that_fails_or_makes_no_kernel_is_named(
    solo5: Path, script: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (kernels.SUITE / "solo5" / kernels.BUILD).write_text(f"{script}\n")
    assert kernels.main([f"solo5={solo5}"]) == 1
    printed = capsys.readouterr()
    assert "solo5/build.sh failed with" in printed.err
    assert printed.err.endswith("it printed last:\nno compiler\n")
    assert "boots" not in printed.out


def test_a_kernel_without_a_build_command_is_skipped_with_the_reason(
    solo5: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (kernels.SUITE / "solo5" / kernels.BUILD).unlink()
    assert kernels.main([f"solo5={solo5}"]) == kernels.NOTHING_GATED
    assert f"solo5 is skipped: it is not built in {solo5}; build it" in capsys.readouterr().out
