"""Takes over the runs of an interrupted session: each is used where this session would make the same run.

Takes a session's folder and jobs; gives their RawRuns, from that folder as far as it has them, else from
another `Runner`. Only runs on the instruction clock are taken, because they are the same whenever they are
made; a run is the same if its command line, its guest's files and its seed are. Every recorded run is taken,
whatever came of it, so that nobody resumes until a run pleases. Fails with EvidenceError if the folder's
chain is broken, a run was changed, or another version of benchgate made it, and with UsageError if the
session still runs.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from benchgate.base.cells import Lane
from benchgate.base.errors import EvidenceError, UsageError
from benchgate.base.files import own_source_digest, read_json
from benchgate.base.process import start_time
from benchgate.base.runs import RawRun
from benchgate.build.cache_storage import Notice
from benchgate.evidence.chain import broken_link, parse_chain
from benchgate.evidence.files import ATTEMPTS, SESSION, files_below, folder_digest, read_object, read_text
from benchgate.run.attempt import ARGV, RunRequest, words_of_run, write_command
from benchgate.run.parallel import AttemptJob
from benchgate.run.record import load, save
from benchgate.run.runner import Runner

Key = tuple[str, int, bool, str, str]
"""Cell, seed, whether it is a repetition, the guest, and the command line without the run's folder."""


class ResumingRunner:
    def __init__(self, inner: Runner, folder: Path, note: Notice) -> None:
        self._inner, self._note = inner, note
        self.looks_ahead = inner.looks_ahead
        self._folder = folder.resolve()
        self._facts = _facts(self._folder)
        self._old = dict(_recorded(self._folder))
        self._taken: Counter[str] = Counter()

    def slots(self, here: int) -> int:
        return self._inner.slots(here)

    def ahead(self, requests: Iterable[RunRequest]) -> None:
        self._inner.ahead(request for request in requests if _key(request) not in self._old)

    def execute_all(self, jobs: Iterable[AttemptJob], at_once: int) -> Generator[tuple[int, RawRun]]:
        """Makes all runs of this round from the first one that the folder lacks."""
        waiting = iter(jobs)
        for index, job in enumerate(waiting):
            old = self._old.get(_key(job.request))
            if old is None:
                rest = self._inner.execute_all(chain([job], waiting), at_once)
                yield from ((index + more, raw) for more, raw in rest)
                return
            yield index, self._take(old, job.request)

    def close(self) -> None:
        self._inner.close()

    def facts(self) -> Mapping[str, object]:
        """Gives the facts for session.json."""
        resumed = {"session": self._facts["id"], "runs": self._taken.total()}
        return {**self._inner.facts(), "resumed": resumed}

    def require_inputs(self, inputs: Mapping[str, Any]) -> None:
        """UsageError if the old session had another QEMU. The guest's files are compared for each run."""
        known = self._facts.get("inputs")
        if not isinstance(known, dict):
            raise EvidenceError(f"{self._folder / SESSION} does not say what its guests were")
        for name, now in inputs.items():
            before = known.get(name)
            if isinstance(now, dict) and "digest" in now and before is not None and before != now:
                raise UsageError(f"--resume {self._folder}: it was made with another {name}, {before!r:.200}")

    def _take(self, old: Path, request: RunRequest) -> RawRun:
        for name in files_below(old):
            shutil.copyfile(old / name, request.folder / name)
        write_command(request)
        raw = replace(load(request.folder), attempt=request.attempt, order=request.order, cell=request.cell)
        save(raw)
        self._taken[request.cell.id] += 1
        return raw


def _facts(folder: Path) -> dict[str, Any]:
    facts = read_object(folder, SESSION)
    pid, started = facts.get("pid"), facts.get("pid_started")
    if isinstance(pid, int) and started is not None and start_time(pid) == started:
        raise UsageError(f"--resume {folder}: process {pid} is still measuring this session")
    if facts.get("source") != own_source_digest():
        why = "another version of benchgate made it; start a new session without --resume"
        raise EvidenceError(f"--resume {folder}: {why}")
    return facts


def _recorded(folder: Path) -> Iterator[tuple[Key, Path]]:
    links = parse_chain(read_text(folder, ATTEMPTS), str(folder / ATTEMPTS))
    if broken := broken_link(links, folder.name):
        wrong = f"the line of run {broken.run} does not follow from those before"
        raise EvidenceError(f"{folder / ATTEMPTS}: {wrong}")
    for link in links:
        if folder_digest(folder, link.folder) != link.digest:
            raise EvidenceError(f"{folder / link.folder} was changed after it was recorded")
        raw = load(folder / link.folder)
        if raw.lane is Lane.INSN:
            argv = read_json((folder / link.folder / ARGV).read_bytes())
            words = words_of_run(map(str, argv), folder / link.folder)
            yield (raw.cell.id, raw.seed, raw.warmup, raw.guest_digest, words), folder / link.folder


def _key(request: RunRequest) -> Key:
    words = words_of_run(request.spec.argv, request.folder)
    return request.cell.id, request.seed, request.warmup, request.guest_digest, words
