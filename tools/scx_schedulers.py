"""Builds the schedulers in BPF of the kernel's tools/sched_ext, and the faulty one of tests/data/scx.

Takes the word of a source of Linux; gives a folder with the programs, outside of the repository. They are
compiled by clang on PATH, else by Debian's, which is unpacked there: nothing is installed. Fails with
BuildError.

As a program (`python -m tools.scx_schedulers [SOURCE]`) it prints the folder.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from benchgate.base.errors import BenchgateError, BuildError
from benchgate.base.files import file_digest
from benchgate.base.paths import data_root
from benchgate.base.text import visible_lines
from benchgate.build import linux_build, linux_source, toolchain
from benchgate.build.cache_storage import cache_root
from benchgate.build.fetch import elf, newest
from benchgate.build.fetch.store import FetchSession, this_release

SOURCE = "linux-source-6.12"
SCHEDULERS = ("scx_simple", "scx_central", "scx_flatcg", "scx_qmap")
FAULTY = "scx_faulty"
OURS = data_root() / "tests/data/scx"
"""The sources of that one, which are built as if they were the kernel's own."""
_CLANG = "19"
_BUILD_S = 1800.0


def say(text: str) -> None:
    print(f"benchgate: {text}", file=sys.stderr, flush=True)


def built(source: str = SOURCE) -> Path:
    """The folder with the programs, which is made again if the kernel or our sources change."""
    kernel = linux_build.build(source, notice=say)
    parts = [str(kernel.folder), *(file_digest(path) for path in sorted(OURS.iterdir()))]
    name = hashlib.sha256(" ".join(parts).encode()).hexdigest()[:16]
    place = cache_root().parent / "benchgate-scx" / name
    if not (place / "bin").is_dir():
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        _build(source, kernel.folder / "vmlinux", place)
    return place / "bin"


def _build(source: str, kernel: Path, place: Path) -> None:
    tree, out = place / "tree", place / "out"
    tree.mkdir()
    out.mkdir()
    (place / linux_source.MANIFEST).write_text("{}")
    with FetchSession(say) as session:
        linux_source.write(linux_source.find(source, locked=False, session=session), tree)
        clang = shutil.which("clang") or _fetched(session, place)
    for path in OURS.iterdir():
        shutil.copy(path, tree / "tools/sched_ext")
    strip = shutil.which("llvm-strip") or "true"
    wanted = (*SCHEDULERS, FAULTY)
    words = [f"CLANG={clang}", f"VMLINUX_BTF={kernel}", f"LLVM_STRIP={strip}", f"O={out}"]
    words.append(f"c-sched-targets={' '.join(wanted)}")
    say(f"building {', '.join(wanted)} ...")
    argv = ("make", f"-j{len(os.sched_getaffinity(0))}", "-C", "tools/sched_ext", *words, *wanted)
    toolchain.run_all([argv], tree, "scx", _BUILD_S)
    shutil.rmtree(tree)
    (out / "build/bin").rename(place / "bin")


def _fetched(session: FetchSession, place: Path) -> str:
    """The command of Debian's clang, with its libraries beside it."""
    client, to = session.apt(this_release()), place / "clang"
    names = [f"clang-{_CLANG}", f"libclang-common-{_CLANG}-dev"]
    packages = [client.versions(name)[0] for name in names]
    for path in client.download(packages):
        _extract(path, to)
    binary = to / f"usr/lib/llvm-{_CLANG}/bin/clang"
    search = newest.Search(client, elf.present(), place / "inspect")
    search.add(packages[0], elf.needed(binary))
    for path in client.download([pin.package for pin in search.run()]):
        _extract(path, to)
    shutil.rmtree(place / "inspect", ignore_errors=True)
    script = place / "clang.sh"
    libraries = f"{to}/usr/lib/x86_64-linux-gnu:{to}/usr/lib/llvm-{_CLANG}/lib"
    script.write_text(f'#!/bin/sh\nLD_LIBRARY_PATH={libraries} exec {binary} "$@"\n')
    script.chmod(0o755)
    return str(script)


def _extract(package: Path, to: Path) -> None:
    done = subprocess.run(["dpkg-deb", "-x", package, to], capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(f"{package.name} cannot be unpacked: {done.stderr.strip()}")


def main(words: list[str]) -> int:
    try:
        print(built(*words[:1]))
    except BenchgateError as error:
        say(visible_lines(str(error)))
        return 4
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
