"""Kernels that are built for each CPU count, and print no line about their CPUs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.kernelkit import talker
from tests.line.sessions import Session, run_benchgate, run_pytest
from tests.promptkit import CAPTURE, primes_to

HI = 200_000
YAML = """\
version: 1
name: fixed
kind: qemu
boot: {kernel: "talker-{n}.elf", append: WORDS}
qemu: {machine: "q35,sata=off,smbus=off"}
ask: prompt
prompt: '\\$ '
steps:
  - {send: 'primes {workers} HI', capture: 'CAPTURE'}
console: {online: clock}
result:
  format: patterns
  work: {from: typed, to: '^primes: took [0-9]+ ns$'}
  expect: {count: COUNT, sum: SUM}
smoke: {append: online=unsaid, pass: '^talker: built for'}
end: {by: kill}
"""
ROW = """\
import pytest


@pytest.mark.system("fixed.yaml")
@pytest.mark.workload("selftest")
@pytest.mark.speedup(cpus=2, at_least=1.6)
def test_scales(verdict):
    verdict.require_pass()
"""


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    folder = tmp_path_factory.mktemp("talkers")
    return tuple(talker(folder, cpus=cpus) for cpus in (1, 2))


def prepare(where: Path, kernels: tuple[Path, ...], words: str) -> None:
    for kernel in kernels:
        (where / kernel.name).write_bytes(kernel.read_bytes())
    count, total = primes_to(HI)
    text = YAML.replace("CAPTURE", CAPTURE).replace("WORDS", words)
    for name, value in {"HI": HI, "COUNT": count, "SUM": total}.items():
        text = text.replace(name, str(value))
    (where / "fixed.yaml").write_text(text)
    (where / "test_row.py").write_text(ROW)


def measured(where: Path, *words: str) -> Session:
    return run_pytest(where, "test_row.py", "--clock=insn", *words)


def test_each_count_has_its_own_kernel(tmp_path: Path, kernels: tuple[Path, ...]) -> None:
    prepare(tmp_path, kernels, "online=unsaid")
    session = measured(tmp_path, "--smp=1,2")
    assert session.code == 0, session.output
    guests = {row["cpus"]: row["guest_digest"] for row in session.rows}
    assert len(set(guests.values())) == len(guests) == 2
    facts = json.loads((session.folder / "session.json").read_text())
    assert {"selftest-fixed-smp1", "selftest-fixed-smp2"} < set(facts["inputs"])
    assert any(
        "its kernels differ: each of smp1, smp2 boots files of its own" in fact for fact in facts["notes"]
    )
    code, output = run_benchgate(tmp_path, "verify", session.folder)
    assert code == 0, output
    run = next(path for path in sorted((session.folder / "runs").iterdir()) if path.name.endswith("-smp2"))
    code, output = run_benchgate(tmp_path, "replay", run, "--system", "fixed.yaml")
    assert code == 0, output
    code, output = run_benchgate(
        tmp_path, "explore", "--system", "fixed.yaml", "--smoke", "--smp=2", "--seeds=2"
    )
    assert code == 0, output


def test_a_cpu_that_does_no_work_is_named(tmp_path: Path, kernels: tuple[Path, ...]) -> None:
    """No line says how many came up: the clock does."""
    prepare(tmp_path, kernels, '"online=unsaid lie=one-cpu"')
    session = measured(tmp_path, "--smp=1,2", "--quick")
    assert session.code == 1, session.output
    assert "vCPU 1 executed only" in session.output


def test_a_count_without_a_kernel_is_named_before_anything_boots(
    tmp_path: Path, kernels: tuple[Path, ...]
) -> None:
    prepare(tmp_path, kernels[:1], "online=unsaid")
    for words in (("--plan",), ()):
        session = measured(tmp_path, "--smp=1,2", *words)
        assert session.code != 0
        assert f"boot.kernel: {tmp_path / 'talker-2.elf'}, for 2 CPUs" in session.output.replace("\n", "")


def test_on_wall_time_the_clock_shows_nothing(tmp_path: Path, kernels: tuple[Path, ...]) -> None:
    prepare(tmp_path, kernels, "online=unsaid")
    session = run_pytest(tmp_path, "test_row.py", "--accel=tcg", "--clock=wall", "--smp=1,2", "--plan")
    assert "is read from the instruction clock (`console.online: clock`): use --clock insn" in session.output
