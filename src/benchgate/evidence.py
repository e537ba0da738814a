"""The session folder: written as things happen, sealed at the end, and checked offline by anybody.

Takes a place for reports, facts and texts; gives a folder under reports/runs/. Every attempt is numbered
and chained, results.csv grows by a line a run, and session.json says `partial` from its first byte until
`close`: however a session ends, what was measured is there and does not claim to be whole. Fails with
EvidenceError that names the file and what to do; what was written before stays.

`verify_bundle` takes any folder, a malicious one too, and gives a Check; it fails with nothing else.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from benchgate import allowance, bundle
from benchgate.bundle import ATTEMPTS, MANIFEST, SESSION, Link
from benchgate.errors import BenchgateError, EvidenceError
from benchgate.machine.process import start_time
from benchgate.render import results_csv
from benchgate.render.escape import printable
from benchgate.render.model import RunRow

FORMAT, VERSION = "benchgate-session", 1
RESULTS, VERDICTS = "results.csv", "verdicts.json"
OWN = frozenset({SESSION, ATTEMPTS, MANIFEST, RESULTS, "runs", "smokes", "profile"})
"""What a session's folder holds beside its reports."""
PARTIAL, COMPLETE = "partial", "complete"

MOST_CPU_S = 300
"""To judge a session again takes seconds."""

INTACT, TAMPERED, INCOMPLETE, MISMATCH, UNKNOWN_VERSION = 0, 10, 11, 12, 13

SESSION_NAME = re.compile(r"[0-9]{8}T[0-9]{6}Z-[0-9a-z]{4,16}")

Recompute = Callable[[Path], Mapping[str, str]]
"""Judges a session folder again from its runs: what each report should hold, by file name."""


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """What was true before the first boot. All values must be plain JSON."""

    options: Mapping[str, object]
    commit: str
    diff_digest: str
    """Of the uncommitted changes; empty: there were none. "unavailable": no git."""
    versions: Mapping[str, str]
    envelope: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Attempt:
    run: int
    folder: Path


@dataclass(slots=True)
class Session:
    """One session folder, open for writing. Use `create`."""

    id: str
    folder: Path
    _facts: dict[str, object]
    _chain: str
    _attempts: dict[int, str] = field(default_factory=dict)
    """Attempts that were begun and are not recorded yet."""
    _begun: int = 0

    @classmethod
    def create(cls, reports: Path, info: SessionInfo, *, started: datetime, short_id: str) -> Session:
        name = f"{started:%Y%m%dT%H%M%SZ}-{short_id}"
        if not SESSION_NAME.fullmatch(name):
            raise ValueError(f"{short_id!r} is no short id: 4 to 16 of 0-9a-z")
        folder = reports / "runs" / name
        _require_free(reports / "latest")
        try:
            (folder / "runs").mkdir(parents=True)
        except OSError as wrong:
            raise bundle.unwritable(folder, wrong, "choose another place with --reports") from None
        facts: dict[str, object] = {
            "format": FORMAT,
            "version": VERSION,
            "id": name,
            "state": PARTIAL,
            "state_reason": "it is still running, or it was killed",
            "started": f"{started:%Y-%m-%dT%H:%M:%SZ}",
            "finished": None,
            "pid": os.getpid(),
            "pid_started": start_time(os.getpid()),
            "formats": {RESULTS: 1, VERDICTS: 1, MANIFEST: 1, ATTEMPTS: 1},
            "options": dict(info.options),
            "commit": info.commit,
            "diff_digest": info.diff_digest,
            "versions": dict(info.versions),
            "envelope": dict(info.envelope),
        }
        session = cls(name, folder, facts, bundle.chain_start(name))
        session._save()
        session.write(RESULTS, results_csv.HEADER)
        session.write(ATTEMPTS, "")
        _point_latest(reports, name)
        return session

    def update(self, **facts: object) -> None:
        """Adds to session.json what became known later: gates, policy, order, capacity ..."""
        self._facts.update(facts)
        self._save()

    def begin(self, cell: str) -> Attempt:
        """A fresh folder for the next attempt; its number counts every attempt of the session."""
        self._begun += 1
        name = f"runs/{self._begun:04d}-{cell}"
        if not bundle.is_safe_name(name):
            raise EvidenceError(f"{cell!r:.100} cannot be a folder's name; use letters, digits and ._+=@,:-")
        try:
            (self.folder / name).mkdir()
        except OSError as wrong:
            raise bundle.unwritable(self.folder / name, wrong, "see that the disk has room") from None
        self._attempts[self._begun] = name
        return Attempt(self._begun, self.folder / name)

    def record(self, row: RunRow) -> None:
        """Chains a finished attempt and adds its line to results.csv. Its folder must not change again."""
        name = self._attempts.pop(row.run)
        link = bundle.chained(self._chain, row.run, name, row.outcome, self._digest(name))
        bundle.append_line(self.folder / ATTEMPTS, link.line())
        bundle.append_line(self.folder / RESULTS, results_csv.line(row))
        self._chain = link.chain

    def write(self, name: str, text: str) -> Path:
        """One report file, whole or not at all."""
        if not bundle.is_safe_name(name):
            raise EvidenceError(f"{name!r:.100} is no name for a file of a session")
        path = self.folder / name
        bundle.write_whole(path, text)
        return path

    def close(self, finished: datetime, *, missing: str = "") -> None:
        """Says how the session ended: complete, or partial because of what is `missing`."""
        state = PARTIAL if missing else COMPLETE
        self._facts |= {"state": state, "state_reason": missing, "pid": None, "pid_started": None}
        self._facts |= {"finished": f"{finished:%Y-%m-%dT%H:%M:%SZ}", "chain": self._chain}
        self._save()

    def seal(self) -> None:
        """The manifest over all there is; the last thing that is written."""
        with contextlib.suppress(FileNotFoundError):
            (self.folder / MANIFEST).unlink()
        digests = {name: bundle.digest_of(self.folder, name) for name in bundle.files_below(self.folder)}
        self.write(MANIFEST, bundle.manifest_text(digests))

    def _save(self) -> None:
        self.write(SESSION, json.dumps(self._facts, indent=2, allow_nan=False) + "\n")

    def _digest(self, name: str) -> str:
        try:
            return bundle.folder_digest(self.folder, name)
        except OSError as wrong:
            raise EvidenceError(f"{self.folder / name} cannot be read: {wrong.strerror}") from None


@dataclass(frozen=True, slots=True)
class Check:
    """What verification found: 0 intact, 10 tampered, 11 incomplete, 12 mismatch, 13 unknown version."""

    exit_code: int
    messages: tuple[str, ...]

    @property
    def text(self) -> str:
        return "\n".join(map(printable, self.messages))


def verify_bundle(folder: Path, recompute: Recompute | None = None) -> Check:
    """Rehashes a session, follows its chain, and compares what `recompute` gets from its runs."""
    try:
        facts = _session(folder)
    except EvidenceError as wrong:
        return Check(INCOMPLETE if not os.path.lexists(folder / SESSION) else TAMPERED, (str(wrong),))
    version = facts.get("version")
    if facts.get("format") != FORMAT or type(version) is not int or version != VERSION:
        said = f"{facts.get('format')!r:.40} version {version!r:.40}"
        return Check(UNKNOWN_VERSION, (f"{folder}: {said} is not known; this is {FORMAT} {VERSION}",))
    findings = _Findings(folder)
    findings.try_(TAMPERED, lambda: _check_files(findings, folder))
    findings.try_(TAMPERED, lambda: _check_chain(findings, folder, facts))
    if facts.get("state") != COMPLETE:
        findings.add(INCOMPLETE, f"the session is {PARTIAL}: {facts.get('state_reason')!r:.200}")
    if not findings.found and recompute is not None:
        findings.try_(MISMATCH, lambda: _check_answers(findings, folder, recompute))
    return findings.check(recomputed=recompute is not None)


class _Findings:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.found: list[tuple[int, str]] = []

    def add(self, code: int, message: str) -> None:
        self.found.append((code, message))

    def try_(self, code: int, step: Callable[[], None]) -> None:
        """Runs a step; what it cannot even read counts as `code`."""
        try:
            step()
        except BenchgateError as wrong:
            self.add(code, str(wrong))
        except OSError as wrong:
            self.add(code, f"{wrong.filename or self.folder} cannot be read: {wrong.strerror}")

    def check(self, *, recomputed: bool) -> Check:
        if not self.found:
            done = "hashes, chain and every verdict" if recomputed else "hashes and chain"
            return Check(INTACT, (f"{self.folder}: intact ({done} agree)",))
        worst = min(code for code, _ in self.found)
        words = {TAMPERED: "tampered", INCOMPLETE: "incomplete", MISMATCH: "mismatch"}
        lines = (f"{words[code]}: {message}" for code, message in sorted(self.found))
        return Check(worst, (f"{self.folder}: {words[worst]}", *lines))


def _session(folder: Path) -> dict[str, object]:
    if folder.is_symlink():
        folder = folder.resolve()  # `reports/latest` is a link that the user named
    if not folder.is_dir():
        raise EvidenceError(f"{folder} is no folder; name a session under reports/runs/")
    if not os.path.lexists(folder / SESSION):
        raise EvidenceError(f"{folder} holds no {SESSION}; name a session under reports/runs/")
    try:
        return bundle.read_object(folder, SESSION)
    except OSError as wrong:
        raise EvidenceError(f"{folder / SESSION} cannot be read: {wrong.strerror}") from None


def _check_files(findings: _Findings, folder: Path) -> None:
    present = set(bundle.files_below(folder))
    if MANIFEST not in present:
        findings.add(INCOMPLETE, f"there is no {MANIFEST}: the session was never sealed")
        return
    digests = bundle.parse_manifest(bundle.read_text(folder, MANIFEST), MANIFEST)
    for name in sorted(present - set(digests) - {MANIFEST}):
        findings.add(TAMPERED, f"{name} is not in the manifest; it was added later")
    for name, digest in digests.items():
        if name not in present:
            findings.add(INCOMPLETE, f"{name} is in the manifest and not on the disk")
        elif bundle.digest_of(folder, name) != digest:
            findings.add(TAMPERED, f"{name} was changed after the session was sealed")


def _check_chain(findings: _Findings, folder: Path, facts: Mapping[str, object]) -> None:
    links = bundle.parse_chain(bundle.read_text(folder, ATTEMPTS), ATTEMPTS)
    broken = bundle.broken_link(links, str(facts.get("id")))
    if broken:
        findings.add(TAMPERED, f"the chain of attempts breaks at run {broken.run} ({broken.folder})")
        return
    last = links[-1].chain if links else bundle.chain_start(str(facts.get("id")))
    if facts.get("state") == COMPLETE and facts.get("chain") != last:
        findings.add(
            TAMPERED, f"{ATTEMPTS} does not end where {SESSION} says: attempts were cut off or added"
        )
    if facts.get("state") == COMPLETE and links and links[-1].run != len(links):
        findings.add(
            INCOMPLETE, f"{ATTEMPTS} holds {len(links)} of {links[-1].run} attempts; all are recorded"
        )
    for link in links:
        if not (folder / link.folder).is_dir():
            findings.add(INCOMPLETE, f"{link.folder} is gone; every attempt is kept")
        elif bundle.folder_digest(folder, link.folder) != link.digest:
            findings.add(TAMPERED, f"{link.folder} was changed after its run")
    known = {link.folder for link in links}
    for one in sorted(f"runs/{path.name}" for path in (folder / "runs").iterdir()):
        if one not in known:
            findings.add(INCOMPLETE, f"{one} was begun and never recorded")
    _check_rows(findings, folder, links)


def _check_rows(findings: _Findings, folder: Path, links: tuple[Link, ...]) -> None:
    rows = results_csv.parse(bundle.read_text(folder, RESULTS), RESULTS)
    told = [(row.run, str(row.outcome)) for row in rows]
    chained = [(link.run, link.outcome) for link in links]
    if told != chained:
        findings.add(
            MISMATCH, f"{RESULTS} has {len(told)} runs that are not the {len(chained)} of {ATTEMPTS}"
        )


def _check_answers(findings: _Findings, folder: Path, recompute: Recompute) -> None:
    try:
        with allowance.cpu_seconds(MOST_CPU_S):
            expected = recompute(folder)
    except allowance.Exhausted:
        raise EvidenceError(
            f"{folder} cannot be judged again: that takes more than {MOST_CPU_S} s of CPU time. Look at the "
            f"search patterns of the systems in its {SESSION}: one may be made never to end"
        ) from None
    except (ArithmeticError, LookupError, TypeError, ValueError) as wrong:
        # A stranger's figures can contradict each other in ways that nobody foresaw.
        why = f"{type(wrong).__name__}: {wrong}"
        raise EvidenceError(f"{folder} cannot be judged again: {why:.200}") from wrong
    if VERDICTS not in expected:
        raise EvidenceError(f"judging {folder} again gave no verdicts")
    for name, text in expected.items():
        due = text.encode(errors="backslashreplace").decode()  # as `bundle.write_whole` puts it
        if bundle.read_text(folder, name) != due:
            findings.add(MISMATCH, f"{name} does not follow from the runs")
    for name in sorted(
        {found.partition("/")[0] for found in bundle.files_below(folder)} - OWN - set(expected)
    ):
        findings.add(MISMATCH, f"{name} is no part of a session: it follows from nothing")


def _require_free(latest: Path) -> None:
    """Asked before a session's folder is made, so that none is left behind."""
    if os.path.lexists(latest) and not latest.is_symlink():
        raise EvidenceError(f"{latest} cannot be written: it must be a link; move away what is there")


def _point_latest(reports: Path, name: str) -> None:
    latest, fresh = reports / "latest", reports / f".latest-{name}"
    try:
        fresh.symlink_to(Path("runs") / name)
        fresh.replace(latest)
    except OSError as wrong:
        fresh.unlink(missing_ok=True)
        raise bundle.unwritable(latest, wrong, "it must be free to be a link") from None
