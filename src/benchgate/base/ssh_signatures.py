"""Detached signatures over a text, made and checked by ssh-keygen.

Takes a text, what it is (a namespace, and names for messages), a private key or a list of allowed signers;
gives the text of a signature, or a sentence about one. Fails with EvidenceError if it is not a signature of
that text, with UnsignedError if no named signer made it, with UsageError for an unusable key or list, and
with HostError without ssh-keygen.
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

LARGEST = 64 << 10
"""The largest size of a signature, in bytes."""
PROGRAM = "ssh-keygen"
_BEGIN, _END = "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"
_LINE = 70
_PATIENCE_S = 60.0
_MOST_PRINCIPALS = 100


@dataclass(frozen=True, slots=True)
class Signers:
    """The signers whose signatures a verifier accepts."""

    file: Path
    """A file in the format ALLOWED SIGNERS of ssh-keygen(1)."""
    identity: str = ""
    """The identity in the file that must have signed; empty if any may have."""


@dataclass(frozen=True, slots=True)
class SignedText:
    """A text that is signed, and its names."""

    text: bytes
    namespace: str
    """This is signed too, so that a signature made for git or anything else is not accepted here."""
    name: str
    """The name of the text in messages."""
    signature: str
    """The name of its signature in messages."""


def require(signers: Signers) -> None:
    """Raises UsageError or HostError unless signatures can be compared with this file."""
    if not signers.file.is_file():
        raise UsageError(f"--signers {signers.file} is not a file; ssh-keygen(1) has its format")
    _program()


def require_key(key: Path, option: str = "--key") -> None:
    """Raises UsageError unless the file exists. It is first tested as a key when it signs."""
    if not key.is_file():
        raise UsageError(
            f"{option} {key} is not a file; name a private key, or a public key whose agent runs"
        )


def sign(what: SignedText, key: Path, option: str = "--key") -> str:
    """Signs with a private key, or through an agent that holds the private key of a public one."""
    require_key(key, option)
    done = _ssh(["sign", "-f", str(key.absolute()), "-n", what.namespace], what.text)
    if done.returncode != 0:
        raise UsageError(
            f"{option} {key}: ssh-keygen did not sign: {_last(done)}; a key with a passphrase must be in an "
            "ssh-agent: then name its public key"
        )
    _require_form(done.stdout, f"what {PROGRAM} printed")
    return done.stdout


def checked(what: SignedText, signature: str, signers: Signers | None) -> str:
    """Checks the signature and gives a sentence about it."""
    _require_form(signature, what.signature)
    if signers is None and shutil.which(PROGRAM) is None:
        return f"its signature was not checked: {PROGRAM} is not installed"
    with tempfile.TemporaryDirectory(prefix="benchgate-signature-") as place:
        copy = Path(place, "signature")
        copy.write_text(signature, encoding="utf-8")
        done = _ssh(["check-novalidate", "-n", what.namespace, "-s", str(copy)], what.text)
        if done.returncode != 0:
            raise EvidenceError(f"{what.signature} is not a signature of this {what.name}: {_last(done)}")
        if signers is None:
            return "signed, but by whom was not checked: name --signers"
        return _signer(what, copy, signers)


def _signer(what: SignedText, signature: Path, signers: Signers) -> str:
    """The sentence of ssh-keygen about the first of the signers that made the signature."""
    allowed, said = str(signers.file.absolute()), ""
    names = [signers.identity]
    if not signers.identity:
        found = _ssh(["find-principals", "-s", str(signature), "-f", allowed])
        names, said = found.stdout.splitlines()[:_MOST_PRINCIPALS], _last(found)
    for name in filter(None, names):
        words = ["verify", "-f", allowed, "-I", name, "-n", what.namespace, "-s", str(signature)]
        done = _ssh(words, what.text)
        if done.returncode == 0:
            return one_line(f"signed by {name}: {done.stdout}")
        said = _last(done)
    who = f"{signers.identity} of {signers.file}" if signers.identity else f"a signer of {signers.file}"
    raise UnsignedError(f"{what.signature} is not by {who}: {said}")


def _require_form(text: str, where: str) -> None:
    """Accepts only the form that ssh-keygen writes, because base64 has several forms of the same data."""
    lines = text.split("\n")
    body = "".join(lines[1:-2])
    try:
        whole = base64.b64encode(base64.b64decode(body, validate=True)).decode()
    except (binascii.Error, ValueError):
        whole = ""
    cut = [whole[start : start + _LINE] for start in range(0, len(whole), _LINE)]
    if not whole or lines != [_BEGIN, *cut, _END, ""]:
        raise EvidenceError(f"{where} is not in the form in which {PROGRAM} writes a signature")


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
        raise HostError(f"{PROGRAM} did not end in {_PATIENCE_S:.0f} s; does its agent answer?") from None


def _program() -> str:
    path = shutil.which(PROGRAM)
    if path is None:
        raise HostError(f"signatures need {PROGRAM}, which is not installed; install openssh-client")
    return path


def _last(done: subprocess.CompletedProcess[str]) -> str:
    """The last line that ssh-keygen printed, safe to show."""
    lines = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
    return one_line(lines[-1]) if lines else f"exit status {done.returncode}"
