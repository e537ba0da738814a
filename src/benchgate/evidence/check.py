"""`benchgate verify`: checks a session's signature, hashes and chain, and compares its reports with its runs.

Takes any folder, even a malicious one, a function that judges it again, and the signers that the caller
accepts; gives a `Check` with an exit code. Raises nothing for what the folder holds; UsageError, HostError
and BootError only for the signers' file, a missing ssh-keygen, and an oracle that fails on this machine.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchgate.base import cpu_limit, ssh_signatures
from benchgate.base.errors import (
    BenchgateError,
    BootError,
    EvidenceError,
    HostError,
    IncompleteError,
    NeedsFilesError,
    UnsignedError,
)
from benchgate.base.files import own_source_digest
from benchgate.base.ssh_signatures import Signers
from benchgate.base.text import visible
from benchgate.evidence import chain, metrics_csv, results_csv
from benchgate.evidence.chain import Link, broken_link, chain_start, parse_chain, parse_manifest
from benchgate.evidence.files import (
    ATTEMPTS,
    MANIFEST,
    SESSION,
    SIGNATURE,
    digest_of,
    empty_folders,
    files_below,
    folder_digest,
    read_object,
    read_text,
)
from benchgate.evidence.session_folder import (
    COMPLETE,
    FORMAT,
    FORMATS,
    METRICS,
    OWN,
    PARTIAL,
    RESULTS,
    VERDICTS,
    VERSION,
)

_MAY_BE_EMPTY = re.compile(r"runs(/[0-9]{4,}-[^/]+)?|profile(/.*)?")
"""Folders that may be empty: without runs, after a killed attempt, or where perf recorded nothing."""

MOST_CPU_S = 300
"""Judging a session again may take so long; it normally takes seconds."""

INTACT, TAMPERED, INCOMPLETE, MISMATCH, UNKNOWN_VERSION = 0, 10, 11, 12, 13
NEEDS_FILES = NeedsFilesError.status
OTHER_THRESHOLD = 15
UNSIGNED = UnsignedError.status
MEANINGS: Mapping[int, str] = {
    INTACT: "intact",
    TAMPERED: "tampered: a file, the chain or the signature is not what was sealed",
    INCOMPLETE: "incomplete: a file or a run is missing, or the session did not finish",
    MISMATCH: "mismatch: the hashes agree, but a run does not belong there, or a report does not follow "
    "from the runs",
    UNKNOWN_VERSION: "an unknown version of the format, or reports that another version worded",
    NEEDS_FILES: "programs of the session's user must be named, so that it can be judged again",
    OTHER_THRESHOLD: "a threshold is not that of its test, or could not be compared (`--tests`)",
    UNSIGNED: "not signed by one of the named signers (`--signers`)",
    4: "the check could not be made: a usage error, or an oracle failed on this machine",
}
"""The meaning of each exit code of `benchgate verify`. If several apply, it is the smallest."""

_OWN_CODES = {UnsignedError: UNSIGNED, NeedsFilesError: NEEDS_FILES, IncompleteError: INCOMPLETE}

Recompute = Callable[[Path], Mapping[str, str]]
"""Judges a session folder again from its runs; gives the text that each report should have, by file name."""


@dataclass(frozen=True, slots=True)
class Check:
    """The findings. The exit code is one of MEANINGS."""

    exit_code: int
    messages: tuple[str, ...]

    @property
    def text(self) -> str:
        return "\n".join(map(visible, self.messages))


def verify_session(folder: Path, recompute: Recompute | None = None, signers: Signers | None = None) -> Check:
    """Checks a session's folder: without `recompute` only the signature, the hashes and the chain. With
    `signers`, a session that none of them signed is not judged."""
    if signers is not None:
        ssh_signatures.require(signers)
    try:
        facts = _session(folder)
    except EvidenceError as error:
        return Check(INCOMPLETE if not os.path.lexists(folder / SESSION) else TAMPERED, (str(error),))
    version = facts.get("version")
    if facts.get("format") != FORMAT or type(version) is not int or version != VERSION:
        result = f"{facts.get('format')!r:.40} version {version!r:.40}"
        return Check(UNKNOWN_VERSION, (f"{folder}: unknown format {result}; expected {FORMAT} {VERSION}",))
    findings = _Findings(folder)
    findings.try_(TAMPERED, lambda: _check_signature(findings, folder, signers))
    findings.try_(TAMPERED, lambda: _check_files(findings, folder))
    findings.try_(TAMPERED, lambda: _check_chain(findings, folder, facts))
    if facts.get("state") != COMPLETE:
        findings.add(INCOMPLETE, f"the session is {PARTIAL}: {facts.get('state_reason')!r:.200}")
    findings.try_(MISMATCH, lambda: _check_facts(findings, facts))
    if not findings.found and recompute is not None:
        findings.try_(MISMATCH, lambda: _check_reports(findings, folder, recompute))
    return findings.check(recomputed=recompute is not None)


class _Findings:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.found: list[tuple[int, str]] = []
        self.signed = ""
        """A sentence about the signature."""

    def add(self, code: int, message: str) -> None:
        self.found.append((code, message))

    def try_(self, code: int, step: Callable[[], None]) -> None:
        """Runs a step. If it cannot read something, that is a finding with this `code`; if something is
        missing, because the session was killed before it wrote it, the session is incomplete."""
        try:
            step()
        except FileNotFoundError as error:
            self.add(INCOMPLETE, f"{error.filename or self.folder} is missing")
        except (BootError, HostError):
            raise  # this machine cannot judge it, which is no fault of the folder
        except BenchgateError as error:
            own = (of for kind, of in _OWN_CODES.items() if isinstance(error, kind))
            self.add(next(own, code), str(error))
        except OSError as error:
            self.add(code, f"{error.filename or self.folder} cannot be read: {error.strerror}")

    def check(self, *, recomputed: bool) -> Check:
        if not self.found:
            done = "hashes, chain and every verdict" if recomputed else "hashes and chain"
            signed = f"; {self.signed}" if self.signed else ""
            return Check(INTACT, (f"{self.folder}: intact ({done} agree{signed})",))
        worst = min(code for code, _ in self.found)
        words = {TAMPERED: "tampered", INCOMPLETE: "incomplete", MISMATCH: "mismatch"}
        words |= {UNKNOWN_VERSION: "another version", NEEDS_FILES: "needs files", UNSIGNED: "not signed"}
        lines = (f"{words[code]}: {message}" for code, message in sorted(self.found))
        return Check(worst, (f"{self.folder}: {words[worst]}", *lines))


def _session(folder: Path) -> dict[str, object]:
    if folder.is_symlink():
        folder = folder.resolve()  # `reports/latest` is a link that the user named
    if not folder.is_dir():
        raise EvidenceError(f"{folder} is not a folder; name a session under reports/runs/")
    if not os.path.lexists(folder / SESSION):
        raise EvidenceError(f"{folder} has no {SESSION}; name a session under reports/runs/")
    try:
        return read_object(folder, SESSION)
    except OSError as error:
        raise EvidenceError(f"{folder / SESSION} cannot be read: {error.strerror}") from None


def _check_signature(findings: _Findings, folder: Path, signers: Signers | None) -> None:
    findings.signed = chain.checked_signature(folder, signers)


def _check_files(findings: _Findings, folder: Path) -> None:
    present = set(files_below(folder))
    if MANIFEST not in present:
        findings.add(INCOMPLETE, f"there is no {MANIFEST}: the session was never sealed")
        return
    digests = parse_manifest(read_text(folder, MANIFEST), MANIFEST)
    for name in sorted(present - set(digests) - {MANIFEST, SIGNATURE}):
        findings.add(TAMPERED, f"{name} is not in the manifest: it was added later")
    for name in empty_folders(folder):
        if not _MAY_BE_EMPTY.fullmatch(name):
            findings.add(TAMPERED, f"{name} is an empty folder: it was added later")
    for name, digest in digests.items():
        if name not in present:
            findings.add(INCOMPLETE, f"{name} is in the manifest, but the file is missing")
        elif digest_of(folder, name) != digest:
            findings.add(TAMPERED, f"{name} was changed after the session was sealed")


def _check_chain(findings: _Findings, folder: Path, facts: Mapping[str, object]) -> None:
    links = parse_chain(read_text(folder, ATTEMPTS), ATTEMPTS)
    broken = broken_link(links, str(facts.get("id")))
    if broken:
        findings.add(TAMPERED, f"the chain of attempts breaks at run {broken.run} ({broken.folder})")
        return
    last = links[-1].chain if links else chain_start(str(facts.get("id")))
    if facts.get("state") == COMPLETE and facts.get("chain") != last:
        what = f"{ATTEMPTS} does not end at the attempt that {SESSION} names"
        findings.add(TAMPERED, f"{what}: attempts were removed or added")
    if facts.get("state") == COMPLETE and links and links[-1].run != len(links):
        findings.add(INCOMPLETE, f"{ATTEMPTS} has only {len(links)} of {links[-1].run} attempts")
    for link in links:
        if not (folder / link.folder).is_dir():
            findings.add(INCOMPLETE, f"the folder {link.folder} is missing")
        elif folder_digest(folder, link.folder) != link.digest:
            findings.add(TAMPERED, f"{link.folder} was changed after its run")
    known = {link.folder for link in links}
    for text in sorted(f"runs/{path.name}" for path in (folder / "runs").iterdir()):
        if text not in known:
            findings.add(INCOMPLETE, f"{text} was started, but never recorded")
    _check_rows(findings, folder, links)


def _check_rows(findings: _Findings, folder: Path, links: tuple[Link, ...]) -> None:
    rows = results_csv.parse(read_text(folder, RESULTS), RESULTS)
    listed = [(row.run, str(row.outcome)) for row in rows]
    chained = [(link.run, link.outcome) for link in links]
    if listed != chained:
        findings.add(
            MISMATCH, f"the {len(listed)} runs in {RESULTS} differ from the {len(chained)} in {ATTEMPTS}"
        )


def _check_facts(findings: _Findings, facts: Mapping[str, object]) -> None:
    """What session.json says of its own files. One of an earlier version may say less."""
    formats, exact = facts.get("formats", {}), facts.get("source") == own_source_digest()
    known = isinstance(formats, dict) and all(
        type(version) is int and 1 <= version <= FORMATS.get(name, 0) for name, version in formats.items()
    )
    if not known or (exact and formats != FORMATS):
        findings.add(MISMATCH, f"formats in {SESSION} are not those that benchgate writes: {formats!r:.200}")
    if facts.get("state") == COMPLETE and facts.get("state_reason"):
        findings.add(MISMATCH, f"the session is {COMPLETE}, but its state_reason says why it is not")


FIRST_REPORTS = frozenset(
    {VERDICTS, "summary.md", "junit.xml", "benchmark.json", "speedups.json", "speedup.svg", "metrics.svg"}
)
"""Those of the first version. The others that a session made are in `reports` of its session.json."""


def _written(folder: Path) -> frozenset[str]:
    """The reports that must be there. A session of an earlier version lacks those that it could not make."""
    listed = read_object(folder, SESSION).get("reports", [])
    if not isinstance(listed, list):
        raise EvidenceError(f"{SESSION}: reports is {listed!r:.40}, not a list")
    return FIRST_REPORTS | frozenset(map(str, listed))


def _check_names(
    findings: _Findings,
    folder: Path,
    listed: frozenset[str],
    expected: frozenset[str],
    facts: Mapping[str, object],
) -> None:
    """`listed`: the reports of session.json. This version knows which ones it makes of this session."""
    for name in sorted(listed):
        if "/" in name or not os.path.lexists(folder / name):
            findings.add(MISMATCH, f"{SESSION} lists the report {name}, which is not in the folder")
    if "reports" in facts and facts.get("source") == own_source_digest():
        for name in sorted(expected - FIRST_REPORTS - listed - {RESULTS, METRICS}):
            findings.add(MISMATCH, f"{SESSION} does not list the report {name}")


def _check_reports(findings: _Findings, folder: Path, recompute: Recompute) -> None:
    try:
        with cpu_limit.cpu_seconds(MOST_CPU_S):
            expected = recompute(folder)
    except cpu_limit.CpuLimitExceeded:
        raise EvidenceError(
            f"{folder} cannot be judged again: that takes more than {MOST_CPU_S} s of CPU time. Check the "
            f"patterns of the systems in its {SESSION}, and the oracles: one of them may need endless time"
        ) from None
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        # Untrusted figures can contradict each other in unexpected ways.
        why = f"{type(error).__name__}: {error}"
        raise EvidenceError(f"{folder} cannot be judged again: {why:.200}") from error
    if VERDICTS not in expected:
        raise EvidenceError(f"judging {folder} again gave no verdicts")
    facts, written = read_object(folder, SESSION), _written(folder)
    # as `files.write_whole` encodes them
    due = {name: text.encode(errors="backslashreplace").decode() for name, text in expected.items()}
    there = {
        name: read_text(folder, name) for name in due if name in written or os.path.lexists(folder / name)
    }
    _check_names(findings, folder, written - FIRST_REPORTS, frozenset(expected), facts)
    is_ours = facts.get("source") == own_source_digest()
    found = differences(there, due, same_source=is_ours)
    for name in found.figures:
        findings.add(MISMATCH, f"{name} does not follow from the runs")
    others = {text.partition("/")[0] for text in files_below(folder)} - OWN - set(expected)
    retired: set[str] = set() if is_ours else others & written
    if worded := (*found.wording, *sorted(retired)):
        findings.add(
            UNKNOWN_VERSION,
            "results, metrics and verdicts follow from the runs, but another version of benchgate wrote "
            f"{', '.join(worded)}, which this one words differently or does not write: that version can "
            f"check them (session.json has its commit, {facts.get('commit')!r:.60})",
        )
    for name in sorted(others - retired):
        findings.add(MISMATCH, f"{name} does not belong to a session")


# ---- reports against runs


_WORDS = "reason"
"""The only part of a verdict that is worded."""


@dataclass(frozen=True, slots=True)
class Differences:
    figures: tuple[str, ...]
    """Files that contradict the runs."""
    wording: tuple[str, ...] = ()
    """Files for people and other programs, and reasons. No figure and no verdict is at stake."""


def differences(stored: Mapping[str, str], expected: Mapping[str, str], *, same_source: bool) -> Differences:
    """`same_source`: this benchgate wrote the stored texts, so that every difference counts."""
    differing = [name for name in stored if stored[name] != expected[name]]
    if same_source:
        return Differences(tuple(differing))
    figures = [name for name in differing if _is_contradicted(name, stored[name], expected[name])]
    return Differences(tuple(figures), tuple(name for name in differing if name not in figures))


def _is_contradicted(name: str, stored: str, expected: str) -> bool:
    if name == VERDICTS:
        return not _agree(stored, expected)
    if name == METRICS:
        return all(stored != metrics_csv.as_of_version(number, expected) for number in metrics_csv.VERSIONS)
    return name == RESULTS


def _agree(stored: str, expected: str) -> bool:
    """Whether all fields that both versions write are equal, but for the wording."""
    try:
        ours, theirs = json.loads(expected), json.loads(stored)
    except (ValueError, RecursionError):
        return False
    if not isinstance(theirs, list) or len(theirs) != len(ours):
        return False
    return all(
        isinstance(their, dict)
        and "outcome" in their
        and all(our[key] == their[key] for key in our.keys() & their.keys() - {_WORDS})
        for our, their in zip(ours, theirs, strict=True)
    )
