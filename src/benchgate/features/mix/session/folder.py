"""The folder of a study: its plan, every run's attempts and results, and the mixes that were chosen.

Takes the folder's path; reads and writes its files, each whole, so that a study that was stopped in any way
goes on where it was. Only one process writes at a time. Fails with UsageError if the folder is of another
study, is in use or cannot be read, and with EvidenceError if it cannot be written.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchgate.base import files
from benchgate.base.errors import EvidenceError, UsageError
from benchgate.base.files import read_json
from benchgate.base.jsonfields import as_json, read, without_head
from benchgate.evidence.files import is_safe_name, read_object, read_text, unwritable, write_whole
from benchgate.features.mix.measurement import StudyRun
from benchgate.features.mix.selection import MixPlan
from benchgate.features.mix.study import Study
from benchgate.features.mix.study_orders import StudyOrder

FORMAT, VERSION = "benchgate-mix-study", 4
STUDY, PLAN, MIXES = "study.yaml", "plan.json", "mixes.json"
RUNS, RESULT, TOOK = "runs", "result.json", "seconds.txt"
MOST_ATTEMPTS = 1000


@dataclass(frozen=True, slots=True)
class _Plan:
    study: Study
    runs: tuple[StudyOrder, ...]


@dataclass(frozen=True, slots=True)
class StudyFolder:
    path: Path

    # ---- the plan

    def begin(self, study: Study, orders: Sequence[StudyOrder]) -> None:
        """Writes the plan. The folder may have been begun before, for the same study."""
        if (self.path / PLAN).exists():
            if study != self.study():
                raise UsageError(
                    f"{self.path} is of another study, or of an earlier state of this one; next: move it "
                    "away, or give another folder (--out)"
                )
        elif study.text:
            write_whole(self.path / STUDY, study.text)
        self.plan(study, orders)

    def plan(self, study: Study, orders: Sequence[StudyOrder]) -> None:
        value = {"format": FORMAT, "version": VERSION, **as_json(_Plan(study, tuple(orders)))}
        write_whole(self.path / PLAN, json.dumps(value, indent=1) + "\n")

    def study(self) -> Study:
        return self._planned().study

    def orders(self) -> tuple[StudyOrder, ...]:
        return self._planned().runs

    def _planned(self) -> _Plan:
        if not (self.path / PLAN).is_file():
            advice = "next: benchgate mix vectors STUDY.yaml"
            raise UsageError(f"{self.path} is no study's folder: it has no {PLAN}; {advice}")
        try:
            advice = "it is of another version of benchgate"
            plan = read_object(self.path, PLAN)
            result = without_head(plan, "a plan", advice, format=FORMAT, version=VERSION)
            return read(_Plan, result, "a plan")
        except (EvidenceError, ValueError) as error:
            raise UsageError(f"{self.path / PLAN} cannot be read: {error}") from error

    # ---- runs

    def new_attempt(self, key: str) -> Path:
        """A new folder for the run's files. What an earlier attempt left is kept."""
        if not is_safe_name(key):
            raise UsageError(f"{key!r:.200} is no name of a run")
        place = self.path / RUNS / key
        try:
            place.mkdir(parents=True, exist_ok=True)
            free = next(place / f"{n}" for n in range(1, MOST_ATTEMPTS) if not (place / f"{n}").exists())
            free.mkdir()
        except OSError as error:
            raise unwritable(place, error, "free disk space, then run again") from error
        return free

    def finish(self, key: str, done: StudyRun) -> None:
        (self.path / RUNS / key).mkdir(parents=True, exist_ok=True)
        write_whole(self.path / RUNS / key / RESULT, json.dumps(as_json(done), indent=1) + "\n")

    def runs(self) -> dict[str, StudyRun]:
        """What was made so far, in the order of the keys."""
        place = self.path / RUNS
        keys = sorted(path.name for path in place.iterdir()) if place.is_dir() else []
        return {key: self._done(key) for key in keys if (place / key / RESULT).is_file()}

    def _done(self, key: str) -> StudyRun:
        name = f"{RUNS}/{key}/{RESULT}"
        try:
            return read(StudyRun, read_object(self.path, name), "a result")
        except (EvidenceError, ValueError) as error:
            advice = "remove the file to make the run again"
            raise UsageError(f"{self.path / name} cannot be read: {error}; {advice}") from error

    def took(self, attempt: Path, seconds: float) -> None:
        """How long the host needed, for the plan of what is left. No figure of the study."""
        (attempt / TOOK).write_text(f"{seconds:.1f}\n", encoding="utf-8")

    def seconds_each(self) -> float | None:
        """What a run took, on average; None if none was made yet."""
        files = self.path.glob(f"{RUNS}/*/*/{TOOK}")
        result = [float(path.read_text(encoding="utf-8")[:20]) for path in files]
        return sum(result) / len(result) if result else None

    # ---- mixes

    def choose(self, planned: Sequence[MixPlan]) -> None:
        value = [as_json(plan) for plan in planned]
        write_whole(self.path / MIXES, json.dumps(value, indent=1) + "\n")

    def chosen(self) -> tuple[MixPlan, ...]:
        if not (self.path / MIXES).is_file():
            return ()
        try:
            return read(tuple[MixPlan, ...], read_json(read_text(self.path, MIXES)), "mixes")
        except (EvidenceError, ValueError) as error:
            raise UsageError(f"{self.path / MIXES} cannot be read: {error}") from error


@contextmanager
def locked(path: Path) -> Iterator[StudyFolder]:
    with files.locked(path, "measures"):
        yield StudyFolder(path)
