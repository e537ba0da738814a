"""The values of `--fleet` and its certificates and key.

Takes the words of all options, or of a command; gives the values. Fails with OptionError for an option that
cannot be used with a fleet, and with UsageError for an address that may not be used or a key that is no file.
A scheduler that does not answer is waited for, so nobody is asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from benchgate.base.errors import OptionError

FLEET, CERTIFICATES, KEY = "fleet", "fleet_certificates", "fleet_key"
_CLOCKS = (
    "wall time is measured on one worker that does nothing else, and the instruction clock on the others; "
    "make two sessions, --clock wall and --clock insn"
)
_NOT_WITH = {
    "measure": "what it records has this machine's paths; measure here, without --fleet",
    "threads": "workers send no recordings back; measure here, without --fleet",
    "profile-host": "it profiles the QEMU of this host; leave one of them out",
    "qemu": "each worker has its own QEMU, the reviewed one; leave out --qemu",
    "jobs": "each worker's --slots say how many runs it makes at once",
    "cpus": "the operator of a worker chooses its CPUs; leave out --cpus",
}


def read(given: Mapping[str, object]) -> dict[str, object]:
    from benchgate.features.fleet import allow, certificates  # noqa: PLC0415 - few sessions have a fleet

    fleet = str(given.get("fleet") or "")
    folder, key = (_path(given.get(name)) for name in ("fleet-certificates", "fleet-key"))
    if not fleet:
        raise OptionError("fleet-certificates" if folder else "fleet-key", " needs --fleet ADDRESS")
    if given.get("clock") == "both":
        raise OptionError("fleet", f" with --clock both: {_CLOCKS}")
    for name, why in _NOT_WITH.items():
        if given.get(name):
            raise OptionError("fleet", f" with --{name}: {why}")
    certificates.checked_address(fleet, certificates=folder is not None)
    if key:
        allow.require_key(key)
    return {FLEET: fleet, CERTIFICATES: folder, KEY: key}


def _path(word: object) -> Path | None:
    return Path(str(word)).absolute() if word else None
