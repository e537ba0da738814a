"""What the operator of a worker allows: a list of digests, what a signer vouches for, or any guest.

Takes a list file or a file of signers, and tasks; gives an `Allowance`, whose `require` is called before
anything of a task is read or started. Fails with CatalogError that names the line of the list, UsageError for
a policy that allows nothing, and RefusedError that says what is not allowed, and how the operator allows it.
What the operator adds to the list is read from a word ROLE=DIGEST or ROLE=FILE (UsageError), or from a
session's folder (EvidenceError).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from benchgate.base import ssh_signatures
from benchgate.base.errors import CatalogError, EvidenceError, UnsignedError, UsageError
from benchgate.base.files import file_digest, read_start
from benchgate.base.ssh_signatures import SignedText, Signers, checked, require, sign
from benchgate.base.text import one_line
from benchgate.evidence.files import SESSION, read_object
from benchgate.features.fleet.errors import RefusedError
from benchgate.features.fleet.task import CLOCK, DISK, PROGRAMS, QEMU, ROLES, SHA256, Item, Task, manifest

NAMESPACE = "benchgate-fleet"
_LARGEST = 1 << 20
_NAMES = ("the manifest of the task", "its signature")
_CLOCK = re.compile(r"\w+ \w+ ([0-9a-f]{64})")
"""A clock as session.json names it: level, mode and the digest of the plugin's sources."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """What an operator allows; at least one of these allows something."""

    file: Path | None = None
    """The list; it is read for each task, so that a change is in force at once."""
    signers: Signers | None = None
    any_guest: bool = False
    """Anything that a client sends runs, in the worker's own QEMU."""

    def require(self, task: Task) -> None:
        """RefusedError unless each item of the task is allowed."""
        items = set(task.items)
        if not {item.role for item in items}.issuperset(PROGRAMS):
            raise RefusedError(f"the task does not name its {' and '.join(PROGRAMS)} by digest")
        if self.any_guest:
            return
        missing = items - (read(self.file) if self.file else frozenset())
        if missing and (unsigned := self._unsigned(task)):
            raise RefusedError(self._why(sorted(missing), unsigned))

    def _unsigned(self, task: Task) -> str:
        """Gives the reason why no signature allows it; empty if one does."""
        if self.signers is None:
            return "this worker accepts no signatures"
        if not task.vouched:
            return "nobody signed it"
        try:
            checked(_signed(task.manifest), task.vouched, self.signers)
        except (EvidenceError, UnsignedError) as error:
            return str(error)
        return ""

    def _why(self, missing: list[Item], unsigned: str) -> str:
        named = ", ".join(map(str, missing))
        ways = []
        if self.file:
            words = " ".join(f"{item.role}={item.sha256}" for item in missing)
            ways.append(f"`benchgate fleet allow {self.file} {words}`")
        if self.signers:
            ways.append(f"a signature by one of {self.signers.file} (the session's --fleet-key)")
        where = f"not in {self.file}" if self.file else "not allowed"
        by = " or ".join(ways)
        return f"{named}: {where}, and {unsigned}; the operator of this worker allows it by {by}"


def policy(file: Path | None, signers: Path | None, *, any_guest: bool) -> Allowance:
    """UsageError if nothing could be allowed, CatalogError if the list cannot be read."""
    if file is None and signers is None and not any_guest:
        raise UsageError(
            "a worker runs only what its operator allows: give --allow FILE (a list of digests; `benchgate "
            "fleet allow` writes it), --signers FILE (who may vouch for a task), or --any-guest (whatever a "
            "client sends runs in this worker's QEMU)"
        )
    result = None if signers is None else Signers(signers)
    if result is not None:
        require(result)
    if file is not None:
        read(file)
    return Allowance(file, result, any_guest)


def read(file: Path) -> frozenset[Item]:
    """The items of a list: lines `ROLE SHA256`, with comments behind `#`."""
    try:
        text = read_start(file, _LARGEST, follow=True).decode()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror or str(error) if isinstance(error, OSError) else "it is not UTF-8 text"
        advice = "next: `benchgate fleet allow` writes one"
        raise CatalogError(f"the list {file} cannot be read: {why}; {advice}") from error
    if len(text) > _LARGEST:
        raise CatalogError(f"the list {file} has more than {_LARGEST} bytes")
    lines = (line.partition("#")[0].split() for line in text.splitlines())
    return frozenset(_item(words, f"{file}:{number}") for number, words in enumerate(lines, 1) if words)


def add(file: Path, items: Iterable[Item], comment: str = "") -> tuple[Item, ...]:
    """Appends the items that the list does not have yet, and gives them."""
    known = read(file) if file.exists() else frozenset()
    fresh = tuple(sorted(set(items) - known))
    behind = f"  # {one_line(comment)}" if comment else ""
    try:
        with file.open("a", encoding="utf-8") as stream:
            stream.write("".join(f"{item}{behind}\n" for item in fresh))
    except OSError as error:
        why = f"{error.strerror}; next: name one where you can write"
        raise UsageError(f"the list {file} cannot be written: {why}") from error
    return fresh


def require_key(key: Path) -> None:
    """UsageError if nothing can be vouched for with it."""
    ssh_signatures.require_key(key, "--fleet-key")


def vouched(items: Iterable[Item], key: Path) -> str:
    """The signature with which the owner of a fleet allows these items."""
    return sign(_signed(manifest(items)), key, "--fleet-key")


def _signed(text: str) -> SignedText:
    return SignedText(text.encode(), NAMESPACE, *_NAMES)


def _item(words: list[str], where: str) -> Item:
    if len(words) != 2 or words[0] not in ROLES or not SHA256.fullmatch(words[1]):
        form = f"a role ({', '.join(ROLES)}) and a SHA-256 in 64 lower-case hex digits"
        raise CatalogError(f"{where}: `{one_line(' '.join(words))}` is not {form}")
    return Item(words[0], words[1])


def item_of_word(word: str) -> Item:
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


def items_of_session(folder: Path) -> list[Item]:
    """Lists the session's guests and QEMUs. Other digests in its inputs are of files that no worker boots."""
    inputs = read_object(folder, SESSION).get("inputs")
    items = []
    for row in (inputs or {}).values() if isinstance(inputs, dict) else ():
        if isinstance(row, dict):
            items += [item for name, value in row.items() for item in _items(name, value, "version" in row)]
    return items


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
