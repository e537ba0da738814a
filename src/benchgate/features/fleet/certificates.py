"""How the connections of a fleet are secured: the address of its scheduler, and certificates for each role.

`make` takes a folder; writes FOLDER/authority (the key that makes further certificates; it stays where it is)
and FOLDER/scheduler, FOLDER/worker and FOLDER/client, each with ca.pem, cert.pem and key.pem for the machines
of that role. Fails with UsageError if the folder exists already or cannot be made, and with HostError without
openssl or if it fails. Then nothing is left of the folder.

A role is in the certificate, as its unit (OU) and as what it may be used for: a client's is for clients only,
so whoever takes it cannot play the scheduler. fleet/limited.py asks for the unit.

`checked_address` takes the word of --fleet or of a command; gives the address. `security` takes such a folder
of a role; gives distributed.Security. Both fail with UsageError that says what to do: an address outside this
machine needs encryption, and a role needs its own folder.
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
import re
import shutil
import ssl
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchgate.base import process
from benchgate.base.errors import HostError, UsageError
from benchgate.base.text import one_line

if TYPE_CHECKING:
    from distributed import Security


SCHEDULER, WORKER, CLIENT = "scheduler", "worker", "client"
ROLES = (SCHEDULER, WORKER, CLIENT)
AUTHORITY = "authority"
CA, CERTIFICATE, KEY = "ca.pem", "cert.pem", "key.pem"
DAYS = 825
_USES = {SCHEDULER: "serverAuth,clientAuth", WORKER: "serverAuth,clientAuth", CLIENT: "clientAuth"}
_PATIENCE_S = 60.0
_CURVE = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc")
TCP, TLS = "tcp", "tls"
DEFAULT_PORT = 8786
_FORM = re.compile(r"(?:(tcp|tls)://)?(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]+|\*)(?::([0-9]{1,5}))?/?")


def make(folder: Path, days: int = DAYS) -> None:
    """Makes all of them. Only their owner can read the keys."""
    if shutil.which("openssl") is None:
        why = "certificates are made by openssl, which is not installed"
        raise HostError(f"{why}; install the package openssl")
    fresh = [parent for parent in (folder, *folder.parents) if not os.path.lexists(parent)]
    try:
        _make_folder(folder)
        _fill(folder, days)
    except BaseException:
        for path in fresh:  # what is in it is in the way of its removal
            with contextlib.suppress(OSError):
                path.rmdir()
        raise


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True)
    except FileExistsError as error:
        advice = "name a new folder: certificates that are in use are not overwritten"
        raise UsageError(f"{folder}: {error.strerror}; {advice}") from error
    except OSError as error:
        advice = "next: name a new folder where you can write"
        raise UsageError(f"{folder} cannot be made: {error.strerror}; {advice}") from error


def _fill(folder: Path, days: int) -> None:
    with tempfile.TemporaryDirectory(dir=folder, prefix=".making-") as place:
        made = Path(place)
        authority = _authority(made / AUTHORITY, days)
        for role in ROLES:
            _certificate(made / role, role, authority, days)
        for text in (AUTHORITY, *ROLES):
            (made / text).rename(folder / text)


def _authority(folder: Path, days: int) -> Path:
    folder.mkdir(mode=0o700)
    _openssl(
        *("req", "-x509", *_CURVE, "-days", str(days), "-subj", "/O=benchgate fleet/CN=authority"),
        *("-addext", "basicConstraints=critical,CA:TRUE,pathlen:0"),
        *("-addext", "keyUsage=critical,keyCertSign,cRLSign"),
        *("-keyout", str(folder / KEY), "-out", str(folder / CA)),
    )
    (folder / KEY).chmod(0o600)
    return folder


def _certificate(folder: Path, role: str, authority: Path, days: int) -> None:
    folder.mkdir(mode=0o700)
    request, extensions = folder / "request.pem", folder / "extensions"
    extensions.write_text(
        "basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\n"
        f"extendedKeyUsage={_USES[role]}\nsubjectAltName=DNS:{role}.benchgate\n",
        encoding="ascii",
    )
    subject = f"/O=benchgate fleet/OU={role}/CN={role}"
    _openssl("req", "-new", *_CURVE, "-subj", subject, "-keyout", str(folder / KEY), "-out", str(request))
    _openssl(
        *("x509", "-req", "-in", str(request), "-CA", str(authority / CA), "-CAkey", str(authority / KEY)),
        *("-days", str(days), "-extfile", str(extensions), "-out", str(folder / CERTIFICATE)),
    )
    (folder / KEY).chmod(0o600)
    shutil.copy(authority / CA, folder / CA)
    request.unlink()
    extensions.unlink()


def _openssl(*words: str) -> None:
    try:
        done = process.capture(["openssl", *words], _PATIENCE_S, process.base_environment({}))
    except subprocess.TimeoutExpired:
        raise HostError(f"openssl {words[0]} did not end in {_PATIENCE_S:.0f} s") from None
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.strip()] or ["it said nothing"]
        raise HostError(f"openssl {words[0]} failed: {one_line(lines[-1])}")


def checked_address(word: str, *, certificates: bool) -> str:
    """`tls://HOST:PORT` or `tcp://HOST:PORT`. A word without a scheme means tls if `certificates`, a folder
    of them, was named."""
    match = _FORM.fullmatch(word)
    if match is None or not 0 <= int(match[3] or DEFAULT_PORT) < 65536:
        raise UsageError(f"`{one_line(word)}` is not an address such as tls://build-host:{DEFAULT_PORT}")
    host, port = match[2], match[3] or str(DEFAULT_PORT)
    scheme = match[1] or (TLS if certificates else TCP)
    if scheme == TCP and not is_loopback(host):
        raise UsageError(
            f"{one_line(word)} is outside this machine, where a fleet speaks TLS only: whoever can write to "
            "plain TCP can run guests on its workers. Make certificates with `benchgate fleet certificates "
            f"DIR`, copy its folders to the machines, and use tls://{host}:{port} with --certificates DIR"
        )
    if scheme == TLS and not certificates:
        raise UsageError(
            f"{one_line(word)} needs certificates: give --certificates DIR, the folder of this machine's "
            "role that `benchgate fleet certificates` made"
        )
    return f"{scheme}://{host}:{port}"


def is_loopback(host: str) -> bool:
    """A name is not looked up: another answer could be given to Dask."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def security(folder: Path, role: str) -> Security:
    from distributed import Security  # noqa: PLC0415 - an optional dependency

    here = folder / role if (folder / role / CERTIFICATE).is_file() else folder
    files = {name: here / name for name in (CA, CERTIFICATE, KEY)}
    for path in files.values():
        if not path.is_file():
            advice = f"name the folder `{role}` that `benchgate fleet certificates DIR` made, or DIR itself"
            raise UsageError(f"--certificates {folder} has no {path.name}; {advice}")
    if files[KEY].stat().st_mode & 0o077:
        raise UsageError(f"{files[KEY]} can be read by others; `chmod 600 {files[KEY]}`")
    return Security(
        require_encryption=True,
        tls_ca_file=str(files[CA]),
        tls_min_version=ssl.TLSVersion.TLSv1_3,
        **{f"tls_{role}_cert": str(files[CERTIFICATE]), f"tls_{role}_key": str(files[KEY])},
    )
