"""The address of a scheduler, whether it may be used without encryption, and Dask's settings for encryption.

Takes the word of --fleet or of a command; gives the address. Takes a folder that fleet/certificates.py made;
gives distributed.Security. Fails with UsageError that says what to do, also for a folder of another role.
"""

from __future__ import annotations

import ipaddress
import re
import ssl
from pathlib import Path
from typing import TYPE_CHECKING

from benchgate.base.errors import UsageError
from benchgate.base.text import one_line
from benchgate.fleet.certificates import CA, CERTIFICATE, KEY

if TYPE_CHECKING:
    from distributed import Security

TCP, TLS = "tcp", "tls"
DEFAULT_PORT = 8786
_FORM = re.compile(r"(?:(tcp|tls)://)?(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]+|\*)(?::([0-9]{1,5}))?/?")


def checked(word: str, *, certificates: bool) -> str:
    """`tls://HOST:PORT` or `tcp://HOST:PORT`. A word without a scheme means tls if `certificates`, a folder
    of them, was named."""
    found = _FORM.fullmatch(word)
    if found is None or not 0 <= int(found[3] or DEFAULT_PORT) < 65536:
        raise UsageError(f"`{one_line(word)}` is not an address such as tls://build-host:{DEFAULT_PORT}")
    host, port = found[2], found[3] or str(DEFAULT_PORT)
    scheme = found[1] or (TLS if certificates else TCP)
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
            raise UsageError(
                f"--certificates {folder} has no {path.name}; name the folder `{role}` that `benchgate fleet "
                "certificates DIR` made, or DIR itself"
            )
    if KEY in files and files[KEY].stat().st_mode & 0o077:
        raise UsageError(f"{files[KEY]} can be read by others; `chmod 600 {files[KEY]}`")
    return Security(
        require_encryption=True,
        tls_ca_file=str(files[CA]),
        tls_min_version=ssl.TLSVersion.TLSv1_3,
        **{f"tls_{role}_cert": str(files[CERTIFICATE]), f"tls_{role}_key": str(files[KEY])},
    )
