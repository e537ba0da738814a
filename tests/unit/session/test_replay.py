"""`benchgate replay` refuses a run that it cannot repeat, and names the option that helps."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchgate.base.cells import Lane
from benchgate.base.errors import BootError, EvidenceError, NeedsFilesError, UsageError
from benchgate.base.runs import RawRun
from benchgate.judge import arms
from benchgate.run.record import clock_log, load, save
from benchgate.session import replay as module
from benchgate.session.rejudging.trust import TrustedPrograms
from benchgate.session.replay import ReplayRequest, replay
from tests.unit.factories import cell, raw_run
from tests.unit.judge.test_arms import LOG


def recorded_run(session: Path, system: str, lane: Lane = Lane.INSN) -> Path:
    """The folder of one run in a session's folder."""
    of = cell(2, system=system)
    folder = session / "runs" / f"0001-{of.id}"
    folder.mkdir(parents=True)
    clock_log(folder).write_text(LOG.format(mark=10, time=99))
    save(replace(raw_run(of, lane=lane, folder=folder), clock_log=clock_log(folder)))
    (session / "session.json").write_text(json.dumps({"workloads": {"primes": "primes"}}))
    return folder


def order(folder: Path, system: str | None = None) -> ReplayRequest:
    return ReplayRequest(folder, folder.parent / "out", system, TrustedPrograms(), profile=False, gdb=False)


def test_a_run_of_a_users_own_system_needs_the_option_system(tmp_path: Path) -> None:
    folder = recorded_run(tmp_path, "mine")
    with pytest.raises(
        NeedsFilesError, match=r"system mine is not built in; next: benchgate replay .*-smp2 --system PATH"
    ):
        replay(order(folder), print)
    assert not (folder.parent / "out").exists()


def test_lines_move_only_on_a_machine_with_memory(tmp_path: Path) -> None:
    folder = recorded_run(tmp_path, "linux")
    with pytest.raises(UsageError, match="a machine without memory, where no line of it moves; measure with"):
        replay(replace(order(folder), lines=True), print)


def test_another_system_than_that_of_the_run_is_refused(tmp_path: Path) -> None:
    folder = recorded_run(tmp_path, "mine")
    with pytest.raises(UsageError, match="--system linux is linux, but the run was made on mine"):
        replay(order(folder, "linux"), print)


def test_a_file_of_the_sessions_user_is_used_only_if_the_caller_names_it(tmp_path: Path) -> None:
    """A session folder is untrusted: it may name any file of this host."""
    folder = recorded_run(tmp_path, "linux.kernel-bzImage")
    facts = {"workloads": {"primes": "primes"}}
    recorded = {"arch": "x86_64", "kernel": "/home/her/bzImage"}
    path = tmp_path / "session.json"
    path.write_text(json.dumps(facts | {"settings": {"linux.kernel-bzImage": recorded}}))
    said = r"used a file of its user, '/home/her/bzImage'; next, .* --system linux:kernel=PATH$"
    with pytest.raises(NeedsFilesError, match=said):
        replay(order(folder), print)
    path.write_text(json.dumps(facts | {"settings": {"linux.kernel-bzImage": {"kernel": 3}}}))
    with pytest.raises(EvidenceError, match=r"the settings of linux\.kernel-bzImage cannot be read"):
        replay(order(folder), print)


def test_a_run_in_wall_time_is_refused(tmp_path: Path) -> None:
    folder = recorded_run(tmp_path, "linux", Lane.TCG)
    with pytest.raises(UsageError, match="only runs on lane insn can be repeated; this one is on lane tcg"):
        replay(order(folder), print)


@pytest.mark.parametrize("failure", [BootError("QEMU cannot be executed"), KeyboardInterrupt()])
def test_a_replay_that_fails_leaves_no_folder_that_blocks_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: BaseException
) -> None:
    """The first replay fails after its first file; the second one gets as far, and differs from the run."""
    asked = order(recorded_run(tmp_path, "linux"))
    raw = load(asked.folder)

    def fails(_: object) -> RawRun:
        (asked.out / "serial.log").touch()
        raise failure

    new = SimpleNamespace(order=asked, raw=raw, execute=fails, symbols=list)
    monkeypatch.setattr(module, "_prepare", lambda *_: new)
    with pytest.raises(type(failure)):
        replay(asked, print)
    assert not asked.out.exists()
    new.execute = lambda _: raw
    monkeypatch.setattr(arms, "difference", lambda *_: "one mark differs")
    assert replay(asked, print) == (f"{asked.out}: one mark differs", False)
    assert asked.out.is_dir()
    with pytest.raises(UsageError, match="File exists; name a folder that does not exist"):
        replay(asked, print)
    assert asked.out.is_dir()
