"""Files with which gates compare: read when a session begins, and kept in its folder, to judge it from again.

Takes gates, whose marks name the files, and the facts of session.json; gives copies, and by the name of their
kind (hooks.GateFile) what gates compare with. A file that does not exist is left out, and its gates say so.
Fails with EvidenceError for a file that is not of its kind, and for a kept one that was changed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchgate import hooks
from benchgate.base.errors import EvidenceError, IncompleteError
from benchgate.base.gates import Gate
from benchgate.evidence.files import read_text
from benchgate.hooks import GateFile

_HEX = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class FileCopy:
    """One file, as it was when the session began."""

    kind: GateFile
    word: str
    """As the mark names it."""
    text: str
    content: object

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def path(self) -> str:
        """Its place in the session's folder."""
        return _path(self.kind, self.digest)


def load(gates: Iterable[Gate]) -> tuple[FileCopy, ...]:
    """Each file once."""
    named = dict.fromkeys((gate.kind, gate.against) for gate in gates if gate.against)
    copies = (find(kind, word) for kind, word in named)
    return tuple({(copy.kind.name, copy.word): copy for copy in copies if copy}.values())


def find(gate: str, word: str) -> FileCopy | None:
    """The file of a gate of this kind; None if there is no such file."""
    kind, path = hooks.kept_by(gate), Path(word).absolute()
    if kind is None:
        raise EvidenceError(f"{word}: no feature of this benchgate knows what a gate {gate} compares with")
    try:
        text = read_text(path.parent, path.name, kind.largest)
    except IncompleteError:
        return None
    return FileCopy(kind, word, text, kind.module().parse(text, word))


def facts_of(copies: Iterable[FileCopy]) -> dict[str, dict[str, str]]:
    """What session.json says of them: the digest of each, by its word."""
    result: dict[str, dict[str, str]] = {}
    for copy in copies:
        result.setdefault(copy.kind.folder, {})[copy.word] = copy.digest
    return result


def for_gates(copies: Iterable[FileCopy], facts: Mapping[str, Any], where: str) -> dict[str, object]:
    """What the gates of a session with these facts compare with, by the name of its kind."""
    kinds, contents = {}, dict[str, dict[str, object]]()
    for copy in copies:
        kinds[copy.kind.name] = copy.kind
        contents.setdefault(copy.kind.name, {})[copy.word] = copy.content
    return {name: kind.module().for_gates(facts, where, contents[name]) for name, kind in kinds.items()}


def read_back(folder: Path, facts: Mapping[str, Any], where: str) -> dict[str, object]:
    """The same of a recorded session; nothing in one of an earlier version."""
    copies = []
    for kind in hooks.kept_files():
        words = facts.get(kind.folder, {})
        if not isinstance(words, Mapping):
            raise EvidenceError(f"{where}: {kind.folder} is {words!r:.40}, not an object")
        copies += [_again(folder, kind, word, str(digest), where) for word, digest in words.items()]
    return for_gates(copies, facts, where)


def _again(folder: Path, kind: GateFile, word: str, digest: str, where: str) -> FileCopy:
    if not _HEX.fullmatch(digest):
        raise EvidenceError(f"{where}: {digest!r:.80} is not the digest of a {kind.name}")
    path = _path(kind, digest)
    text = read_text(folder, path, kind.largest)
    copy = FileCopy(kind, word, text, kind.module().parse(text, str(folder / path)))
    if copy.digest != digest:
        raise EvidenceError(f"{folder / path} is not the {kind.name} with which the session compared")
    return copy


def _path(kind: GateFile, digest: str) -> str:
    return f"{kind.folder}/{digest}{kind.suffix}"
