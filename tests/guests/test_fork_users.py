"""Who uses forks besides plain runs: each run is the one that starts from the snapshot by itself."""

from __future__ import annotations

import contextlib
import hashlib
import json
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from benchgate.base.runs import Ending
from benchgate.evidence.files import read_object
from benchgate.insn.arguments import Records
from benchgate.judge.run_files import THREAD_EVENTS
from benchgate.run import forked
from benchgate.run.argv import BootOptions
from benchgate.run.attempt import execute
from benchgate.run.forked import Fork
from benchgate.run.guest import CONVERSATION
from benchgate.run.templates import Templates
from benchgate.session import keepers
from tests.guests.test_forks import forks, nonce, require_equal, run
from tests.guests.test_warm_starts import Bench, made, prompt_files
from tests.line.sessions import run_pytest
from tests.line.test_prompt import TESTS
from tests.machines import wait_until

__all__ = ["forks"]


# ---- records


def recorded(bench: Bench, folder: Path, seed: int, fork: Fork | None) -> Records:
    """One run with every record that its machine has."""
    folder.mkdir()
    has_memory = bench.planned.system.memory_machine is not None
    observed = bench.bench.observed(bench.planned)
    records = keepers.records(
        folder, observed=observed, profile=True, events=True, stacks=True, lines=has_memory
    )
    boot = BootOptions(nonce(seed), seed=seed, boot=1, records=records)
    assert execute(bench.bench.request(bench.planned, boot, folder), fork=fork).ending is Ending.DONE
    assert (folder / forked.FILE).exists() == (fork is not None)
    own = forked.private_kib(folder)
    assert (own is None) == (fork is None)
    assert own is None or 100 < own < 512 << 10  # it has written something, and not all of its memory
    return records


def rows(profile: Path | None) -> list[str]:
    """A profile without the number of blocks that were translated, which a fork has from its template."""
    assert profile is not None
    lines = profile.read_text().splitlines()
    assert lines[-1].startswith("end ")
    return sorted(lines[:-1])


@pytest.mark.parametrize(
    ("word", "machine", "cpus"),
    [
        ("kernel", "ideal", 2),
        ("kernel", "desktop8", 4),
        ("linux", "ideal", 2),
        pytest.param("linux", "desktop8", 2, marks=pytest.mark.long),
        pytest.param("linux", "ideal", 4, marks=pytest.mark.long),
    ],
)
def test_each_record_of_a_fork_is_that_of_the_run_that_starts_by_itself(
    word: str, machine: str, cpus: int, tmp_path: Path, forks: Templates
) -> None:
    bench = made(machine, word)
    planned = bench.planned
    bench = replace(bench, planned=replace(planned, cell=replace(planned.cell, cpus=cpus)))
    for seed in (1, 2):
        alone = recorded(bench, tmp_path / f"alone{seed}", seed, None)
        forked = recorded(bench, tmp_path / f"forked{seed}", seed, forks.fork)
        require_equal(tmp_path / f"alone{seed}", tmp_path / f"forked{seed}")
        assert rows(alone.profile) == rows(forked.profile)
        for name in ("threads", "events", "stacks", "sharing"):
            one, other = getattr(alone, name), getattr(forked, name)
            assert (one is None) == (other is None) == (name == "sharing" and machine == "ideal")
            assert one is None or one.read_bytes() == other.read_bytes()
    first, second = (digest(tmp_path / f"forked{seed}") for seed in (1, 2))
    assert first != second  # each has its own


def digest(folder: Path) -> str:
    return hashlib.sha256((folder / THREAD_EVENTS).read_bytes()).hexdigest()


def test_a_record_of_threads_begins_with_the_halts_of_the_machine(tmp_path: Path) -> None:
    """How often QEMU stopped its vCPUs before, and after the end, depends on its host."""
    bench = made("ideal", "kernel")
    lines = Path(str(recorded(bench, tmp_path / "run", 1, None).threads)).read_text().splitlines()
    assert [line.split()[:2] for line in lines[3:5]] == [["halt", "0"], ["halt", "1"]]
    halted = [line.split()[1] for line in lines if line.startswith(("halt ", "resume "))]
    for cpu in ("0", "1"):
        of_cpu = [
            line.split()[0]
            for line in lines
            if line.split()[0] in ("halt", "resume") and line.split()[1] == cpu
        ]
        assert of_cpu == ["halt", "resume"] * (len(of_cpu) // 2) + ["halt"] * (len(of_cpu) % 2)
    assert set(halted) == {"0", "1"}


# ---- a worker of a fleet


def test_a_template_that_nobody_uses_is_ended_and_made_again(tmp_path: Path) -> None:
    with contextlib.closing(Templates(print, idle_s=0.01)) as idle:
        bench = made("ideal", "kernel")
        for seed in (1, 2):
            assert run(bench, tmp_path / f"run{seed}", seed, idle.fork).ending is Ending.DONE
            assert wait_until(lambda: not idle._known)
            assert wait_until(
                lambda: not [child for child in psutil.Process().children() if "qemu" in child.name()]
            )
    keys = {read_object(tmp_path / f"run{seed}", forked.FILE)["number"] for seed in (1, 2)}
    assert keys == {1}  # each was the first of its template


# ---- what is typed


@pytest.mark.parametrize("machine", ["ideal", pytest.param("desktop8", marks=pytest.mark.long)])
def test_a_kernel_at_its_prompt_forks_there(tmp_path: Path, machine: str) -> None:
    """One template for all five boots. What is typed, and when, is that of the warm session; of its runs the
    two whose memory is examined start by themselves."""
    prompt_files(tmp_path)
    (tmp_path / "test_typed.py").write_text(TESTS.replace(', "lined.yaml", "typing.yaml", "marked.yaml"', ""))
    sessions = {}
    for start in ("warm", "fork"):
        words = ("--clock=insn", "--smp=2", f"--start={start}", f"--machine={machine}")
        session = run_pytest(tmp_path, "test_typed.py", *words)
        assert session.code == 0, session.output
        sessions[start] = sorted((session.folder.resolve() / "runs").iterdir())
    keys = []
    for alone, forked_run in zip(sessions["warm"], sessions["fork"], strict=True):
        require_equal(alone, forked_run)
        both = [json.loads((one / CONVERSATION).read_text())["typed"] for one in (alone, forked_run)]
        told = [[(typed["text"], typed["at"]) for typed in each] for each in both]
        assert told[0] == told[1]
        assert [text for text, _ in told[0]] == ["cpus\n", "primes 2 20001\n", "halt\n"]
        if (forked_run / forked.FILE).exists():
            keys.append(json.loads((forked_run / forked.FILE).read_text())["template"])
    assert len(keys) == len(sessions["fork"]) - 2 == 4
    assert len(set(keys)) == 1
