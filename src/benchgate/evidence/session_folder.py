"""The session folder: written while the session runs, and sealed at its end.

Takes the reports folder, facts and texts; gives a folder under reports/runs/. Every attempt is numbered and
chained, results.csv and metrics.csv get its lines, and session.json has the state `partial` until `close`. So
after any kind of end the folder has all results so far, and does not claim to be complete. Fails with
EvidenceError that names the file and what to do; files that were written before stay.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Final, Literal

from benchgate import hooks
from benchgate.base.errors import EvidenceError
from benchgate.base.files import own_source_digest
from benchgate.base.jsonfields import Between, Matches, Presence, Sha256, as_json
from benchgate.base.process import start_time
from benchgate.evidence import metrics_csv, results_csv
from benchgate.evidence.chain import chain_start, chained, manifest_text
from benchgate.evidence.files import (
    ATTEMPTS,
    MANIFEST,
    SESSION,
    SIGNATURE,
    append_line,
    digest_of,
    files_below,
    folder_digest,
    is_safe_name,
    unwritable,
    write_whole,
)
from benchgate.evidence.rows import RunRow

FORMAT, VERSION = "benchgate-session", 1
RESULTS, METRICS, VERDICTS = "results.csv", "metrics.csv", "verdicts.json"
FORMATS = {RESULTS: 1, METRICS: 3, VERDICTS: 2, MANIFEST: 1, ATTEMPTS: 1}
"""The versions of a session's files."""
OWN = frozenset({SESSION, ATTEMPTS, MANIFEST, SIGNATURE, RESULTS, METRICS, "runs", "smokes", "profile"}) | {
    kept.folder for kept in hooks.kept_files()
}
"""The entries of a session's folder that are not reports."""
PARTIAL: Final = "partial"
COMPLETE: Final = "complete"

SESSION_NAME = re.compile(r"[0-9]{8}T[0-9]{6}Z-[0-9a-z]{4,16}")


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """The facts that are known before the first boot. All values must be plain JSON."""

    options: Mapping[str, object]
    commit: str
    diff_digest: str
    """The digest of the uncommitted changes; empty if there are none, "unavailable" without git."""
    versions: Mapping[str, str]
    envelope: Mapping[str, object]


_Moment = Annotated[str, Matches("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z", "a moment")]


DEFAULT_REPORTS = "reports"


@dataclass(frozen=True, slots=True)
class SessionHead:
    """What session.json says of each session. The last four fields come later; other facts are known by what
    reads them (evidence/facts.py)."""

    id: Annotated[str, Matches(SESSION_NAME.pattern, "a session's name")]
    state: Literal["partial", "complete"]
    """It is partial from the first byte until everything planned is done."""
    state_reason: str
    started: _Moment
    finished: _Moment | None
    pid: Annotated[int, Between(1)] | None
    """The process that still writes; null when none does."""
    pid_started: Annotated[int | None, Presence.LATER]
    """When that process started, in clock ticks since boot: with its number, its identity."""
    formats: Mapping[str, Annotated[int, Between(1)]]
    options: Mapping[str, object]
    commit: str
    diff_digest: str
    source: Annotated[str, Presence.LATER]
    """The digest of the benchgate that wrote the session; absent in sessions of earlier versions."""
    versions: Mapping[str, str]
    envelope: Mapping[str, object]
    chain: Annotated[Sha256, Presence.SPARSE] = ""
    """The end of attempts.jsonl."""
    binding: Annotated[Literal[1] | None, Presence.SPARSE] = None
    """1: nonces, seeds, orders, warm-ups and guests of the runs follow the rules that verify checks. Sessions
    of earlier versions do not have it."""
    reports: Annotated[tuple[str, ...], Presence.SPARSE] = ()
    """The files that were made from the runs; absent in sessions of earlier versions."""
    letters: Annotated[Mapping[str, str], Presence.SPARSE] = field(default_factory=dict)
    """The systems that marks call A, B ...; empty with one system."""
    reports_folder: Annotated[str, Presence.SPARSE, Matches("[^/\\x00-\\x1f]{1,255}", "a folder's name")] = (
        DEFAULT_REPORTS
    )
    """The name of the folder of --reports, in which commands on the page look for the session."""


@dataclass(frozen=True, slots=True)
class RunFolder:
    run: int
    folder: Path


@dataclass(slots=True)
class SessionFolder:
    """One session folder, open for writing. Use `create`."""

    id: str
    folder: Path
    _facts: dict[str, object]
    _chain: str
    _attempts: dict[int, str] = field(default_factory=dict)
    """The folders of attempts that have started, but are not recorded yet."""
    _begun: int = 0

    @classmethod
    def create(cls, reports: Path, info: SessionInfo, *, started: datetime, short_id: str) -> SessionFolder:
        name = f"{started:%Y%m%dT%H%M%SZ}-{short_id}"
        if not SESSION_NAME.fullmatch(name):
            raise ValueError(f"{short_id!r} is not a short id: use 4 to 16 characters of 0-9a-z")
        folder = reports / "runs" / name
        _require_free(reports / "latest")
        try:
            (folder / "runs").mkdir(parents=True)
        except OSError as error:
            raise unwritable(folder, error, "choose another place with --reports") from None
        head = SessionHead(
            id=name,
            state=PARTIAL,
            state_reason="it is still running, or it was killed",
            started=f"{started:%Y-%m-%dT%H:%M:%SZ}",
            finished=None,
            pid=os.getpid(),
            pid_started=start_time(os.getpid()),
            formats=FORMATS,
            options=info.options,
            commit=info.commit,
            diff_digest=info.diff_digest,
            source=own_source_digest(),
            versions=info.versions,
            envelope=info.envelope,
            reports_folder=reports.name or DEFAULT_REPORTS,
        )
        facts: dict[str, object] = {"format": FORMAT, "version": VERSION, **as_json(head)}
        session = cls(name, folder, facts, chain_start(name))
        session._save()
        session.write(RESULTS, results_csv.HEADER)
        session.write(METRICS, metrics_csv.HEADER)
        session.write(ATTEMPTS, "")
        _point_latest(reports, name)
        return session

    def update(self, **facts: object) -> None:
        """Adds facts to session.json that became known later: plan, policy, capacity and so on."""
        self._facts.update(facts)
        self._save()

    def begin(self, cell: str) -> RunFolder:
        """A new folder for the next attempt. Attempts are numbered through the whole session."""
        self._begun += 1
        name = f"runs/{self._begun:04d}-{cell}"
        if not is_safe_name(name):
            raise EvidenceError(f"{cell!r:.100} cannot be a folder's name; use letters, digits and ._+=@,:-")
        try:
            (self.folder / name).mkdir()
        except OSError as error:
            raise unwritable(self.folder / name, error, "free disk space") from None
        self._attempts[self._begun] = name
        return RunFolder(self._begun, self.folder / name)

    def record(self, row: RunRow) -> None:
        """Chains a finished attempt and adds its lines to results.csv and metrics.csv. Its folder must not
        change any more."""
        name = self._attempts.pop(row.run)
        link = chained(self._chain, row.run, name, row.outcome, self._digest(name))
        append_line(self.folder / ATTEMPTS, link.line())
        append_line(self.folder / RESULTS, results_csv.line(row))
        append_line(self.folder / METRICS, metrics_csv.lines(row))
        self._chain = link.chain

    def write(self, name: str, text: str) -> None:
        """Writes one file atomically."""
        if not is_safe_name(name):
            raise EvidenceError(f"{name!r:.100} is not a name for a file of a session")
        write_whole(self.folder / name, text)

    def keep(self, texts: Mapping[str, str]) -> None:
        """Copies of files from outside on which verdicts depend, by name, each below a folder."""
        for name, text in texts.items():
            place = self.folder / Path(name).parent
            try:
                place.mkdir(exist_ok=True)
            except OSError as error:
                raise unwritable(place, error, "free disk space") from None
            self.write(name, text)

    @property
    def facts(self) -> Mapping[str, object]:
        return MappingProxyType(self._facts)

    def close(self, finished: datetime, *, missing: str = "") -> None:
        """Records how the session ended: complete, or partial because of what is `missing`."""
        state = PARTIAL if missing else COMPLETE
        self._facts |= {"state": state, "state_reason": missing, "pid": None, "pid_started": None}
        self._facts |= {"finished": f"{finished:%Y-%m-%dT%H:%M:%SZ}", "chain": self._chain}
        self._save()

    def seal(self) -> None:
        """Writes the manifest of all files; it must be the last file."""
        with contextlib.suppress(FileNotFoundError):
            (self.folder / MANIFEST).unlink()
        digests = {name: digest_of(self.folder, name) for name in files_below(self.folder)}
        self.write(MANIFEST, manifest_text(digests))

    def _save(self) -> None:
        self.write(SESSION, json.dumps(self._facts, indent=2, allow_nan=False) + "\n")

    def _digest(self, name: str) -> str:
        try:
            return folder_digest(self.folder, name)
        except OSError as error:
            raise EvidenceError(f"{self.folder / name} cannot be read: {error.strerror}") from None


def _require_free(latest: Path) -> None:
    """Called before the session's folder is made, so that no empty folder remains."""
    if os.path.lexists(latest) and not latest.is_symlink():
        raise EvidenceError(
            f"{latest} cannot be written: it must be a link; move the existing file or folder away"
        )


def _point_latest(reports: Path, name: str) -> None:
    latest, fresh = reports / "latest", reports / f".latest-{name}"
    try:
        fresh.symlink_to(Path("runs") / name)
        fresh.replace(latest)
    except OSError as error:
        fresh.unlink(missing_ok=True)
        raise unwritable(latest, error, "remove it") from None
