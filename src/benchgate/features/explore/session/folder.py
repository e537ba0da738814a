"""The folder of an exploration: what was asked, a line for each run, and the whole run of each find.

Takes the folder's path; reads and writes its files so that an exploration that was stopped in any way goes
on where it was: a run counts when its line is there. `plan.json` says what a replay needs, as a session's
session.json does. Fails with UsageError if the folder is of another exploration or cannot be read, and with
EvidenceError if it cannot be written.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchgate.base import files
from benchgate.base.errors import EvidenceError, UsageError
from benchgate.base.files import read_json
from benchgate.base.jsonfields import as_json, read
from benchgate.evidence.files import (
    append_line,
    is_safe_name,
    read_object,
    read_text,
    unwritable,
    write_whole,
)
from benchgate.features.explore.exploration_result import ExplorationResult, Find, RunLine

FORMAT, VERSION = "benchgate-exploration", 1
PLAN, RUNS, STATE, PAGE = "plan.json", "runs.jsonl", "explored.json", "explored.html"
FINDS, RUNNING, FIND = "finds", "running", "find.json"
SMALL = "-small"
"""This follows a find's name in the name of the folder with the run of what is left of it."""


@dataclass(frozen=True, slots=True)
class ExplorationFolder:
    path: Path

    def begin(self, facts: Mapping[str, Any]) -> None:
        """Writes the plan. The folder may have been begun before, for the same exploration of the same
        guests."""
        facts = {"format": FORMAT, "version": VERSION, **facts}
        if (self.path / PLAN).exists():
            self.require_same(facts, "asked", "inputs")
        else:
            write_whole(self.path / PLAN, json.dumps(facts, indent=1) + "\n")
        shutil.rmtree(self.path / RUNNING, ignore_errors=True)  # interrupted runs left it
        for place in (RUNNING, FINDS):
            self._make(self.path / place)
        if not (self.path / RUNS).exists():
            write_whole(self.path / RUNS, "")
        self._forget_unrecorded()

    def require_same(self, facts: Mapping[str, Any], *names: str) -> None:
        """UsageError if one of these was something else when the exploration began."""
        before = self.facts()
        for name in names:
            if before.get(name) != json.loads(json.dumps(facts[name])):
                other = "asks for something else" if name == "asked" else "had another QEMU or other guests"
                advice = "its runs would not fit; next: give another folder with --out"
                raise UsageError(f"{self.path}: this exploration {other}; {advice}")

    def facts(self) -> dict[str, Any]:
        if not (self.path / PLAN).is_file():
            raise UsageError(f"{self.path} is no exploration's folder: it has no {PLAN}")
        try:
            result = read_object(self.path, PLAN)
        except EvidenceError as error:
            raise UsageError(f"{self.path / PLAN} cannot be read: {error}") from error
        if (result.get("format"), result.get("version")) != (FORMAT, VERSION):
            raise UsageError(f"{self.path / PLAN} is no exploration of this version of benchgate")
        return result

    # ---- runs

    def new_run(self, key: str) -> Path:
        """A new folder for the files of a run; it goes when the run is no find."""
        name = key.replace("#", "-")
        if not is_safe_name(name):
            raise UsageError(f"{key!r:.200} is no name of a run")
        place = self.path / RUNNING / name
        shutil.rmtree(place, ignore_errors=True)
        self._make(place)
        return place

    def forget(self, run: Path) -> None:
        """The run's line says all that is kept of it."""
        shutil.rmtree(run, ignore_errors=True)

    def keep(self, line: RunLine) -> None:
        append_line(self.path / RUNS, json.dumps(as_json(line)) + "\n")

    def lines(self) -> tuple[RunLine, ...]:
        text = read_text(self.path, RUNS) if (self.path / RUNS).exists() else ""
        whole = text[: text.rfind("\n") + 1].splitlines()
        try:
            return tuple(read(RunLine, read_json(word), "a run") for word in whole)
        except ValueError as error:
            raise UsageError(f"{self.path / RUNS} cannot be read: {error}; next: another --out") from error

    # ---- finds

    def new_find(self, run: Path) -> str:
        """Moves the run's folder to the finds; gives the find's name."""
        taken = {path.name for path in (self.path / FINDS).iterdir()}
        name = next(f"find-{n}" for n in range(1, len(taken) + 2) if f"find-{n}" not in taken)
        run.rename(self.path / FINDS / name)
        return name

    def find_folder(self, name: str) -> Path:
        return self.path / FINDS / name

    def keep_find(self, find: Find) -> None:
        text = json.dumps(as_json(find), indent=1)
        write_whole(self.find_folder(find.name) / FIND, f"{text}\n")

    def find(self, name: str) -> Find:
        place = self.find_folder(name)
        try:
            result = read(Find, read_object(place, FIND), "a find")
        except (EvidenceError, ValueError) as error:
            raise UsageError(f"{place / FIND} cannot be read: {error}") from error
        if result.name != name:
            raise UsageError(f"{place / FIND} is of {result.name!r:.40}")
        return result

    def finds(self) -> tuple[Find, ...]:
        return tuple(self.find(line.find) for line in self.lines() if line.find)

    def small_folder(self, name: str) -> Path:
        """A new folder for the run of what is left of a find."""
        place = self.path / FINDS / f"{name}{SMALL}"
        shutil.rmtree(place, ignore_errors=True)
        return place

    def _forget_unrecorded(self) -> None:
        """Finds whose line was not written: their runs are made again."""
        known = {line.find for line in self.lines()}
        for place in (self.path / FINDS).iterdir():
            if place.name.removesuffix(SMALL) not in known:
                shutil.rmtree(place)

    # ---- what is shown

    def write(self, state: ExplorationResult, page: str) -> None:
        value = {
            "format": FORMAT,
            "version": VERSION,
            "state": "complete" if state.is_complete else "partial",
            "expected": state.expected,
            "notes": list(state.notes),
            "runs": [as_json(line) for line in state.lines],
            "finds": [as_json(find) for find in state.finds],
            "groups": [{"group": name, "finds": [one.name for one in finds]} for name, finds in state.groups],
        }
        write_whole(self.path / STATE, json.dumps(value, indent=1) + "\n")
        write_whole(self.path / PAGE, page)

    def _make(self, place: Path) -> None:
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise unwritable(place, error, "free disk space, then run again") from error


def state_of(folder: ExplorationFolder, expected: int, notes: Sequence[str]) -> ExplorationResult:
    return ExplorationResult(folder.lines(), folder.finds(), expected, tuple(notes))


def require_place(path: Path) -> None:
    """UsageError if the folder can be none. Makes nothing."""
    there = next(parent for parent in (path, *path.parents) if os.path.lexists(parent))
    if not there.is_dir():
        raise UsageError(f"--out {path}: {there} is not a folder; next: name one, old or new, with --out")


@contextmanager
def locked(path: Path) -> Iterator[ExplorationFolder]:
    with files.locked(path, "explores"):
        yield ExplorationFolder(path)


def of_find(place: Path) -> tuple[ExplorationFolder, str]:
    """The folder of an exploration and the name of a find, from the path of the find's folder."""
    if place.parent.name != FINDS or not (place.parent.parent / PLAN).is_file():
        raise UsageError(f"{place} is no find of an exploration; expected DIR/{FINDS}/find-1")
    if not place.is_dir():
        raise UsageError(f"{place} does not exist; the finds are below {place.parent}")
    return ExplorationFolder(place.parent.parent), place.name
