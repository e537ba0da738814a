"""What a resumed session takes over, what it makes again, and which folders it refuses."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.errors import EvidenceError, UsageError
from benchgate.base.files import own_source_digest
from benchgate.base.runs import Ending, RawRun
from benchgate.evidence.chain import chain_start, chained
from benchgate.evidence.files import folder_digest
from benchgate.run import record
from benchgate.run.attempt import RunRequest, unfinished
from benchgate.run.parallel import AttemptJob
from benchgate.run.runner import LocalRunner
from benchgate.session.resume import ResumingRunner
from tests.standin import request_of

SESSION = "20261123T101500Z-ab12cd"


class Maker(LocalRunner):
    """Makes runs without a guest, and says which."""

    looks_ahead = True

    def __init__(self) -> None:
        super().__init__()
        self.made: list[int] = []
        self.asked: list[int] = []

    def ahead(self, requests: Iterable[RunRequest]) -> None:
        self.asked = [request.seed for request in requests]

    def execute_all(self, jobs: Iterable[AttemptJob], at_once: int) -> Generator[tuple[int, RawRun]]:
        del at_once
        for index, job in enumerate(jobs):
            self.made.append(job.request.seed)
            yield index, made(job.request)


def made(request: RunRequest) -> RawRun:
    raw = replace(unfinished(request), ending=Ending.DONE, exit_status=33, detail="")
    (request.folder / "argv.json").write_text(json.dumps(list(request.spec.argv)))
    (request.folder / "serial.log").write_text(f"seed {request.seed}\n")
    record.save(raw)
    return raw


def requests(place: Path, files: Path, seeds: Sequence[int]) -> list[RunRequest]:
    run_requests = []
    for number, seed in enumerate(seeds, 1):
        folder = place / "runs" / f"{number:04}-x"
        folder.mkdir(parents=True)
        run_requests.append(request_of(seed, folder, files, attempt=number))
    return run_requests


@pytest.fixture
def files(tmp_path: Path) -> Path:
    return tmp_path / "files"


@pytest.fixture
def old(tmp_path: Path, files: Path) -> Path:
    """A session with seeds 1 and 2, which was killed."""
    folder = tmp_path / "old" / SESSION
    facts = {"id": SESSION, "source": own_source_digest(), "pid": None, "pid_started": None}
    lines, chain = [], chain_start(SESSION)
    for request in requests(folder, files, [1, 2]):
        made(request)
        name = f"runs/{request.folder.name}"
        link = chained(chain, request.attempt, name, "ok", folder_digest(folder, name))
        chain = link.chain
        lines.append(link.line())
    (folder / "attempts.jsonl").write_text("".join(lines))
    (folder / "session.json").write_text(
        json.dumps({**facts, "inputs": {"qemu": {"digest": "a", "version": "10.0.2"}}})
    )
    return folder


def resumed(old: Path, maker: Maker, asked: list[RunRequest]) -> list[RawRun]:
    runner = ResumingRunner(maker, old, lambda _: None)
    runner.ahead(asked)
    jobs = [AttemptJob(request, lambda _: None) for request in asked]
    result = list(runner.execute_all(jobs, 1))
    assert [index for index, _ in result] == list(range(len(asked)))
    assert runner.facts() == {"resumed": {"session": SESSION, "runs": len(asked) - len(maker.made)}}
    return [raw for _, raw in result]


def test_what_was_made_is_taken_and_the_rest_is_made(old: Path, tmp_path: Path, files: Path) -> None:
    maker = Maker()
    asked = requests(tmp_path / "new", files, [1, 2, 3, 4])
    runs = resumed(old, maker, asked)
    assert maker.made == [3, 4]
    assert maker.asked == [3, 4]
    assert [raw.seed for raw in runs] == [1, 2, 3, 4]
    for request, raw in zip(asked, runs, strict=True):
        assert record.load(request.folder) == raw
        assert (request.folder / "serial.log").read_text() == f"seed {request.seed}\n"
        assert json.loads((request.folder / "argv.json").read_text()) == list(request.spec.argv)


def test_a_run_gets_its_place_in_the_new_session(old: Path, tmp_path: Path, files: Path) -> None:
    asked = requests(tmp_path / "new", files, [3, 1])
    runs = resumed(old, Maker(), asked[1:])
    assert (runs[0].seed, runs[0].attempt, runs[0].order) == (1, 2, 2)
    assert runs[0].folder == asked[1].folder


def test_another_guest_or_command_line_is_made_again(old: Path, tmp_path: Path, files: Path) -> None:
    guest, line, lane = requests(tmp_path / "new", files, [1, 2, 2])
    guest = replace(guest, guest_digest="f" * 64)
    line = replace(line, spec=replace(line.spec, argv=(*line.spec.argv, "-snapshot")))
    warm = replace(lane, warmup=True)
    for request in (guest, line, warm):
        maker = Maker()
        resumed(old, maker, [request])
        assert len(maker.made) == 1


def test_a_changed_run_is_refused(old: Path) -> None:
    (old / "runs" / "0002-x" / "serial.log").write_text("seed 9\n")
    with pytest.raises(EvidenceError, match=r"0002-x was changed after it was recorded"):
        ResumingRunner(Maker(), old, print)


def test_a_broken_chain_is_refused(old: Path) -> None:
    lines = (old / "attempts.jsonl").read_text().splitlines(keepends=True)
    (old / "attempts.jsonl").write_text(lines[1])
    with pytest.raises(EvidenceError, match="the line of run 2 does not follow"):
        ResumingRunner(Maker(), old, print)


def changed(old: Path, **facts: object) -> None:
    path = old / "session.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **facts}))


def test_another_version_of_benchgate_is_refused(old: Path) -> None:
    changed(old, source="another")
    with pytest.raises(EvidenceError, match="another version of benchgate made it"):
        ResumingRunner(Maker(), old, print)


def test_a_session_that_still_runs_is_refused(old: Path) -> None:
    import os

    from benchgate.base.process import start_time

    changed(old, pid=os.getpid(), pid_started=start_time(os.getpid()))
    with pytest.raises(UsageError, match="is still measuring this session"):
        ResumingRunner(Maker(), old, print)


def test_another_qemu_is_refused(old: Path) -> None:
    runner = ResumingRunner(Maker(), old, print)
    runner.require_inputs({"qemu": {"digest": "a", "version": "10.0.2"}, "primes-kernel": {"kernel": "x"}})
    with pytest.raises(UsageError, match="made with another qemu"):
        runner.require_inputs({"qemu": {"digest": "b", "version": "10.0.3"}})
