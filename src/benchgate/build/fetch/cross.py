"""Fetches the C compiler and C library for guests of another architecture, and installs nothing.

Takes an architecture; gives a `Compiler`. That of this host's own architecture is the host's compiler. For
another one it is Debian's cross compiler, as a reviewed set of packages in the cache; where none can be
fetched, the one on PATH (`riscv64-linux-gnu-gcc`). Fails with FetchError if there is neither.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchgate.base.errors import FetchError
from benchgate.base.system.arch import Architecture
from benchgate.build import cache, toolchain
from benchgate.build.fetch import elf, newest, store
from benchgate.build.fetch.apt import Apt, Package
from benchgate.build.fetch.pins import Pin, PinnedSet
from benchgate.build.fetch.sources import Release
from benchgate.build.fetch.store import FetchSession
from benchgate.build.fetch.unpack import unpack
from benchgate.build.toolchain import Compiler

KIND = "compiler"
_LIBRARY = re.compile(r"(?:usr/)?lib/x86_64-linux-gnu/(lib[^/]+\.so(?:\.[^/]*)?|lib[^/]+-[0-9.]+-[^/]+\.so)")
_PARTS = ("gcc", "cc1", "collect2", "as", "ld")


def compiler(guest: Architecture, *, locked: bool = False, session: FetchSession | None = None) -> Compiler:
    if guest.is_host:
        return toolchain.compiler()
    with session or FetchSession() as used:
        try:
            newest_of, fill = partial(newest_set, guest), partial(_fill, guest)
            kept = store.fetch(guest.kind(KIND), newest_of, fill, locked=locked, session=used)
        except FetchError as error:
            installed = shutil.which(f"{guest.triple}-gcc")
            if locked or installed is None:
                advice = f"or install {guest.triple}-gcc with its static C library"
                raise FetchError(f"{error}; {advice}") from error
            used.notice(f"using this system's {installed}, because none could be fetched: {error}")
            return toolchain.described((installed,), guest)
    return toolchain.described(_command(kept.folder), guest)


def _command(folder: Path) -> tuple[str, ...]:
    """The command of a compiler that finds its parts, headers and libraries only in this folder."""
    program = ("env", f"LD_LIBRARY_PATH={folder / 'lib'}", str(folder / "bin/gcc"), f"-B{folder / 'bin'}/")
    headers = ("-nostdinc", *(f"-isystem{folder / 'include' / one}" for one in ("gcc", "libc")))
    target = folder / "target"
    return (*program, *headers, f"-B{target}/", f"-L{target}")


def newest_set(guest: Architecture, client: Apt, release: Release) -> PinnedSet:
    """The packages that apt would install, limited to those that static programs in C need."""
    packages: dict[str, Package] = {}
    wanted = [f"gcc-{guest.triple}", f"libc6-dev-{guest.debian}-cross"]
    while wanted:
        name = wanted.pop(0)
        package = client.candidate(name)
        if package is None:
            raise FetchError(
                f"this host's package source has no {name}, which compiles for guests of {guest}: "
                "add the distribution's main component (Ubuntu: and universe)"
            )
        packages[name] = package
        wanted += [text for text in _needed(guest, package) if text not in packages and text not in wanted]
    del packages[f"gcc-{guest.triple}"]  # this package only names the current version
    with cache.scratch("inspect") as folder:
        choose = partial(_choose, guest)
        for package, path in zip(packages.values(), client.download(list(packages.values())), strict=True):
            unpack(path, folder / "roots" / package.name, choose)
        own = frozenset(one.name for one in folder.glob("roots/*/lib/*"))
        search = newest.Search(client, own, folder)
        for package in packages.values():
            place = folder / "roots" / package.name
            programs = [*place.glob("bin/*"), *place.glob("lib/*")]
            search.add(package, frozenset().union(*(elf.needed(program) for program in programs)))
        libraries = search.run()
    gcc = next(value for value in packages.values() if value.name.startswith("gcc-"))
    pins = (Pin(gcc), *(Pin(value) for value in packages.values() if value is not gcc), *libraries)
    return PinnedSet(release.name, newest.upstream(gcc.version), pins)


def _needed(guest: Architecture, package: Package) -> Iterator[str]:
    """The dependencies of a package that belong to the compiler or to its C library."""
    tools = rf"(?:gcc-\d+|cpp-\d+|binutils)-{re.escape(guest.triple)}"
    files = rf"(?:libgcc-\d+-dev|libc6-dev|linux-libc-dev)-{guest.debian}-cross|linux-libc-dev"
    for clause in package.depends.split(","):
        name = clause.strip().partition(" ")[0].partition(":")[0]
        if re.fullmatch(f"{tools}|{files}", name):
            yield name


def _choose(guest: Architecture, member: str) -> str | None:
    triple = re.escape(guest.triple)
    gcc = rf"usr/lib(?:exec)?/gcc-cross/{triple}/\d+"
    for pattern, place in (
        (rf"usr/bin/{triple}-gcc-\d+()", "bin/gcc"),
        (rf"usr/bin/{triple}-as()", "bin/as"),
        (rf"usr/bin/{triple}-ld\.bfd()", "bin/ld"),
        (rf"{gcc}/(cc1|collect2|liblto_plugin\.so)", "bin/"),
        (rf"{gcc}/(crt(?:begin|end)[^/]*\.o|lib(?:gcc|gcc_eh|atomic)\.a)", "target/"),
        (rf"usr/{triple}/lib/([^/]+\.[ao])", "target/"),
        (rf"{gcc}/include/(.+)", "include/gcc/"),
        (rf"usr/{triple}/include/(.+)", "include/libc/"),
        (_LIBRARY.pattern, "lib/"),
    ):
        if match := re.fullmatch(pattern, member):
            return f"{place}{match[1]}"
    return None


def _fill(guest: Architecture, client: Apt, packages: PinnedSet, files: Path) -> dict[str, Any]:
    for path in client.download([pin.package for pin in packages.pins]):
        unpack(path, files, partial(_choose, guest))
    for name in _PARTS:
        if not (files / "bin" / name).is_file():
            lack = f"no {name} for {guest}: run `nox -s relock`"
            raise FetchError(f"the packages of {packages.version} have {lack}")
    return {}
