"""Builds schedulers in BPF: the kernel's own, the faulty one of ../tests/data/scx, and some in Rust.

Takes the word of a source of Linux, or the name of a crate; gives a folder with the programs, outside of the
repository. BPF is compiled by clang on PATH, else by Debian's, which is unpacked there: nothing is installed.
Rust and its crates come by cargo. The same compilers give the same bytes in any folder: a path in a program
would be part of what its guest loads, and so of every figure; and clang orders what it writes by addresses
in its own memory, which paths of another length move, so it has its memory from rising.c. Fails with
BuildError, also if a program has a path.

As a program (`python -m benchgate.features.linux_build.tools.schedulers`, with a source or a crate) it prints
the folder.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from benchgate.base.errors import BenchgateError, BuildError
from benchgate.base.files import file_digest
from benchgate.base.text import visible_lines
from benchgate.build import toolchain
from benchgate.build.cache_storage import cache_root
from benchgate.build.fetch import elf, newest
from benchgate.build.fetch.store import FetchSession, this_release
from benchgate.features.linux_build import host_tools, kernel, kernel_source

SOURCE = "linux-source-6.12"
SCHEDULERS = ("scx_simple", "scx_central", "scx_flatcg", "scx_qmap")
FAULTY = "scx_faulty"
OURS = Path(__file__).parents[1] / "tests/data/scx"
"""The sources of that one, which are built as if they were the kernel's own."""
CRATES = {"scx_bpfland": "1.1.4", "scx_lavd": "1.1.4", "scx_rusty": "1.1.4"}
"""Schedulers in Rust, and their versions. They need Rust 1.91, and run on Linux since 6.12."""
_HEADERS = {"gelf.h": "libelf-dev", "zlib.h": "zlib1g-dev"}
"""What the library for BPF, which a crate compiles, is made with."""
_CLANG = "19"
_BUILD_S = 7200.0
_FORMAT = "5"
"""A change of how they are built, which makes all again."""
_CC, _BPF_CC = "cc", "bpf-clang"
"""Our commands of the compilers, in the folder of a build."""
RISING = Path(__file__).with_name("rising.c")
"""What the compiler of BPF has its memory from."""


def say(text: str) -> None:
    print(f"benchgate: {text}", file=sys.stderr, flush=True)


def built(source: str = SOURCE) -> Path:
    """The folder with the programs, which is made again if the kernel or our sources change."""
    linux = kernel.build(source, notice=say)
    parts = [_FORMAT, str(linux.folder), *(file_digest(path) for path in sorted(OURS.iterdir()))]
    name = hashlib.sha256(" ".join(parts).encode()).hexdigest()[:16]
    place = _place(name)
    if not (place / "bin").is_dir():
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        build_for_kernel(source, linux.folder / "vmlinux", place)
    return place / "bin"


def crate(name: str) -> Path:
    """The folder with the program of a crate."""
    place = _place(f"{name}-{CRATES[name]}-{_FORMAT}")
    if not (place / "bin" / name).is_file():
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        build_crate(name, place)
    return place / "bin"


def build_crate(name: str, place: Path) -> None:
    """Builds the program of a crate in an empty folder."""
    host_tools.require(name, {"make": "make"}, _HEADERS)
    cargo = shutil.which("cargo")
    if cargo is None:
        raise BuildError(
            f"{name} is written in Rust, and there is no cargo on PATH: install Rust 1.91 or newer"
        )
    say(f"building {name} ...")
    asked = (name, "--version", f"={CRATES[name]}", "--locked", "--root", str(place / "new"))
    target = ("--target-dir", str(place / "target"))
    argv = ("env", *_for_cargo(place), cargo, "install", *asked, *target)
    toolchain.run_all([argv], place, "scx", _BUILD_S)
    shutil.rmtree(place / "target")
    _finish(place / "new/bin", [name], place)


def _for_cargo(place: Path) -> list[str]:
    """Variables by which a crate, its C and its BPF are compiled alike in any folder."""
    names = {**_names(place), str(_cargo_home()): "/cargo"}
    remap = "\x1f".join(f"--remap-path-prefix={path}={name}" for path, name in names.items())
    own = clang()
    return [
        *_for_bindgen(own),
        f"BPF_CLANG={_for_bpf(place, own, names)}",
        f"CC={_same_paths(place / _CC, shlex.join(toolchain.compiler().argv), names)}",
        f"CARGO_ENCODED_RUSTFLAGS={remap}",
        "CARGO_INCREMENTAL=0",
    ]


def _cargo_home() -> Path:
    """Where cargo unpacks the sources of crates, whose paths are in the texts of panics."""
    return Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo").absolute()


def _for_bindgen(own: str) -> list[str]:
    """Variables by which the build of a crate finds the library of this clang."""
    words = []
    unpacked = _place(f"clang-{_CLANG}") / "root"
    if Path(own).parent == unpacked.parent:
        library = unpacked / f"usr/lib/llvm-{_CLANG}/lib"
        words += [f"LIBCLANG_PATH={library}", f"LD_LIBRARY_PATH={_libraries(unpacked)}"]
        words += [f"BINDGEN_EXTRA_CLANG_ARGS=-resource-dir {library}/clang/{_CLANG}"]
    return words


def _place(name: str) -> Path:
    return cache_root().parent / "benchgate-scx" / name


def _names(place: Path) -> dict[str, str]:
    """Maps each folder of this host that a compiler may write into a program to a name on all hosts."""
    return {str(place): "/scx", str(_place(f"clang-{_CLANG}")): "/clang"}


def _for_bpf(place: Path, compiler: str, names: dict[str, str]) -> Path:
    """The command of the compiler of BPF, whose output the lengths of its paths do not change either."""
    preloaded = f"env LD_PRELOAD={rising(place)} {compiler}"
    return _same_paths(place / _BPF_CC, preloaded, names)


def rising(place: Path) -> Path:
    """Builds the library that gives a program rising addresses."""
    library = place / "rising.so"
    own = toolchain.compiler().argv
    argv = (*own, "-std=c11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC")
    toolchain.run_all([(*argv, "-o", str(library), str(RISING))], place, "scx", _BUILD_S)
    return library


def _same_paths(script: Path, compiler: str, names: dict[str, str]) -> Path:
    """Writes a command of the compiler that gives files the names instead of their paths."""
    maps = " ".join(f"'-ffile-prefix-map={path}={name}'" for path, name in names.items())
    script.write_text(f'#!/bin/sh\nexec {compiler} {maps} "$@"\n')
    script.chmod(0o755)
    return script


def _finish(folder: Path, names: Sequence[str], place: Path) -> None:
    """Strips the programs, and refuses one that has a path. Then the folder is `bin`, which exists only if it
    is complete."""
    programs = [folder / name for name in names]
    host_tools.strip(programs, place, "scx", _BUILD_S)
    for program in programs:
        require_no_path(program, [*_names(place), str(_cargo_home())])
    folder.rename(place / "bin")


def require_no_path(program: Path, folders: Sequence[str]) -> None:
    content = program.read_bytes()
    for folder in folders:
        at = content.find(folder.encode())
        if at >= 0:
            text = content[at : at + 200].split(b"\0")[0].decode(errors="replace")
            raise BuildError(
                f"{program.name} has a path of this host, so its figures are another's elsewhere: {text}"
            )


def build_for_kernel(source: str, kernel: Path, place: Path) -> None:
    """Builds those of a source of Linux in an empty folder."""
    tree, out = place / "tree", place / "out"
    tree.mkdir()
    out.mkdir()
    (place / kernel_source.MANIFEST).write_text("{}")
    with FetchSession(say) as session:
        kernel_source.write(kernel_source.find(source, locked=False, session=session), tree)
    names = _names(place)
    cc = _same_paths(place / _CC, shlex.join(toolchain.compiler().argv), names)
    bpf_cc = _for_bpf(place, clang(), names)
    for path in OURS.iterdir():
        shutil.copy(path, tree / "tools/sched_ext")
    strip = shutil.which("llvm-strip") or "true"
    wanted = (*SCHEDULERS, FAULTY)
    words = [f"CC={cc}", f"HOSTCC={cc}", f"CLANG={bpf_cc}", f"LLVM_STRIP={strip}"]
    words += [f"VMLINUX_BTF={kernel}", f"O={out}"]
    words.append(f"c-sched-targets={' '.join(wanted)}")
    say(f"building {', '.join(wanted)} ...")
    argv = ("make", f"-j{len(os.sched_getaffinity(0))}", "-C", "tools/sched_ext", *words, *wanted)
    toolchain.run_all([argv], tree, "scx", _BUILD_S)
    shutil.rmtree(tree)
    for name in SCHEDULERS:
        require_no_path(Path(shutil.copy(out / f"build/obj/sched_ext/{name}.bpf.o", place)), [*names])
    _finish(out / "build/bin", wanted, place)


def clang() -> str:
    """The command of clang on PATH, else of Debian's, with its libraries beside it."""
    if own := shutil.which("clang"):
        return own
    place = _place(f"clang-{_CLANG}")
    script, to = place / "clang.sh", place / "root"
    if script.is_file():
        return str(script)
    shutil.rmtree(place, ignore_errors=True)
    to.mkdir(parents=True)
    with FetchSession(say) as session:
        client = session.apt(this_release())
        names = [f"clang-{_CLANG}", f"libclang-common-{_CLANG}-dev", f"libclang1-{_CLANG}"]
        packages = [client.versions(name)[0] for name in names]
        for path in client.download(packages):
            _extract(path, to)
        binary = to / f"usr/lib/llvm-{_CLANG}/bin/clang"
        search = newest.Search(client, elf.present(), place / "inspect")
        search.add(packages[0], elf.needed(binary))
        for path in client.download([pin.package for pin in search.run()]):
            _extract(path, to)
    shutil.rmtree(place / "inspect", ignore_errors=True)
    script.write_text(f'#!/bin/sh\nLD_LIBRARY_PATH={_libraries(to)} exec {binary} "$@"\n')
    script.chmod(0o755)
    return str(script)


def _libraries(unpacked: Path) -> str:
    return f"{unpacked}/usr/lib/x86_64-linux-gnu:{unpacked}/usr/lib/llvm-{_CLANG}/lib"


def _extract(package: Path, to: Path) -> None:
    done = subprocess.run(["dpkg-deb", "-x", package, to], capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(f"{package.name} cannot be unpacked: {done.stderr.strip()}")


def made(word: str) -> Path:
    """The folder for a word of the command line."""
    if word.startswith("scx_") and word not in CRATES and not Path(word).exists():
        raise BuildError(
            f"`{word}` is none of the crates that are built here ({', '.join(CRATES)}); "
            f"{', '.join(SCHEDULERS)} and {FAULTY} are built together, from a source such as {SOURCE}"
        )
    return crate(word) if word in CRATES else built(word)


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchgate.features.linux_build.tools.schedulers",
        description=(__doc__ or "").partition("\n")[0],
    )
    about = f"a source of Linux (default: {SOURCE}), or one of {', '.join(CRATES)}"
    parser.add_argument("of", nargs="?", default=SOURCE, metavar="SOURCE or CRATE", help=about)
    try:
        print(made(parser.parse_args(words).of))
    except BenchgateError as error:
        say(visible_lines(str(error)))
        return 4
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
