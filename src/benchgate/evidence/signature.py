"""The detached signature over a session's manifest, made and checked by ssh-keygen (docs/evidence.md).

Takes a session folder, a private key or a list of allowed signers; gives the text of a signature, or a
sentence about one. Fails with EvidenceError if the file is not a signature of the manifest beside it, with
UnsignedError if no named signer made it, with UsageError for an unusable key or list, and with HostError
without ssh-keygen.
"""

from __future__ import annotations

import base64
import binascii
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchgate.base import process
from benchgate.base.errors import EvidenceError, HostError, UnsignedError, UsageError
from benchgate.base.text import one_line
from benchgate.evidence.files import MANIFEST, SIGNATURE, read_text

NAMESPACE = "benchgate-manifest"
"""Part of what is signed, so that a signature made for git, or for anything else, is none of a session."""

_BEGIN, _END = "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"
_LINE = 70
_LARGEST = 64 << 10
_PATIENCE_S = 60.0
_MOST_PRINCIPALS = 100
_PROGRAM = "ssh-keygen"


@dataclass(frozen=True, slots=True)
class Signers:
    """Whose signature a verifier accepts."""

    file: Path
    """In the format ALLOWED SIGNERS of ssh-keygen(1)."""
    identity: str = ""
    """The one identity of the file that must have signed; empty: any of them."""


def require(signers: Signers) -> None:
    """UsageError or HostError unless signatures can be compared with this file."""
    if not signers.file.is_file():
        raise UsageError(f"--signers {signers.file} is not a file; ssh-keygen(1) has its format")
    _program()


def sign(folder: Path, key: Path) -> str:
    """A signature over the manifest, by a private key, or by an agent that holds that of a public key."""
    if not key.is_file():
        raise UsageError(f"--key {key} is not a file; name a private key, or a public key whose agent runs")
    done = _ssh(["sign", "-f", str(key.absolute()), "-n", NAMESPACE], read_text(folder, MANIFEST).encode())
    if done.returncode != 0:
        raise UsageError(
            f"--key {key}: ssh-keygen did not sign: {_last(done)}; a key with a passphrase must be in an "
            "ssh-agent: then name its public key"
        )
    _require_form(done.stdout, f"what {_PROGRAM} printed")
    return done.stdout


def has_signature(folder: Path) -> bool:
    return os.path.lexists(folder / SIGNATURE)


def checked(folder: Path, signers: Signers | None) -> str:
    """A sentence about the signature; empty if there is none and nobody asks for one."""
    if not has_signature(folder):
        if signers is None:
            return ""
        raise UnsignedError(f"there is no {SIGNATURE}, but the session must be signed")
    text, manifest = read_text(folder, SIGNATURE, _LARGEST), read_text(folder, MANIFEST).encode()
    _require_form(text, SIGNATURE)
    if signers is None and shutil.which(_PROGRAM) is None:
        return f"its signature was not checked: {_PROGRAM} is not installed"
    with tempfile.TemporaryDirectory(prefix="benchgate-signature-") as place:
        copy = Path(place, SIGNATURE)
        copy.write_text(text, encoding="utf-8")
        done = _ssh(["check-novalidate", "-n", NAMESPACE, "-s", str(copy)], manifest)
        if done.returncode != 0:
            raise EvidenceError(f"{SIGNATURE} is not a signature of this {MANIFEST}: {_last(done)}")
        if signers is None:
            return "signed, but by whom was not checked: name --signers"
        return _signer(copy, manifest, signers)


def _signer(signature: Path, manifest: bytes, signers: Signers) -> str:
    """The sentence of ssh-keygen about the first of the signers that made the signature."""
    allowed, said = str(signers.file.absolute()), ""
    names = [signers.identity]
    if not signers.identity:
        found = _ssh(["find-principals", "-s", str(signature), "-f", allowed])
        names, said = found.stdout.splitlines()[:_MOST_PRINCIPALS], _last(found)
    for name in filter(None, names):
        words = ["verify", "-f", allowed, "-I", name, "-n", NAMESPACE, "-s", str(signature)]
        done = _ssh(words, manifest)
        if done.returncode == 0:
            return one_line(f"signed by {name}: {done.stdout}")
        said = _last(done)
    who = f"{signers.identity} of {signers.file}" if signers.identity else f"a signer of {signers.file}"
    raise UnsignedError(f"{SIGNATURE} is not by {who}: {said}")


def _require_form(text: str, where: str) -> None:
    """Only the form in which ssh-keygen writes: base64 leaves freedom that no signature covers."""
    lines = text.split("\n")
    body = "".join(lines[1:-2])
    try:
        whole = base64.b64encode(base64.b64decode(body, validate=True)).decode()
    except (binascii.Error, ValueError):
        whole = ""
    cut = [whole[start : start + _LINE] for start in range(0, len(whole), _LINE)]
    if not whole or lines != [_BEGIN, *cut, _END, ""]:
        raise EvidenceError(f"{where} is not in the form in which {_PROGRAM} writes a signature")


def _ssh(words: list[str], given: bytes = b"") -> subprocess.CompletedProcess[str]:
    path = _program()
    # A passphrase would be asked on a terminal that belongs to somebody else: it is refused at once.
    asking = {"SSH_ASKPASS": "false", "SSH_ASKPASS_REQUIRE": "force"}
    agent = {name: os.environ[name] for name in ("SSH_AUTH_SOCK",) if name in os.environ}
    try:
        return process.capture(
            [path, "-Y", *words], _PATIENCE_S, process.base_environment({**agent, **asking}), given
        )
    except subprocess.TimeoutExpired:
        raise HostError(f"{_PROGRAM} did not end in {_PATIENCE_S:.0f} s; does its agent answer?") from None


def _program() -> str:
    path = shutil.which(_PROGRAM)
    if path is None:
        raise HostError(f"signatures need {_PROGRAM}, which is not installed; install openssh-client")
    return path


def _last(done: subprocess.CompletedProcess[str]) -> str:
    """The last line that ssh-keygen printed, safe to show."""
    lines = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
    return one_line(lines[-1]) if lines else f"exit status {done.returncode}"
