"""Kernels from outside: their YAML files load, and one that is not given is named and not run."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.plan import systemfile
from tools import kernels


@pytest.mark.parametrize("name", [name for name in kernels.known() if name != kernels.LINUX])
def test_its_system_loads(name: str) -> None:
    system = systemfile.load(kernels.SUITE / name / "system.yaml")
    assert system.boot.kernel.startswith("source/")
    assert system.console.counts_cpus


def test_without_a_path_nothing_runs_and_each_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert kernels.main([]) == kernels.NOTHING_GIVEN
    assert capsys.readouterr().out.splitlines() == [
        f"kernels: {name} is skipped; give {name}=PATH" for name in kernels.known()
    ]


def test_a_wrong_name_and_a_wrong_path_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert kernels.main([f"xv7={tmp_path}"]) == 4
    assert "xv7: known: kvm_unit_tests, lk" in capsys.readouterr().err
    assert kernels.main([f"xv6={tmp_path}/absent"]) == 4
    assert "xv6: " in capsys.readouterr().err


def test_a_given_kernel_is_planned_with_its_source(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert kernels.main([f"xv6={tmp_path}", f"rt_linux={tmp_path}", "--plan"]) == 0
    printed = capfd.readouterr().out
    assert "gate   selftest-xv6-smp2: speedup of work over smp1, at least 1.8" in printed
    assert "primes.hi-300000-rt_linux-smp2" in printed
    assert "lk is skipped" in printed
