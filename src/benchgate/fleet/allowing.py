"""What the operator of a worker wants to add to the list, from words or from a session.

Takes a word ROLE=DIGEST or ROLE=FILE, or a session's folder; gives items. Fails with UsageError for a word,
and with EvidenceError for a folder that is no session.
"""

from __future__ import annotations

import re
from pathlib import Path

from benchgate.base.errors import UsageError
from benchgate.base.files import file_digest
from benchgate.evidence.files import SESSION, read_object
from benchgate.fleet.task import CLOCK, DISK, PROGRAMS, QEMU, ROLES, SHA256, Item

_CLOCK = re.compile(r"\w+ \w+ ([0-9a-f]{64})")
"""As session.json has it: level, mode and the digest of the plugin's sources."""


def item(word: str) -> Item:
    role, equals, value = word.partition("=")
    if role not in ROLES or not equals:
        raise UsageError(f"`{word}` is not ROLE=DIGEST or ROLE=FILE; a role is one of {', '.join(ROLES)}")
    if SHA256.fullmatch(value):
        return Item(role, value)
    if role in PROGRAMS:
        raise UsageError(f"`{word}`: {role} needs a SHA-256: that of a worker is in `benchgate doctor`")
    try:
        return Item(role, file_digest(Path(value)))
    except OSError as error:
        raise UsageError(f"`{word}`: {value} is neither a SHA-256 nor a file: {error.strerror}") from error


def of_session(folder: Path) -> list[Item]:
    """Of its guests and its QEMUs. Other digests in its inputs are of files that no worker boots."""
    inputs = read_object(folder, SESSION).get("inputs")
    found = []
    for row in (inputs or {}).values() if isinstance(inputs, dict) else ():
        if isinstance(row, dict):
            found += [one for name, value in row.items() for one in _items(name, value, "version" in row)]
    return found


def _items(name: str, value: object, is_qemu: bool) -> list[Item]:
    if not isinstance(value, str):
        return []
    if is_qemu:
        clock = _CLOCK.fullmatch(value) if name == CLOCK else None
        if clock:
            return [Item(CLOCK, clock[1])]
        return [Item(QEMU, value)] if name == "digest" and SHA256.fullmatch(value) else []
    role = DISK if re.fullmatch(r"disk[0-9]+", name) else name
    return [Item(role, value)] if role in ROLES and SHA256.fullmatch(value) else []
