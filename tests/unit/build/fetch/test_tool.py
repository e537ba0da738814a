"""Tools: a set has the program's package, the C library and what both need; nothing of the host is used."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest

from benchgate.base.errors import FetchError
from benchgate.build.fetch import pins, tool
from benchgate.build.fetch.pins import Pin
from benchgate.build.fetch.store import FetchSession
from benchgate.build.fetch.tool import LOADER, ToolFiles

if TYPE_CHECKING:
    from tests.unit.build.fetch.conftest import Pool

LIB = "usr/lib/x86_64-linux-gnu"


def program(*needed: str) -> bytes:
    """An ELF file that needs these libraries, with two program headers: PT_LOAD and PT_DYNAMIC."""
    table = b"\0" + b"".join(name.encode() + b"\0" for name in needed)
    names = [table.index(b"\0" + name.encode() + b"\0") + 1 for name in needed]
    words = [*((1, at) for at in names), (5, 0x1000 + 64 + 112), (0, 0)]
    dynamic = b"".join(struct.pack("<QQ", *word) for word in words)
    begin = 64 + 112
    size = begin + len(table) + len(dynamic)
    load = struct.pack("<IIQQQQQQ", 1, 4, 0, 0x1000, 0, size, size, 1)
    place = begin + len(table)
    dyn = struct.pack("<IIQQQQQQ", 2, 4, place, 0x1000 + place, 0, len(dynamic), len(dynamic), 8)
    head = b"\x7fELF\x02\x01" + bytes(26) + struct.pack("<Q", 64) + bytes(14) + struct.pack("<HH", 56, 2)
    return head.ljust(64, b"\0") + load + dyn + table + dynamic


def add(pool: Pool, *, version: str = "2.4-1") -> list[Pin]:
    (pool.locks / "tools.lock").touch()
    libc = {
        f"lib/x86_64-linux-gnu/{LOADER}": program(),
        "lib/x86_64-linux-gnu/libc.so.6": program(LOADER),
        "lib/x86_64-linux-gnu/libunused.so.1": program(),
    }
    alpha: dict[str, bytes | str] = {
        f"{LIB}/libtoolalpha.so.1": "libtoolalpha.so.1.2",
        f"{LIB}/libtoolalpha.so.1.2": program("libtoolbeta.so.1"),
        f"{LIB}/libtoolbeta.so.1": program("libc.so.6"),
    }
    tools = {
        "usr/bin/hackbench": program("libtoolalpha.so.1", "libc.so.6"),
        "sbin/plain": program("libc.so.6"),
        "usr/bin/script": b"#!/bin/sh\n",
        "usr/share/doc/readme": b"text",
    }
    made = [
        pool.add("rt-tests", version, tools, "libc6 (>= 2.36), libtoolalpha1 (>= 1), python3"),
        pool.add("libc6", "2.36-9", libc, "libgcc-s1"),
        pool.add("libgcc-s1", "12", {f"{LIB}/libgcc_s.so.1": program("libc.so.6")}, "libc6"),
        pool.add("libtoolalpha1", "1.2", alpha, "libc6"),
    ]
    return [Pin(package) for package in made]


def fetch(*, locked: bool = False, package: str = "rt-tests") -> ToolFiles:
    with FetchSession() as session:
        return tool.fetch(package, locked=locked, session=session)


def test_the_newest_set_is_complete_without_the_host(pool: Pool) -> None:
    add(pool)
    files = fetch()
    assert files.labels == ("rt-tests: unreviewed image",)
    assert sorted(path.name for path in (files.folder / "bin").iterdir()) == ["hackbench", "plain"]
    assert sorted(path.name for path in (files.folder / "lib").iterdir()) == [
        LOADER,
        "libc.so.6",
        "libgcc_s.so.1",
        "libtoolalpha.so.1",
        "libtoolbeta.so.1",
    ]
    assert not any(path.is_symlink() for path in files.folder.rglob("*"))


def test_a_guest_gets_only_what_its_program_needs(pool: Pool) -> None:
    add(pool)
    files = fetch()
    common = [f"lib/{LOADER}", "lib/libc.so.6", "lib/libgcc_s.so.1"]
    assert files.needed("hackbench") == (
        "bin/hackbench",
        *common,
        *(f"lib/libtool{one}.so.1" for one in ("alpha", "beta")),
    )
    assert files.needed("plain") == ("bin/plain", *common)
    with pytest.raises(FetchError, match="the package has no program hakbench; it has hackbench, plain"):
        files.needed("hakbench")


def test_a_reviewed_set_has_no_label_and_is_found_by_its_package(pool: Pool) -> None:
    made = add(pool)
    other = [Pin(pool.add("other", "1", {"usr/bin/other": program()}))]
    others = pins.PinnedSet("debian-bookworm", "1", (*other, *made[1:3]))
    ours = pins.PinnedSet("debian-bookworm", "2.4", tuple(made))
    (pool.locks / "tools.lock").write_text(pins.write((others, ours)))
    files = fetch(locked=True)
    assert (files.labels, files.needed("plain")[0]) == ((), "bin/plain")
    assert fetch(locked=True, package="other").needed("other")[0] == "bin/other"


def test_a_kept_set_needs_no_network(pool: Pool) -> None:
    add(pool)
    first = fetch()
    pool.offline()
    assert fetch() == first


def test_locked_refuses_a_package_that_nobody_reviewed(pool: Pool) -> None:
    add(pool)
    with pytest.raises(FetchError, match="no version of rt-tests was reviewed for debian-bookworm"):
        fetch(locked=True)


def test_an_unknown_package_names_the_key(pool: Pool) -> None:
    add(pool)
    with pytest.raises(FetchError, match=r"has no rt-test: correct the key `program.package`"):
        fetch(package="rt-test")


def test_a_package_without_a_program_is_refused(pool: Pool) -> None:
    add(pool)
    pool.add("notes", "1", {"usr/bin/script": b"#!/bin/sh\n"})
    with pytest.raises(FetchError, match=r"the package notes has no program in bin, sbin, usr/bin"):
        fetch(package="notes")


def test_a_set_that_lacks_a_library_is_refused(pool: Pool) -> None:
    made = add(pool)
    sets = (pins.PinnedSet("debian-bookworm", "2.4", tuple(made[:3])),)
    (pool.locks / "tools.lock").write_text(pins.write(sets))
    with pytest.raises(FetchError, match=r"no package of the set has libtoolalpha.so.1: renew the lock"):
        fetch(locked=True)
