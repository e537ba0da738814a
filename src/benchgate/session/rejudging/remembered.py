"""Remembers where a user's files of a session are, so that later commands on this machine find them.

A session's folder names such files, too, but it may be somebody else's: nothing is read or run because a
folder names it. The paths and digests are kept outside of it, in the user's state folder, one file for each
session or exploration. Takes the folder of a session or an exploration; gives what was kept of it, and a
sentence for each file that has changed or is gone, which is not used. What cannot be kept or read is as if
nothing was kept. Does not fail.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchgate.base.errors import CatalogError, EvidenceError, UsageError
from benchgate.base.files import file_digest, read_json
from benchgate.base.jsonfields import Sha256, as_json, read
from benchgate.base.system.systems import System, plain_name
from benchgate.evidence.facts import PROGRAM_OPTIONS
from benchgate.evidence.files import SESSION, read_object, write_whole
from benchgate.evidence.session_folder import SESSION_NAME
from benchgate.plan import catalog
from benchgate.plan.planned import PlannedCell
from benchgate.session.rejudging import trust
from benchgate.session.rejudging.trust import TrustedPrograms

SYSTEM = "--system"
MOST_SESSIONS = 500
"""The oldest are forgotten."""
_MOST_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class OptionRecord:
    """One word of the command line."""

    option: str
    name: str
    """The name of the workload, kind, report or system."""
    word: str
    digests: Mapping[str, Sha256]
    """The digests by absolute path."""

    @property
    def changed(self) -> str:
        """A sentence about the first file that is not as it was; empty if all are."""
        for path, digest in self.digests.items():
            with contextlib.suppress(OSError):
                if file_digest(Path(path)) == digest:
                    continue
            return f"{path} has changed since the session, or is gone, so {self.option} must name it again"
        return ""


def keep(folder: Path, cells: Iterable[PlannedCell], trusted: TrustedPrograms | None = None) -> None:
    """`trusted`: the programs that judge the session; None: of an exploration, which asks oracles only."""
    planned = list(cells)
    if trusted is None:
        used = [cell.workload for cell in planned]
        trusted = TrustedPrograms({one.name: one for one in used if catalog.word_of(one) != one.name})
    with contextlib.suppress(OSError):
        kept = [*_programs(trusted), *_systems({cell.system.name: cell.system for cell in planned})]
        place = _place(folder)
        if kept and place is not None:
            place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_whole(place, json.dumps([as_json(record) for record in kept], indent=1) + "\n")
            _forget(place.parent)


def _programs(trusted: TrustedPrograms) -> Iterator[OptionRecord]:
    oracles = {workload.name: workload.oracle for workload in trusted.workloads.values()}
    for program in trusted.programs:
        files = {Path(program.path)} | ({oracles[program.name]} if program.option == "--workload" else set())
        yield _kept(program.option, program.name, program.path, files)


def _systems(systems: Mapping[str, System]) -> Iterator[OptionRecord]:
    """A file that a setting names is part of the guest, whose digest a replay compares."""
    for name, system in systems.items():
        plain, settings = plain_name(name), system.settings
        own = {key: value for key, value in settings.chosen.items() if key in settings.files}
        is_own = plain not in catalog.names("system")
        if is_own or own:
            word = str(system.file) if is_own else plain
            words = [word, *(f"{key}={value}" for key, value in own.items())]
            yield _kept(SYSTEM, name, ":".join(words), {system.file} if is_own else ())


def _kept(option: str, name: str, word: str, files: Iterable[Path]) -> OptionRecord:
    return OptionRecord(option, name, word, {str(path): file_digest(path) for path in sorted(files)})


def _forget(folder: Path) -> None:
    known = sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in known[MOST_SESSIONS:]:
        path.unlink()


def trusted_of(folder: Path, given: TrustedPrograms) -> tuple[TrustedPrograms, tuple[str, ...]]:
    """The programs that the caller names, and those of the session that are as they were; and a sentence
    about each that is not."""
    named = {(program.option, program.name) for program in given.programs}
    mine = [record for record in _recalled(folder) if record.option in PROGRAM_OPTIONS]
    asked = [record for record in mine if (record.option, record.name) not in named]
    same = [record for record in asked if not record.changed]
    words = [[record.word for record in same if record.option == option] for option in PROGRAM_OPTIONS]
    notes = tuple(filter(None, (record.changed for record in asked)))
    try:
        known = trust.trusted(*words)
    except (CatalogError, UsageError) as error:  # the words were valid for the version that kept them
        return given, (*notes, str(error))
    workloads, gates = {**known.workloads, **given.workloads}, {**known.gates, **given.gates}
    return TrustedPrograms(workloads, gates, (*given.reports, *known.reports)), notes


def system_of(folder: Path, name: str) -> tuple[str | None, tuple[str, ...]]:
    """The word for the system of a cell; None: it was not kept, or has changed, as the sentence says."""
    wanted = (SYSTEM, name)
    record = next((record for record in _recalled(folder) if (record.option, record.name) == wanted), None)
    if record is None:
        return None, ()
    return (None, (record.changed,)) if record.changed else (record.word, ())


def _recalled(folder: Path) -> tuple[OptionRecord, ...]:
    place = _place(folder)
    if place is None:
        return ()
    try:
        with place.open("rb") as stream:
            return read(tuple[OptionRecord, ...], read_json(stream.read(_MOST_BYTES)), "files of a session")
    except (OSError, ValueError):
        return ()


def _place(folder: Path) -> Path | None:
    """The file of a session is named after its id, that of an exploration after its folder. None: there is no
    home for it."""
    state = Path(os.environ.get("XDG_STATE_HOME", ""))
    with contextlib.suppress(RuntimeError):
        state = state if state.is_absolute() else Path.home() / ".local/state"
        return state / "benchgate" / "sessions" / f"{_key(folder)}.json"
    return None


def _key(folder: Path) -> str:
    with contextlib.suppress(EvidenceError):
        result = read_object(folder, SESSION).get("id")
        if isinstance(result, str) and SESSION_NAME.fullmatch(result):
            return result
    return hashlib.sha256(str(folder.resolve()).encode(errors="surrogateescape")).hexdigest()
