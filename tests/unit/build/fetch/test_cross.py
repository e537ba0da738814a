"""Compilers for other architectures: fetched with their C library, or the system's own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from benchgate.base.errors import FetchError
from benchgate.base.system.arch import RISCV64, X86_64
from benchgate.build import toolchain
from benchgate.build.fetch import cross
from tests.unit.build.fetch.test_tool import program

if TYPE_CHECKING:
    from tests.unit.build.fetch.conftest import Pool

TRIPLE = RISCV64.triple
GCC = f"usr/lib/gcc-cross/{TRIPLE}/12"
COMPILER = b"#!/bin/sh\ncase $* in *libc.a*) echo %s/lib.a ;; *) echo gcc 12 ;; esac\n"


def add(pool: Pool) -> None:
    """The compiler's packages: the part `as` needs a library of another package."""
    (pool.locks / "compiler-riscv64.lock").touch()
    lib = "usr/lib/x86_64-linux-gnu"
    pool.add(f"gcc-{TRIPLE}", "4:12", {}, f"gcc-12-{TRIPLE} (>= 12), cpp-{TRIPLE} (= 4:12)")
    pool.add(
        f"gcc-12-{TRIPLE}",
        "12.2",
        {
            f"usr/bin/{TRIPLE}-gcc-12": program("libc.so.6"),
            f"{GCC}/collect2": program(),
            f"{GCC}/lto1": program("libnever.so.1"),
        },
        f"cpp-12-{TRIPLE}, binutils-{TRIPLE}, libgcc-12-dev-riscv64-cross, libasan8-riscv64-cross",
    )
    pool.add(f"cpp-12-{TRIPLE}", "12.2", {f"{GCC}/cc1": program("libc.so.6")})
    tools = {f"usr/bin/{TRIPLE}-as": program("libbgnumbers.so.3"), f"usr/bin/{TRIPLE}-ld.bfd": program()}
    pool.add(f"binutils-{TRIPLE}", "2.40", tools, "libbgnumbers3, libbgother1")
    pool.add("libbgnumbers3", "3.1", {f"{lib}/libbgnumbers.so.3": program()})
    pool.add("libbgother1", "1", {f"{lib}/libbgother.so.1": program()})
    files = {f"{GCC}/crtbeginT.o": b"c", f"{GCC}/libgcc.a": b"g", f"{GCC}/include/stddef.h": b"h"}
    pool.add("libgcc-12-dev-riscv64-cross", "12.2", files)
    headers = {f"usr/{TRIPLE}/lib/libc.a": b"a", f"usr/{TRIPLE}/include/sys/io.h": b"i"}
    pool.add("libc6-dev-riscv64-cross", "2.36", headers, "linux-libc-dev-riscv64-cross, libc6-riscv64-cross")
    pool.add("linux-libc-dev-riscv64-cross", "6.1", {f"usr/{TRIPLE}/include/asm/a.h": b"l"})


def test_the_fetched_compiler_is_complete(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    add(pool)
    seen: list[tuple[str, ...]] = []

    def described(argv: tuple[str, ...], guest: object) -> toolchain.Compiler:
        seen.append(argv)
        return toolchain.Compiler(argv, "gcc", "digest", RISCV64)

    monkeypatch.setattr(toolchain, "described", described)
    assert cross.compiler(RISCV64).guest is RISCV64
    folder = next(word for word in seen[0] if word.endswith("/bin/gcc")).removesuffix("/bin/gcc")
    assert seen[0][:2] == ("env", f"LD_LIBRARY_PATH={folder}/lib")
    names = {str(path.relative_to(folder)) for path in Path(folder).rglob("*") if path.is_file()}
    assert names == {
        *("bin/gcc", "bin/cc1", "bin/collect2", "bin/as", "bin/ld"),
        *("lib/libbgnumbers.so.3", "target/crtbeginT.o", "target/libgcc.a", "target/libc.a"),
        *("include/gcc/stddef.h", "include/libc/sys/io.h", "include/libc/asm/a.h", "fetched.json"),
    }


def test_the_systems_compiler_is_used_if_none_can_be_fetched(pool: Pool) -> None:
    (pool.locks / "compiler-riscv64.lock").touch()
    with pytest.raises(FetchError, match=f"or install {TRIPLE}-gcc with its static C library"):
        cross.compiler(RISCV64)
    (pool.folder / "lib.a").touch()
    own = pool.tool(f"{TRIPLE}-gcc", (COMPILER % str(pool.folder).encode()).decode())
    compiler = cross.compiler(RISCV64)
    assert (compiler.argv, compiler.guest, compiler.version) == ((str(own),), RISCV64, "gcc 12")
    with pytest.raises(FetchError, match="--locked"):
        cross.compiler(RISCV64, locked=True)


def test_the_hosts_architecture_has_the_hosts_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    host = toolchain.Compiler(("cc",), "gcc", "digest")
    monkeypatch.setattr(toolchain, "compiler", lambda: host)
    assert cross.compiler(X86_64) is host
