"""Dask's security settings from the folder of certificates of a role. The only module that knows both.

Takes a folder that fleet/certificates.py made; gives distributed.Security. Fails with UsageError if a file is
missing, or if the folder is that of another role.
"""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import TYPE_CHECKING

from benchgate.base.errors import UsageError
from benchgate.fleet.certificates import CA, CERTIFICATE, KEY

if TYPE_CHECKING:
    from distributed import Security


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
