"""Which distribution this is, and its own package source with the suites that we want.

Takes os-release and the files of /etc/apt in both of their formats, gives text for a private sources file.
Pure but for `read`. Fails with FetchError where this machine names no source of its distribution.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchgate.errors import FetchError

_WITH_BACKPORTS = frozenset({"bookworm"})
"""Debian releases whose own QEMU is too old for the instruction clock; their backports are not."""
_ALIASES = frozenset({"stable", "oldstable", "oldoldstable", "testing", "unstable", "sid"})
"""What Debian calls whichever release it is."""
_OPTIONS = {
    "arch": "Architectures",
    "signed-by": "Signed-By",
    "trusted": "Trusted",
    "check-date": "Check-Date",
}
_OPTIONS |= {"check-valid-until": "Check-Valid-Until", "valid-until-max": "Valid-Until-Max"}
_SOURCE_LINE = re.compile(r"(deb|deb-src)\s+(?:\[(?P<options>[^]]*)\]\s+)?(?P<rest>.+)")

Stanza = Mapping[str, str]
"""One package source: field names as deb822 writes them, lower case."""


@dataclass(frozen=True, slots=True)
class Release:
    """A Debian or Ubuntu release, or the one that a derivative is made from."""

    name: str
    """`debian-bookworm`: the name under which locks list their sets."""
    family: str
    codename: str
    suites: tuple[str, ...]
    linux: str
    """The package that always depends on the newest small kernel for virtual machines."""


def release(words: Mapping[str, str]) -> Release | None:
    """From the words of os-release; None where this is no relative of Debian."""
    relatives = {words.get("ID", ""), *words.get("ID_LIKE", "").split()}
    if codename := words.get("UBUNTU_CODENAME") or ("ubuntu" in relatives and words.get("VERSION_CODENAME")):
        suites = (codename, f"{codename}-updates", f"{codename}-security")
        return Release(f"ubuntu-{codename}", "ubuntu", codename, suites, "linux-image-virtual")
    codename = words.get("DEBIAN_CODENAME") or words.get("VERSION_CODENAME")
    if "debian" in relatives and codename:
        suites = (codename, *((f"{codename}-backports",) if codename in _WITH_BACKPORTS else ()))
        return Release(f"debian-{codename}", "debian", codename, suites, "linux-image-cloud-amd64")
    return None


def read(folder: Path = Path("/etc/apt")) -> list[Stanza]:
    """All enabled binary package sources of this machine; unreadable files are as if they were not there."""
    found: list[Stanza] = []
    parts = sorted((folder / "sources.list.d").glob("*"))
    for path in [folder / "sources.list", *parts]:
        try:
            text = path.read_text(errors="replace")
        except OSError:
            continue
        if path.suffix == ".sources":
            found += parse_deb822(text)
        elif path.suffix == ".list":
            found += parse_lines(text)
    return found


def parse_deb822(text: str) -> list[Stanza]:
    """Stanzas of `Field: value` lines; a continued value keeps its lines (an embedded key has many)."""
    found: list[Stanza] = []
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
            found.append(fields)
    return found


def parse_lines(text: str) -> list[Stanza]:
    """`deb [option=value] URI suite component...` lines, as stanzas."""
    found: list[Stanza] = []
    for raw in text.splitlines():
        match = _SOURCE_LINE.fullmatch(raw.partition("#")[0].strip())
        words = match["rest"].split() if match else []
        if match is None or len(words) < 2:
            continue
        fields = {"types": match[1], "uris": words[0], "suites": words[1], "components": " ".join(words[2:])}
        for option in shlex.split(match["options"] or ""):
            name, _, value = option.partition("=")
            if field := _OPTIONS.get(name.lower()):
                fields[field.lower()] = value.replace(",", " ")
        if _usable(fields):
            found.append(fields)
    return found


def private_sources(stanzas: list[Stanza], wanted: Release, here: Release) -> str:
    """The machine's own source of its distribution, with the suites that we want, as deb822 text."""
    names = {here.codename, *(_ALIASES if here.family == "debian" else ())}
    own = [one for one in stanzas if names & {*one["suites"].split()} and "main" in _components(one)]
    if not own:
        raise FetchError(
            f"/etc/apt names no package source with the suite {here.codename} and the component main: "
            "add the distribution's own, or give --qemu PATH and --linux-kernel PATH"
        )
    kept_up = {f"{name}-{more}" for name in names for more in ("updates", "security", "backports")}
    theirs = {uri for one in stanzas if kept_up & {*one["suites"].split()} for uri in one["uris"].split()}
    best = max(own, key=lambda one: _likeness(one, wanted, theirs))  # the first of equals
    fields = {**best, "types": "deb", "suites": " ".join(wanted.suites), "architectures": "amd64"}
    return "".join(f"{name.title()}: {value}\n" for name, value in fields.items())


def _likeness(stanza: Stanza, wanted: Release, kept_up: Collection[str]) -> tuple[bool, bool, bool, bool]:
    """Other sources may use the same suite names. The distribution's own is told by its key, by suites that
    only a distribution has beside the release (`kept_up`: their URIs), by no foreign key, and by its path."""
    key, uris = stanza.get("signed-by", ""), stanza["uris"].split()
    return (
        f"{wanted.family}-archive-keyring" in key,
        any(uri in kept_up for uri in uris),
        not key,
        any(uri.rstrip("/").endswith(f"/{wanted.family}") for uri in uris),
    )


def _usable(fields: Stanza) -> bool:
    whole = all(fields.get(name) for name in ("types", "uris", "suites", "components"))
    off = fields.get("enabled", "yes").lower() in ("no", "false", "0", "off", "disable", "without")
    architectures = fields.get("architectures", "amd64").split()
    return whole and not off and "deb" in fields["types"].split() and "amd64" in architectures


def _components(stanza: Stanza) -> Iterator[str]:
    yield from stanza["components"].split()
