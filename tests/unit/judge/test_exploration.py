"""An explored run is never a sample: each of its files alone refuses it. Who asked for it gets its result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base import exploring
from benchgate.base.cells import Lane, Placement
from benchgate.base.errors import VerifyError
from benchgate.base.exploring import Strategy, usual
from benchgate.base.runs import Ending, Outcome, RawRun
from benchgate.judge import verify
from benchgate.judge.exploration import check_exploration
from benchgate.judge.judged_run import judge_run
from benchgate.judge.run_files import RunFiles
from benchgate.plan import catalog
from tests.unit.factories import cell, raw_run, verified
from tests.unit.judge.test_agreement import CLOCK, LOG
from tests.wirekit import PRIMES, guest_argv, write_affinity, write_argv

SYNC = usual(Strategy.SYNC, 3)
LINUX = catalog.load_system("linux")
Change = Callable[[RawRun], RawRun]


@pytest.fixture
def plain(tmp_path: Path) -> RawRun:
    """A run on the instruction clock as it is recorded."""
    log = tmp_path / "clock.log"
    log.write_text(LOG)
    write_argv(tmp_path, [*guest_argv(2, nonce=f"{1:016x}", cell=cell(2)), *CLOCK])
    write_affinity(tmp_path, [[0, 1], [0, 1]])
    made = raw_run(cell(2), lane=Lane.INSN, placement=Placement.VIRTUAL, ending=Ending.DONE, folder=tmp_path)
    return replace(made, seed=0, pins=(), clock_log=log)


def recorded(run: RawRun) -> RawRun:
    return replace(run, exploration=SYNC)


def asked(run: RawRun) -> RawRun:
    words = [*CLOCK[:-1], f"{CLOCK[-1]},explore={run.folder / exploring.FILE}"]
    write_argv(run.folder, [*guest_argv(2, nonce=f"{1:016x}", cell=cell(2)), *words])
    return run


def kept(run: RawRun) -> RawRun:
    (run.folder / exploring.FILE).write_text(SYNC.text)
    return run


def logged(run: RawRun) -> RawRun:
    (run.folder / "clock.log").write_text(f"{LOG}explore sync 3\n")
    return run


def explored(run: RawRun) -> RawRun:
    return logged(kept(asked(recorded(run))))


def test_a_run_that_nobody_explored_passes(plain: RawRun) -> None:
    check_exploration(RunFiles(plain), None)


@pytest.mark.parametrize("trace", [recorded, asked, kept, logged, explored])
def test_each_trace_of_an_exploration_refuses_a_sample(plain: RawRun, trace: Change) -> None:
    with pytest.raises(VerifyError, match=r"was explored .*: .*such a run is never a sample of a gate"):
        check_exploration(RunFiles(trace(plain)), None)


def test_whoever_asked_for_exactly_this_exploration_gets_its_result(plain: RawRun) -> None:
    check_exploration(RunFiles(explored(plain)), SYNC)
    with pytest.raises(
        VerifyError, match=r"run\.json of .* is not of the exploration with strategy sync, seed 4"
    ):
        check_exploration(RunFiles(explored(plain)), usual(Strategy.SYNC, 4))


@pytest.mark.parametrize("trace", [recorded, asked, kept, logged])
def test_one_trace_alone_is_not_enough(plain: RawRun, trace: Change) -> None:
    with pytest.raises(VerifyError, match="is not of the exploration with strategy sync, seed 3"):
        check_exploration(RunFiles(trace(plain)), SYNC)


def test_in_a_sessions_row_it_is_invalid_and_the_reason_names_it(
    plain: RawRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole verifier, of which all but the agreement of the files says yes."""
    run = explored(plain)
    (run.folder / "serial.log").write_bytes(b"")
    monkeypatch.setattr(verify, "verify", lambda files, *_, **__: verified(files.run, 5))
    monkeypatch.setattr(verify, "require_cpus", lambda *_: None)
    monkeypatch.setattr("benchgate.judge.agreement._check_argv", lambda *_: None)
    monkeypatch.setattr("benchgate.judge.agreement._check_measures", lambda *_: None)
    judged = judge_run(run, lambda one: verify.verify_on(one, PRIMES, LINUX))
    assert judged.outcome is Outcome.INVALID
    assert "never a sample of a gate" in judged.reason
    assert verify.verify_on(run, PRIMES, LINUX, exploration=SYNC).work == 5
