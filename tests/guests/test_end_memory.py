"""The repeated seed of a row ends with the same memory: whole sessions of a kernel with a prompt."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.files import PAGE
from benchgate.base.system.arch import X86_64
from benchgate.insn.symbols import names_at
from tests.forgerykit import chain_again, seal_again
from tests.kernelkit import talker
from tests.line.sessions import PATIENCE_S, Session, run_benchgate, run_pytest
from tests.line.test_prompt import ORACLE, SYSTEM, TESTS, WINDOWS, WORKLOAD

NEVER = "[-acpitable, 'sig=NEVR,data=/proc/sys/kernel/random/uuid']"
"""A table that the firmware puts into the guest's memory, and that is another one in each run."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("memory")
    kernel = talker(folder).name
    honest = SYSTEM.format(name="printed", work=WINDOWS["printed"], kernel=kernel)
    lies = honest.replace("name: printed", "name: lies").replace("qemu: {", f"qemu: {{arguments: {NEVER}, ")
    assert "acpitable" in lies
    (folder / "printed.yaml").write_text(honest)
    (folder / "lies.yaml").write_text(lies)
    (folder / "typed.yaml").write_text(WORKLOAD)
    (folder / "oracle.py").write_text(ORACLE)
    for name in ("printed", "lies"):
        test = TESTS.replace('"printed.yaml", "lined.yaml", "typing.yaml", "marked.yaml"', f'"{name}.yaml"')
        assert test != TESTS
        (folder / f"test_{name}.py").write_text(test)
    return folder


def measured(place: Path, name: str, *words: str) -> Session:
    session = run_pytest(place, f"test_{name}.py", "--clock=insn", "--smp=2", *words)
    return replace(session, folder=session.folder.resolve())


@pytest.fixture(scope="module")
def honest(place: Path) -> Session:
    session = measured(place, "printed", "--runs=1")
    assert session.code == 0, session.output
    return session


def test_both_runs_of_the_repeated_seed_keep_digests_of_their_memory(place: Path, honest: Session) -> None:
    first, second = sorted((honest.folder / "runs").iterdir())
    kept = (first / "memory.txt").read_text()
    assert kept == (second / "memory.txt").read_text()
    assert kept.count("\n") > 2
    assert "consoles, counts and memory are equal (" in (honest.folder / "summary.md").read_text()
    code, output = run_benchgate(place, "verify", honest.folder, "--workload", "typed.yaml")
    assert code == 0, output


def test_a_replay_ends_with_the_same_memory(place: Path, honest: Session) -> None:
    run = min((honest.folder / "runs").iterdir())
    code, output = run_benchgate(place, "replay", run, "--out", place / "again")
    assert code == 0, output
    assert "the same run: marks, counts, console and memory are equal" in output


@pytest.mark.parametrize("damage", ["a digest", "no file", "not asked for"])
def test_memory_that_was_changed_later_is_refused(
    place: Path, honest: Session, tmp_path: Path, damage: str
) -> None:
    session = tmp_path / honest.folder.name
    shutil.copytree(honest.folder, session)
    run = max((session / "runs").iterdir())
    kept = run / "memory.txt"
    if damage == "a digest":
        text = kept.read_text()
        last = text[-2]
        kept.write_text(text[:-2] + ("0" if last != "0" else "1") + "\n")
    elif damage == "no file":
        kept.unlink()
    else:
        kept.unlink()
        argv = run / "argv.json"
        argv.write_text(argv.read_text().replace("mem-path=/proc/self/fd/5", "mem-path=/dev/null"))
    chain_again(session)
    seal_again(session)
    code, output = run_benchgate(place, "verify", session, "--workload", "typed.yaml")
    assert code == 12, output


def test_a_guest_whose_memory_never_repeats_is_refused(place: Path) -> None:
    """Its output and its counts are equal."""
    session = measured(place, "lies", "--runs=1")
    assert session.code != 0
    said = " ".join(session.output.split())
    assert "the instruction clock does not repeat on this host" in said
    match = re.search(
        r"have the same seed 1 but differ in 1 page of memory at their end: (0x[0-9a-f]+)000[ ;]", said
    )
    assert match, said
    code, output = run_benchgate(place, "verify", session.folder, "--workload", "typed.yaml")
    assert code == 0, output
    run = min((session.folder / "runs").iterdir())
    code, output = run_benchgate(place, "replay", run, "--out", place / "lies-again", "--system", "lies.yaml")
    assert code != 0
    assert f"memory {match[1]}000: no symbol of the kernel" in output


def test_what_a_kernel_holds_in_a_page_is_named_by_its_own_addresses(place: Path) -> None:
    """This kernel runs where it lies; `nm` says where."""
    kernel = place / talker(place).name
    listed = subprocess.run(
        ["nm", kernel], capture_output=True, text=True, timeout=PATIENCE_S, check=True
    ).stdout
    at = {name: int(address, 16) for address, _, name in map(str.split, listed.splitlines())}
    for name in ("online", "primes_compute"):
        assert name in names_at(kernel, X86_64, at[name] // PAGE * PAGE, at[name] // PAGE * PAGE + PAGE)
        assert name not in names_at(kernel, X86_64, at[name] + PAGE, at[name] + 2 * PAGE)
