"""The detached signature over a session's manifest (`benchgate docs evidence`).

Takes a session folder, a private key or a list of allowed signers; gives the text of a signature, or a
sentence about one. Fails as base/ssh_signatures.py, which does the work.
"""

from __future__ import annotations

import os
from pathlib import Path

from benchgate.base import ssh_signatures
from benchgate.base.errors import UnsignedError
from benchgate.base.ssh_signatures import LARGEST, SignedText, Signers
from benchgate.evidence.files import MANIFEST, SIGNATURE, read_text

NAMESPACE = "benchgate-manifest"


def sign(folder: Path, key: Path) -> str:
    """A signature over the manifest, by a private key, or by an agent that holds that of a public key."""
    return ssh_signatures.sign(_signed(folder), key)


def has_signature(folder: Path) -> bool:
    return os.path.lexists(folder / SIGNATURE)


def checked(folder: Path, signers: Signers | None) -> str:
    """A sentence about the signature; empty if there is none and nobody asks for one."""
    if not has_signature(folder):
        if signers is None:
            return ""
        raise UnsignedError(f"there is no {SIGNATURE}, but the session must be signed")
    text = read_text(folder, SIGNATURE, LARGEST)
    return ssh_signatures.checked(_signed(folder), text, signers)


def _signed(folder: Path) -> SignedText:
    return SignedText(read_text(folder, MANIFEST).encode(), NAMESPACE, MANIFEST, SIGNATURE)
