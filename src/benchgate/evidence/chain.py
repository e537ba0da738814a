"""The two formats that make a session tamper-evident: the manifest of hashes and the chain of attempts.

Takes names, digests and text; gives text and frozen links. Pure. Fails with EvidenceError that names the
line.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from benchgate.base.errors import EvidenceError
from benchgate.base.files import read_json
from benchgate.evidence.files import ATTEMPTS, is_safe_name

_HEX = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Link:
    """One attempt in the chain. `chain` is a hash over this attempt and the chain before it."""

    run: int
    folder: str
    outcome: str
    digest: str
    """Of the names and contents of all files in the attempt's folder."""
    chain: str

    def line(self) -> str:
        fields = {"run": self.run, "folder": self.folder, "outcome": self.outcome}
        return json.dumps(fields | {"digest": self.digest, "chain": self.chain}) + "\n"


def chained(previous: str, run: int, folder: str, outcome: str, digest: str) -> Link:
    text = f"{previous}\n{run}\n{folder}\n{outcome}\n{digest}\n"
    return Link(run, folder, outcome, digest, hashlib.sha256(text.encode()).hexdigest())


def chain_start(session: str) -> str:
    """The start of the chain has the session's id, so that attempts cannot move between sessions."""
    return hashlib.sha256(f"benchgate session {session}\n".encode()).hexdigest()


def manifest_text(digests: Mapping[str, str]) -> str:
    """The format of `sha256sum --check`."""
    return "".join(f"{digest}  {name}\n" for name, digest in sorted(digests.items()))


def parse_manifest(text: str, where: str) -> dict[str, str]:
    digests: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        digest, gap, name = line.partition("  ")
        if not gap or not _HEX.fullmatch(digest) or not is_safe_name(name) or name in digests:
            raise EvidenceError(f"{where}:{number}: not a line of a manifest: {line!r:.120}")
        digests[name] = digest
    return digests


def parse_chain(text: str, where: str) -> tuple[Link, ...]:
    return tuple(_link(line, f"{where}:{n}") for n, line in enumerate(text.splitlines(), start=1))


def broken_link(links: Iterable[Link], session: str) -> Link | None:
    """The first attempt whose hash does not follow from the attempts before it. A number may be missing: of
    guests that ran in parallel, one may have been interrupted. The folder of that attempt still exists."""
    previous, number = chain_start(session), 0
    for link in links:
        expected = chained(previous, link.run, link.folder, link.outcome, link.digest)
        if link != expected or link.run <= number:
            return link
        previous, number = link.chain, link.run
    return None


def _link(line: str, where: str) -> Link:
    try:
        data = read_json(line)
    except (ValueError, RecursionError):
        data = None
    kinds = {"run": int, "folder": str, "outcome": str, "digest": str, "chain": str}
    if not isinstance(data, dict) or {name: type(value) for name, value in data.items()} != kinds:
        raise EvidenceError(f"{where}: not a line of {ATTEMPTS}: {line!r:.120}")
    if not is_safe_name(data["folder"]) or not data["folder"].startswith("runs/"):
        raise EvidenceError(f"{where}: an attempt's folder must be below runs/, not {data['folder']!r:.120}")
    return Link(**data)
