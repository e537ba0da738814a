"""The formats that make a session tamper-evident: the manifest of hashes, the chain of attempts, and the
detached signature over the manifest (`benchgate docs evidence`).

Takes names, digests and text; gives text and frozen links. Fails with EvidenceError that names the line.
Signing takes a session folder, a private key or a list of allowed signers; gives the text of a signature, or
a sentence about one. It fails as base/ssh_signatures.py, which does the work; the rest is pure.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchgate.base import ssh_signatures
from benchgate.base.errors import EvidenceError, IncompleteError, UnsignedError
from benchgate.base.files import read_json
from benchgate.base.jsonfields import as_json, read
from benchgate.base.ssh_signatures import LARGEST, SignedText, Signers
from benchgate.evidence.files import ATTEMPTS, MANIFEST, SIGNATURE, is_safe_name, read_text

_HEX = re.compile(r"[0-9a-f]{64}")
NAMESPACE = "benchgate-manifest"


@dataclass(frozen=True, slots=True)
class Link:
    """One attempt in the chain. `chain` is a hash over this attempt and the chain before it."""

    run: int
    folder: str
    outcome: str
    digest: str
    """The digest of the names and contents of all files in the attempt's folder."""
    chain: str

    def line(self) -> str:
        return json.dumps(as_json(self)) + "\n"


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
    """The digests by name. Only the text that `manifest_text` gives is a manifest: nothing hashes it, so that
    any freedom in its form would be a change that cannot be found."""
    digests: dict[str, str] = {}
    for number, line in enumerate(text.removesuffix("\n").split("\n") if text else (), start=1):
        digest, gap, name = line.partition("  ")
        if not gap or not _HEX.fullmatch(digest) or not is_safe_name(name) or name in digests:
            raise EvidenceError(f"{where}:{number}: not a line of a manifest: {line!r:.120}")
        digests[name] = digest
    if manifest_text(digests) != text:
        raise EvidenceError(f"{where}: the lines are not sorted by name, or the last one has no line end")
    return digests


def parse_chain(text: str, where: str) -> tuple[Link, ...]:
    """The links, strictly in the form in which they are written."""
    *lines, rest = text.split("\n")
    links = tuple(_link(line, f"{where}:{n}") for n, line in enumerate(lines, start=1))
    if rest:
        raise IncompleteError(f"{where}:{len(lines) + 1}: the last line has no line end: it is truncated")
    return links


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
        link = read(Link, read_json(line), "the line")
    except ValueError as error:
        raise EvidenceError(f"{where}: not a line of {ATTEMPTS}: {line!r:.120}") from error
    if not is_safe_name(link.folder) or not link.folder.startswith("runs/"):
        raise EvidenceError(f"{where}: an attempt's folder must be below runs/, not {link.folder!r:.120}")
    if link.line() != f"{line}\n":
        raise EvidenceError(f"{where}: not a line as benchgate writes it: {line!r:.120}")
    return link


def sign_manifest(folder: Path, key: Path) -> str:
    """A signature over the manifest, by a private key, or by an agent that holds that of a public key."""
    return ssh_signatures.sign(_signed(folder), key)


def has_signature(folder: Path) -> bool:
    return os.path.lexists(folder / SIGNATURE)


def checked_signature(folder: Path, signers: Signers | None) -> str:
    """A sentence about the signature; empty if there is none and nobody asks for one."""
    if not has_signature(folder):
        if signers is None:
            return ""
        raise UnsignedError(f"there is no {SIGNATURE}, but the session must be signed")
    text = read_text(folder, SIGNATURE, LARGEST)
    return ssh_signatures.checked(_signed(folder), text, signers)


def _signed(folder: Path) -> SignedText:
    return SignedText(read_text(folder, MANIFEST).encode(), NAMESPACE, MANIFEST, SIGNATURE)
