"""Builds a Linux kernel from source with a small configuration of ours, once per set of inputs.

Takes the word of a source (kernel_source.py) and that of a configuration: names of the parts in config/ and
paths of files, joined by `+`; gives a `BuiltLinux` in the cache. Its key has the digests of source,
configuration, compiler and the tool that writes BTF, and equal keys give equal bytes. All builds use one
folder of the cache, in which make builds only what differs from the last one. One that is interrupted goes on
there; one that is killed begins again, since a file may be half written. Fails with BuildError: what the
configuration lacks, which tool is missing, or the compiler's first lines.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from benchgate.base.errors import BuildError, FetchError
from benchgate.base.files import file_digest
from benchgate.base.process import capture
from benchgate.base.system.arch import X86_64, Architecture
from benchgate.base.text import suggestion
from benchgate.build import cache, toolchain
from benchgate.build.cache_storage import (
    FORMAT,
    Notice,
    cache_root,
    making,
    record_of,
    remove_folder,
    storage_trouble,
)
from benchgate.build.fetch.store import FetchSession
from benchgate.build.fetch.tool import LOADER
from benchgate.build.fetch.tool import fetch as fetch_tool
from benchgate.features.linux_build import host_tools, kernel_source
from benchgate.features.linux_build.kernel_source import MANIFEST, LinuxSource

KIND, _WORK = "linux-built", "linux-work"
PAHOLE = "pahole"
"""The program that writes BTF, and its package."""
PARTS = Path(__file__).with_name("config")
BASE = "base"
"""The part that every build has."""
DEFAULT_CONFIG = "sched_ext"
_BUILD_S = 7200.0
_ASK_S = 30.0
_OPTION = re.compile(r"(?:(CONFIG_\w+)=(\S+)|# (CONFIG_\w+) is not set)(?:\s+# (.+))?")
_FIXED = {
    "KBUILD_BUILD_TIMESTAMP": "1970-01-01 00:00:00 UTC",
    "KBUILD_BUILD_USER": "benchgate",
    "KBUILD_BUILD_HOST": "benchgate",
    "KBUILD_BUILD_VERSION": "1",
    "LOCALVERSION": "",
    "RUSTC": "false",
}
"""What a kernel would say of the host and the time of its build; and of its rustc, whose version is in the
configuration that a kernel has, although no part of ours needs it."""
_FEWER_TYPES = "-fno-var-tracking -fno-var-tracking-assignments"
"""Where a variable is at each instruction is what takes gcc longest of DWARF, and BTF has nothing of it."""
_TOOLS = {"make": "make", "flex": "flex", "bison": "bison", "bc": "bc", "ld": "binutils", "gzip": "gzip"}
"""The programs that a build of Linux starts, and their packages."""
_HEADERS = {"gelf.h": "libelf-dev"}
RESULTS = {"vmlinux": "vmlinux", "System.map": "System.map", ".config": "config"}
RESULTS |= {"arch/x86/boot/bzImage": "bzImage", "include/config/kernel.release": "release"}
_LIBBPF = "tools/bpf/resolve_btfids/libbpf"
"""Where a build with BTF makes the source's own library, for a tool of its own."""
_LIBBPF_NEEDS = ("-lelf", "-lz")
_BPF_LOADER = Path(__file__).with_name("load.c")


@dataclass(frozen=True, slots=True)
class BuiltLinux:
    folder: Path
    label: str

    @property
    def image(self) -> Path:
        """The ELF file if QEMU can start it, which spares each boot the unpacking; else the bzImage."""
        pvh = "CONFIG_PVH=y" in self.config.read_text().splitlines()
        return self.folder / ("vmlinux" if pvh else "bzImage")

    @property
    def version(self) -> str:
        return (self.folder / "release").read_text().strip()

    @property
    def config(self) -> Path:
        return self.folder / "config"

    @property
    def symbols(self) -> Path:
        return self.folder / "System.map"

    @property
    def bpf_loader(self) -> Path | None:
        """The program that loads a scheduler from its object; None for a kernel without BTF."""
        path = self.folder / "bpf_loader"
        return path if path.is_file() else None


def build(
    source: str,
    config: str = DEFAULT_CONFIG,
    guest: Architecture = X86_64,
    *,
    locked: bool = False,
    notice: Notice,
) -> BuiltLinux:
    if guest is not X86_64 or not guest.is_host:
        raise BuildError(f"a Linux for {guest} cannot be built here: only x86_64 on x86_64; give its image")
    options = read_config(config)
    with FetchSession(notice) as session:
        result = kernel_source.find(source, locked=locked, session=session)
        require_tools()
        pahole = _pahole(locked=locked, session=session) if _needs_types(options) else ()
    key = {
        "format": "3",
        "source": result.digest,
        "config": _digest(options),
        "compiler": toolchain.compiler().identity,
        "linker": _first_line(("ld", "--version")),
        "pahole": file_digest(Path(pahole[-1])) if pahole else "",
        "bpf_loader": file_digest(_BPF_LOADER) if pahole else "",
    }

    def make(files: Path) -> None:
        with _work_folder(notice) as (tree, lock):
            maker = _Maker(tree, lock, f"Linux from {result.word}", _words(tree, pahole), notice)
            _configured(maker, result, options)
            _make(maker, files)

    return BuiltLinux(cache.entry(KIND, key, make, wait_s=_BUILD_S, notice=notice), result.label)


# ---- the configuration


@dataclass(frozen=True, slots=True)
class LinuxOption:
    """One line of a configuration: `CONFIG_NAME=value # reason`."""

    name: str
    value: str
    reason: str
    """Why a build without it is refused; empty if it is only asked for."""
    file: Path

    @property
    def line(self) -> str:
        return f"# {self.name} is not set" if self.value == "n" else f"{self.name}={self.value}"


def read_config(config: str) -> tuple[LinuxOption, ...]:
    """The options of our base and of these parts and files, the last one last."""
    files = [_part(word) for word in (BASE, *filter(None, config.split("+")))]
    return tuple(option for file in dict.fromkeys(files) for option in _options(file))


def _part(word: str) -> Path:
    if "/" in word or word.endswith(".config"):
        return Path(word).expanduser().absolute()
    known = sorted(path.stem for path in PARTS.glob("*.config"))
    if word not in known:
        near = suggestion(word, known, f"there are {', '.join(known)}")
        form = "the path of a file has a /"
        raise BuildError(f"`{word}` is no part of a configuration of Linux ({near}); {form}")
    return PARTS / f"{word}.config"


def _options(file: Path) -> Iterator[LinuxOption]:
    """Reasons count in our own parts only: a user's file may have any remark."""
    ours = file.parent == PARTS
    try:
        text = file.read_text(errors="replace")
    except OSError as error:
        raise BuildError(f"the configuration {file} cannot be read: {error.strerror}") from error
    for line in text.splitlines():
        if match := _OPTION.fullmatch(line.strip()):
            name, value, unset, reason = match.groups()
            yield LinuxOption(name or unset, value or "n", reason if ours and reason else "", file)


def missing(options: Sequence[LinuxOption], effective: str) -> str:
    """What the configuration that Linux made of these options lacks; empty if nothing that is required."""
    has = {option.name: option.value for option in _parsed(effective)}
    last = {option.name: option for option in options}
    lacks = []
    for name, option in {option.name: option for option in options if option.reason}.items():
        why = "this source has no such option, or another one rules it out"
        if last[name].value != option.value:
            why = f"{last[name].file} has {last[name].line}"
        if has.get(name, "n") != option.value:
            lacks.append(f"  {option.line}, {option.reason}: {why}")
    return "\n".join(lacks)


def _parsed(text: str) -> Iterator[LinuxOption]:
    for line in text.splitlines():
        if match := _OPTION.fullmatch(line):
            yield LinuxOption(match[1] or match[3], match[2] or "n", "", Path())


def _digest(options: Sequence[LinuxOption]) -> str:
    return hashlib.sha256("\n".join(option.line for option in options).encode()).hexdigest()


def _needs_types(options: Sequence[LinuxOption]) -> bool:
    return {option.name: option.value for option in options}.get("CONFIG_DEBUG_INFO_BTF") == "y"


# ---- the tools


def require_tools() -> None:
    host_tools.require("a build of Linux", _TOOLS, _HEADERS)


def _first_line(argv: Sequence[str]) -> str:
    return capture(tuple(argv), _ASK_S, toolchain.environment()).stdout.partition("\n")[0]


def _pahole(*, locked: bool, session: FetchSession) -> tuple[str, ...]:
    """The command of pahole, which writes BTF: this host's own, else a fetched one with its own libraries."""
    if (own := shutil.which(PAHOLE)) and not locked:
        return (own,)
    try:
        folder = fetch_tool(PAHOLE, locked=locked, session=session).folder
    except FetchError as error:
        why = f"{error}; as root: apt-get install dwarves"
        raise BuildError(f"BTF, which sched_ext needs, is written by pahole: {why}") from error
    libraries = str(folder / "lib")
    return (f"{libraries}/{LOADER}", "--library-path", libraries, str(folder / "bin" / PAHOLE))


# ---- the build


@contextmanager
def _work_folder(notice: Notice) -> Iterator[tuple[Path, int]]:
    """The folder of all builds, for one at a time, and its lock. What a killed build left is removed."""
    place = cache_root() / _WORK / hashlib.sha256(X86_64.name.encode()).hexdigest()[:32]
    with storage_trouble(place):
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with making(place, _BUILD_S, notice) as lock:
            if not record_of(place) or not (place / MANIFEST).is_file():
                remove_folder(place)
                (place / "tree").mkdir(parents=True, mode=0o700)
                (place / MANIFEST).write_text("{}")
            record = {"format": FORMAT, "kind": _WORK, "key": {"name": X86_64.name}, "made_s": time.time()}
            (place / "record.json").write_text(json.dumps(record) + "\n")
            descriptor = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
            try:
                with suppress(OSError):  # a file system without locks
                    fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
                yield place / "tree", lock
            finally:
                os.close(descriptor)


@dataclass(frozen=True, slots=True)
class _Maker:
    """Runs make in the folder of all builds. Meanwhile the list of source files, without which the folder is
    not used again, is away: if a make is killed, a file may be half written. One that ends by itself, or
    because it is asked to, has removed what it was writing."""

    tree: Path
    lock: int
    name: str
    words: Sequence[str]
    notice: Notice

    def make(self, *words: str, told: toolchain.Told | None = None) -> None:
        manifest = self.tree.with_name(MANIFEST)
        away = manifest.with_name("building.json")
        manifest.replace(away)
        resumable = toolchain.Resumable(lambda: _put_back(away, manifest), self.lock, told)
        argv = ("make", *self.words, *words)
        toolchain.run_all([argv], self.tree, "linux", _BUILD_S, resumable)


def _put_back(away: Path, manifest: Path) -> None:
    away.replace(manifest)


def _make(maker: _Maker, files: Path) -> None:
    begin = time.monotonic()

    def told(seconds: float, log: str) -> None:
        maker.notice(f"building {maker.name}: {seconds:.0f} s, {_progress(log)}")

    maker.make(f"-j{len(os.sched_getaffinity(0))}", "bzImage", told=told)
    maker.notice(f"building {maker.name}: done in {time.monotonic() - begin:.0f} s")
    for place, kept in RESULTS.items():
        shutil.copyfile(maker.tree / place, files / kept)
    stripped = [files / "vmlinux"]
    if (maker.tree / _LIBBPF).is_dir():
        make_loader(maker.tree / _LIBBPF, files / "bpf_loader", _LIBBPF_NEEDS)
        stripped.append(files / "bpf_loader")
    host_tools.strip(stripped, maker.tree, "linux", _BUILD_S)


def make_loader(libbpf: Path, out: Path, libraries: Sequence[str]) -> None:
    """Builds the program that loads a scheduler from its object, with this library."""
    flags = ("-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", f"-I{libbpf}/include", "-o", str(out))
    source = str(_BPF_LOADER)
    argv = (*toolchain.compiler().argv, *flags, source, f"{libbpf}/libbpf.a", *libraries)
    toolchain.run_all([argv], libbpf, "bpf-loader", _BUILD_S)


def _words(tree: Path, pahole: Sequence[str]) -> list[str]:
    """The words of every make, which are equal for equal builds."""
    compiler = toolchain.compiler()
    same = f"-ffile-prefix-map={tree}=."
    less = "" if "clang" in compiler.version else f" {_FEWER_TYPES}"
    variables = {
        **_FIXED,
        "ARCH": "x86_64",
        "CC": " ".join(compiler.argv),
        "PAHOLE": " ".join(pahole) if len(pahole) == 1 else str(tree.with_name("pahole")),
        "KCFLAGS": same + less,
        "KAFLAGS": same,
    }
    if len(pahole) > 1:
        script = tree.with_name("pahole")
        script.write_text(f'#!/bin/sh\nexec {" ".join(pahole)} "$@"\n')
        script.chmod(0o755)
    return [f"{name}={value}" for name, value in variables.items()]


def _configured(maker: _Maker, source: LinuxSource, options: Sequence[LinuxOption]) -> None:
    """Writes the source, and makes its .config of the options, by its own rules; keeps it if it is equal."""
    tree = maker.tree
    maker.notice(f"writing the source of {source.word} ...")
    kernel_source.write(source, tree)
    wanted = {option.name: option for option in options}
    asked = tree.with_name("asked.config")
    asked.write_text("".join(f"{option.line}\n" for option in wanted.values()))
    result = tree.with_name("new.config")
    for target in (f"KCONFIG_ALLCONFIG={asked} allnoconfig", "olddefconfig"):
        maker.make(f"KCONFIG_CONFIG={result}", *target.split(" "))
    text = result.read_text()
    if lacks := missing(options, text):
        raise BuildError(
            f"{maker.name} cannot be our guest: its configuration lacks\n{lacks}\n"
            "See `benchgate docs linux-options`"
        )
    kept = tree / ".config"
    if not kept.is_file() or kept.read_text() != text:
        kept.write_text(text)


def _progress(log: str) -> str:
    done = re.findall(r"^  [A-Z][A-Z0-9]*(?: \[M\])? +(\S+)$", log, re.MULTILINE)
    return f"{len(done)} steps, now {done[-1]}" if done else "beginning"
