"""Identifies the distribution and its own package source, with the suites that benchgate needs.

Takes os-release and the files of /etc/apt in both of their formats, gives the text of a private sources file.
Pure except for `read`. Fails with FetchError if /etc/apt has no source of this host's distribution.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from benchgate.base.errors import FetchError
from benchgate.base.system.arch import X86_64, Architecture

_WITH_BACKPORTS = frozenset({"bookworm"})
"""Debian releases whose QEMU is too old for the instruction clock, but not the one in their backports."""
_ALIASES = frozenset({"stable", "oldstable", "oldoldstable", "testing", "unstable", "sid"})
"""Debian's aliases, which move from release to release."""
_SAME_NAME = ("signed-by", "trusted", "check-date", "check-valid-until", "valid-until-max")
_OPTIONS = {"arch": "architectures"} | {name: name for name in _SAME_NAME}
"""The options of a `deb` line that benchgate keeps, and their names in deb822."""
_SOURCE_LINE = re.compile(r"(deb|deb-src)\s+(?:\[(?P<options>[^]]*)\]\s+)?(?P<rest>.+)")

Stanza = Mapping[str, str]
"""One package source: deb822 field names in lower case, with their values."""


@dataclass(frozen=True, slots=True)
class Release:
    """A Debian or Ubuntu release; for a derivative, the release that it is based on."""

    name: str
    """The name in the lock files, for example `debian-bookworm`."""
    family: str
    codename: str
    suites: tuple[str, ...]
    linux: str
    """The package that depends on the newest small kernel for virtual machines."""
    architecture: str = X86_64.debian
    """The packages' architecture, as Debian writes it."""


def release(words: Mapping[str, str]) -> Release | None:
    """The release from the fields of os-release; None if the distribution is not based on Debian."""
    relatives = {words.get("ID", ""), *words.get("ID_LIKE", "").split()}
    if codename := words.get("UBUNTU_CODENAME") or ("ubuntu" in relatives and words.get("VERSION_CODENAME")):
        suites = (codename, f"{codename}-updates", f"{codename}-security")
        return Release(f"ubuntu-{codename}", "ubuntu", codename, suites, X86_64.linux["ubuntu"])
    codename = words.get("DEBIAN_CODENAME") or words.get("VERSION_CODENAME")
    if "debian" in relatives and codename:
        suites = (codename, *((f"{codename}-backports",) if codename in _WITH_BACKPORTS else ()))
        return Release(f"debian-{codename}", "debian", codename, suites, X86_64.linux["debian"])
    return None


def for_guests(release: Release, guest: Architecture) -> Release:
    """The same release, for packages that run in guests of this architecture."""
    if guest is X86_64:
        return release
    if release.family not in guest.linux:
        raise FetchError(
            f"{release.name}: this host's package source has no packages of {guest.name}: "
            "give the Linux image with --linux-kernel PATH"
        )
    later = guest.linux_since.get(release.codename)
    suites = (later,) if later else release.suites
    return replace(release, suites=suites, linux=guest.linux[release.family], architecture=guest.debian)


def read(folder: Path = Path("/etc/apt")) -> list[Stanza]:
    """All enabled binary package sources of this host. Unreadable files are ignored."""
    result: list[Stanza] = []
    parts = sorted((folder / "sources.list.d").glob("*"))
    for path in [folder / "sources.list", *parts]:
        try:
            text = path.read_text(errors="replace")
        except OSError:
            continue
        if path.suffix == ".sources":
            result += parse_deb822(text)
        elif path.suffix == ".list":
            result += parse_lines(text)
    return result


def parse_deb822(text: str) -> list[Stanza]:
    """Reads stanzas of `Field: value` lines. A value of several lines, such as a key, keeps them."""
    result: list[Stanza] = []
    lines = (line for line in text.splitlines() if not line.startswith("#"))
    for block in re.split(r"\n[ \t]*\n", "\n".join(lines)):
        fields: dict[str, str] = {}
        name = ""
        for line in block.splitlines():
            if line[:1] in " \t" and name:
                fields[name] += f"\n{line}"
            elif ":" in line:
                name, value = (part.strip() for part in line.split(":", 1))
                name = name.lower()
                fields[name] = value
        if _usable(fields):
            result.append(fields)
    return result


def parse_lines(text: str) -> list[Stanza]:
    """Reads `deb [option=value] URI suite component...` lines as stanzas."""
    result: list[Stanza] = []
    for raw in text.splitlines():
        match = _SOURCE_LINE.fullmatch(raw.partition("#")[0].strip())
        words = match["rest"].split() if match else []
        if match is None or len(words) < 2:
            continue
        fields = {"types": match[1], "uris": words[0], "suites": words[1], "components": " ".join(words[2:])}
        for option in shlex.split(match["options"] or ""):
            name, _, value = option.partition("=")
            if field := _OPTIONS.get(name.lower()):
                fields[field] = value.replace(",", " ")
        if _usable(fields):
            result.append(fields)
    return result


def private_sources(stanzas: list[Stanza], wanted: Release, here: Release) -> str:
    """The host's own source of its distribution, with the suites that benchgate needs, as deb822 text."""
    names = {here.codename, *(_ALIASES if here.family == "debian" else ())}
    of_release = [stanza for stanza in stanzas if names & {*stanza["suites"].split()}]
    own = [stanza for stanza in of_release if "main" in stanza["components"].split()]
    if not own:
        raise FetchError(
            f"/etc/apt names no package source with the suite {here.codename} and the component main: "
            "add the distribution's own source, or give --qemu PATH and --linux-kernel PATH"
        )
    update_suites = {f"{name}-{more}" for name in names for more in ("updates", "security", "backports")}
    updates = [stanza for stanza in stanzas if update_suites & {*stanza["suites"].split()}]
    updated = {uri for stanza in updates for uri in stanza["uris"].split()}
    best = max(own, key=lambda one: _likeness(one, wanted, updated))  # the first, if several are equal
    fields = {**best, "types": "deb", "suites": " ".join(wanted.suites), "architectures": wanted.architecture}
    return "".join(f"{name.title()}: {value}\n" for name, value in fields.items())


def _likeness(stanza: Stanza, wanted: Release, updated: Collection[str]) -> tuple[bool, bool, bool, bool]:
    """How likely this is the distribution's own source; others may use the same suite names. Signs of the own
    source, strongest first: its key, a URI in `updated` (only a distribution has suites such as -updates), no
    other key, and its path."""
    key, uris = stanza.get("signed-by", ""), stanza["uris"].split()
    return (
        f"{wanted.family}-archive-keyring" in key,
        any(uri in updated for uri in uris),
        not key,
        any(uri.rstrip("/").endswith(f"/{wanted.family}") for uri in uris),
    )


def _usable(fields: Stanza) -> bool:
    complete = all(fields.get(name) for name in ("types", "uris", "suites", "components"))
    off = fields.get("enabled", "yes").lower() in ("no", "false", "0", "off", "disable", "without")
    architectures = fields.get("architectures", "amd64").split()
    return complete and not off and "deb" in fields["types"].split() and "amd64" in architectures
