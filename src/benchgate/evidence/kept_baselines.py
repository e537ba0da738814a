"""The baselines of a session: read when it begins, kept in its folder, and read back by `verify`.

Takes the words of marks, which are paths; gives baselines by word. A file that does not exist is left out,
and its gates are INVALID. Fails with EvidenceError if a file is not a baseline, or if the kept one was
changed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchgate.base.baselines import Baseline, BaselineSet
from benchgate.base.errors import EvidenceError, IncompleteError
from benchgate.evidence import baseline_file
from benchgate.evidence.baseline_file import LARGEST
from benchgate.evidence.files import read_text
from benchgate.evidence.origins import origin_of

FOLDER = "baselines"
"""The folder of baselines within a session's folder."""
FACT = "baselines"
"""The key of session.json that has the digest of each file, by the word of the marks."""
_HEX = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class BaselineCopy:
    """One file, as it was when the session began."""

    text: str
    baseline: Baseline

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def name(self) -> str:
        return f"{FOLDER}/{self.digest}.json"


def load(words: Iterable[str]) -> dict[str, BaselineCopy]:
    return {word: kept for word in dict.fromkeys(words) if (kept := find(word))}


def find(word: str) -> BaselineCopy | None:
    """None if there is no such file."""
    path = Path(word).absolute()
    try:
        text = read_text(path.parent, path.name, LARGEST)
    except IncompleteError:
        return None
    return BaselineCopy(text, baseline_file.parse(text, word))


def read_back(folder: Path, facts: Mapping[str, Any], where: str) -> BaselineSet:
    """What the gates of a recorded session may compare with; nothing in one of an earlier version."""
    words = facts.get(FACT, {})
    if not isinstance(words, Mapping):
        raise EvidenceError(f"{where}: {FACT} is {words!r:.40}, not an object")
    found = {word: _again(folder, str(digest), where) for word, digest in words.items()}
    return BaselineSet(origin_of(facts, where), found)


def _again(folder: Path, digest: str, where: str) -> Baseline:
    if not _HEX.fullmatch(digest):
        raise EvidenceError(f"{where}: {digest!r:.80} is not the digest of a baseline")
    name = f"{FOLDER}/{digest}.json"
    kept = BaselineCopy(
        text := read_text(folder, name, LARGEST), baseline_file.parse(text, str(folder / name))
    )
    if kept.digest != digest:
        raise EvidenceError(f"{folder / name} is not the baseline with which the session compared")
    return kept.baseline
