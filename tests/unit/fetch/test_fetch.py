"""QEMU and Linux: reviewed where the lock's versions are still there, else labelled, else refused."""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.machines import processes_with, wait_until

from benchgate import fetch, shelf, trim
from benchgate.errors import FetchError
from benchgate.fetch import elf
from benchgate.fetch.__main__ import main
from benchgate.fetch.apt import Package
from benchgate.fetch.pins import Pin

if TYPE_CHECKING:
    from tests.unit.fetch.conftest import Pool, Programs

LIB = "usr/lib/x86_64-linux-gnu"


def image(version: str = "6.12.9-cloud-amd64") -> bytes:
    """The fields of a bzImage's header that are looked at."""
    head = bytearray(0x1000)
    head[0x202:0x206] = b"HdrS"
    head[0x20E:0x210] = (0x600).to_bytes(2, "little")
    text = f"{version} (somebody@somewhere) #1 SMP\0".encode()
    head[0x800 : 0x800 + len(text)] = text
    return bytes(head)


def add_linux(pool: Pool, version: str = "6.12.9") -> Package:
    name = f"linux-image-{version}-cloud-amd64"
    boot = {
        f"boot/vmlinuz-{version}-cloud-amd64": image(f"{version}-cloud-amd64"),
        f"boot/config-{version}-cloud-amd64": b"CONFIG_SMP=y\n",
        f"boot/System.map-{version}-cloud-amd64": b"ffffffffffffffff B the real one is elsewhere\n",
        "lib/modules/x.ko": b"module",
    }
    made = pool.add(name, f"{version}-1", boot)
    pool.add("linux-image-cloud-amd64", f"{version}-1", {}, f"{name} (= {version}-1)")
    return made


def add_qemu(pool: Pool, programs: Programs, version: str = "1:10.0.2+ds-1", more: bytes = b"") -> list[Pin]:
    """QEMU's packages and its two libraries; one of them is not named as Debian usually does."""
    depends = "libbgalpha1 (>= 1.0), libc6 (>= 2.34), qemu-system-data, libnothing0 | libother0"
    roots = [
        pool.add("qemu-system-x86", version, {"usr/bin/qemu-system-x86_64": programs.qemu + more}, depends),
        pool.add(
            "qemu-system-data", version, {"usr/share/qemu/pvh.bin": b"pvh", "usr/share/qemu/slof": b"no"}
        ),
        pool.add(
            "seabios", "1.16", {"usr/share/seabios/bios.bin": b"bios", "usr/share/seabios/b.bin": "bios.bin"}
        ),
        pool.add("ipxe-qemu", "1.0", {"usr/lib/ipxe/qemu/efi-e1000.rom": b"rom"}),
    ]
    alpha: dict[str, bytes | str] = {
        f"{LIB}/libbgalpha.so.1": "libbgalpha.so.1.0",
        f"{LIB}/libbgalpha.so.1.0": programs.alpha,
    }
    libraries = [
        pool.add("libbgalpha1", "1.0-1", alpha, "libc6, libodd (>= 2)"),
        pool.add("libodd", "2.0-1", {f"{LIB}/libbgbeta.so.2": programs.beta}),
    ]
    sonames = [("libbgalpha.so.1",), ("libbgbeta.so.2",)]
    return [Pin(one) for one in roots] + [Pin(*both) for both in zip(libraries, sonames, strict=True)]


def left_over() -> list[str]:
    return [str(path) for path in shelf.cache_root().rglob("*") if path.suffix in (".tmp", ".lock")]


class TestReviewed:
    def test_qemu_with_its_roms_and_the_libraries_that_are_missing(
        self, pool: Pool, programs: Programs
    ) -> None:
        pool.lock("qemu", "10.0.2", *add_qemu(pool, programs))
        found = fetch.qemu()
        assert (found.version, found.origin, found.labels) == ((10, 0, 2), "reviewed", ())
        folder = found.binary.parents[1]
        names = {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}
        assert names == {
            "bin/qemu-system-x86_64",
            "share/pvh.bin",
            "share/bios.bin",
            "share/b.bin",
            "share/efi-e1000.rom",
            "lib/libbgalpha.so.1",
            "lib/libbgalpha.so.1.0",
            "lib/libbgbeta.so.2",
            "fetched.json",
        }
        assert found.data == (folder / "share",)
        assert found.environment == {"LD_LIBRARY_PATH": str(folder / "lib")}
        assert left_over() == []

    def test_linux_with_its_version_and_digests(self, pool: Pool) -> None:
        pool.lock("linux", "6.12.9", Pin(add_linux(pool)))
        found = fetch.linux_kernel()
        assert (found.version, found.labels, found.symbols) == ("6.12.9-cloud-amd64", (), None)
        assert found.image.read_bytes() == image()
        # sha256sum of `CONFIG_SMP=y` and a line feed
        assert found.config_digest == "a384e9448a2fdde1dee37eb5da09dada1708d7b64fb8f347a3f2a1fbc1d940be"

    def test_the_second_call_needs_no_network(self, pool: Pool, programs: Programs) -> None:
        pool.lock("qemu", "10.0.2", *add_qemu(pool, programs))
        pool.lock("linux", "6.12.9", Pin(add_linux(pool)))
        first = fetch.prepare(locked=True)
        calls = pool.calls()
        assert sum("update" in one for one in calls) == 1
        pool.offline()
        assert fetch.prepare(locked=True) == first
        assert pool.calls() == calls

    def test_a_library_that_the_system_has_is_not_fetched(
        self, pool: Pool, programs: Programs, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pool.lock("qemu", "10.0.2", *add_qemu(pool, programs))
        monkeypatch.setattr(elf, "present", lambda: frozenset({"libbgbeta.so.2", "libc.so.6"}))
        monkeypatch.setattr(fetch, "_version", lambda *_: (10, 0, 2))  # it is not really there to run with
        folder = fetch.qemu().binary.parents[1]
        assert sorted(path.name for path in (folder / "lib").iterdir()) == [
            "libbgalpha.so.1",
            "libbgalpha.so.1.0",
        ]

    def test_a_changed_file_is_refused_and_not_kept(self, pool: Pool) -> None:
        made = add_linux(pool)
        pool.lock("linux", "6.12.9", Pin(made))
        with (pool.folder / f"{made.name}={made.version}.deb").open("ab") as stream:
            stream.write(b"more")
        with pytest.raises(FetchError, match="does not have the SHA-256 that is promised"):
            fetch.linux_kernel()
        assert trim.listing() == ()
        assert left_over() == []

    def test_an_older_reviewed_set_is_tried_next(self, pool: Pool) -> None:
        old, new = add_linux(pool, "6.12.8"), add_linux(pool, "6.12.9")
        pool.lock("linux", "6.12.9", Pin(new))
        text = (pool.locks / "linux.lock").read_text()
        pool.lock("linux", "6.12.8", Pin(old))
        (pool.locks / "linux.lock").write_text(text + (pool.locks / "linux.lock").read_text())
        pool.withdraw(new)
        found = fetch.linux_kernel(locked=True)
        assert (found.version, found.labels) == ("6.12.8-cloud-amd64", ())


class TestUnreviewed:
    def test_the_newest_is_used_and_labelled_when_the_reviewed_is_gone(self, pool: Pool) -> None:
        gone = add_linux(pool, "6.12.8")
        pool.lock("linux", "6.12.8", Pin(gone))
        pool.withdraw(gone)
        add_linux(pool, "6.12.9")
        found = fetch.linux_kernel()
        assert (found.version, found.labels) == ("6.12.9-cloud-amd64", ("unreviewed image",))
        pool.offline()
        assert fetch.linux_kernel() == found

    def test_locked_refuses_it_even_when_it_is_kept(self, pool: Pool) -> None:
        add_linux(pool)
        fetch.linux_kernel()
        with pytest.raises(FetchError, match="nothing of linux was reviewed for debian-bookworm"):
            fetch.linux_kernel(locked=True)

    def test_the_same_version_with_another_digest_is_not_the_reviewed_one(self, pool: Pool) -> None:
        made = add_linux(pool)
        pool.lock("linux", "6.12.9", Pin(Package(made.name, made.version, "0" * 64, made.size_bytes)))
        assert fetch.linux_kernel().labels == ("unreviewed image",)

    def test_qemus_libraries_are_found_along_its_dependencies(self, pool: Pool, programs: Programs) -> None:
        add_qemu(pool, programs)
        found = fetch.qemu()
        assert (found.version, found.origin, found.labels) == (
            (10, 0, 2),
            "unreviewed image",
            ("unreviewed image",),
        )
        about = json.loads((found.binary.parents[1] / "fetched.json").read_text())
        assert {"libbgalpha1", "libodd"} <= set(about["packages"])
        assert "libnothing0" not in about["packages"]
        assert left_over() == []

    def test_a_library_that_nobody_supplies_is_said(self, pool: Pool, programs: Programs) -> None:
        add_qemu(pool, programs)
        (pool.folder / "libodd.show").unlink()
        with pytest.raises(
            FetchError, match=r"no dependency of libbgalpha1 1\.0-1 supplies libbgbeta\.so\.2"
        ):
            fetch.qemu()

    def test_it_is_fetched_again_when_the_system_lost_a_library(
        self, pool: Pool, programs: Programs, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        add_qemu(pool, programs)
        has = elf.present()
        monkeypatch.setattr(elf, "present", lambda: has | {"libbgbeta.so.2"})
        with monkeypatch.context() as patch:
            patch.setattr(fetch, "_version", lambda *_: (10, 0, 2))
            first = fetch.qemu()
        monkeypatch.setattr(elf, "present", lambda: has)
        second = fetch.qemu()
        assert second.binary != first.binary
        assert (second.binary.parents[1] / "lib" / "libbgbeta.so.2").is_file()


class TestImpossible:
    def test_no_network_is_said_with_what_to_do(self, pool: Pool) -> None:
        pool.offline()
        with pytest.raises(
            FetchError, match=r"Could not resolve the source; check the network .*--linux-kernel PATH"
        ):
            fetch.linux_kernel()
        assert left_over() == []

    def test_a_systems_qemu_serves_and_is_labelled(self, pool: Pool, programs: Programs) -> None:
        pool.lock("qemu", "10.0.2", *add_qemu(pool, programs))
        pool.offline()
        pool.tool("qemu-system-x86_64", "#!/bin/sh\necho QEMU emulator version 8.2.2\n")
        told: list[str] = []
        found = fetch.qemu(notice=told.append)
        assert (found.version, found.origin, found.labels) == ((8, 2, 2), "system", ("system QEMU",))
        assert "using this system's" in told[-1]
        with pytest.raises(FetchError, match="Could not resolve"):
            fetch.qemu(locked=True)

    def test_no_apt_names_the_ways_round(self, pool: Pool) -> None:
        (pool.bin / "apt-get").unlink()
        with pytest.raises(FetchError, match=r"apt-get.* is not on PATH; .*--qemu PATH"):
            fetch.qemu()

    def test_another_distribution_is_named(self, pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
        words = {"ID": "fedora", "PRETTY_NAME": "Fedora Linux 42"}
        monkeypatch.setattr(platform, "freedesktop_os_release", lambda: words)
        with pytest.raises(FetchError, match="Fedora Linux 42 is no relative of Debian or Ubuntu"):
            fetch.qemu()
        assert pool.calls() == []

    def test_another_processor_is_named(self, pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(platform, "machine", lambda: "aarch64")
        with pytest.raises(FetchError, match="for x86_64 only, this is aarch64"):
            fetch.linux_kernel()
        assert pool.calls() == []

    def test_a_package_that_cannot_be_unpacked_is_said(self, pool: Pool) -> None:
        pool.lock("linux", "6.12.9", Pin(add_linux(pool)))
        pool.tool("dpkg-deb", "#!/bin/sh\nprintf torn; exit 2\n")
        with pytest.raises(FetchError, match="cannot be unpacked"):
            fetch.linux_kernel()


class TestUsersOwn:
    def test_qemu(self, pool: Pool) -> None:
        program = pool.tool("my-qemu", "#!/bin/sh\necho 'QEMU emulator version 9.1.50 (v9.1.0-1-gabc)'\n")
        found = fetch.qemu(program)
        assert (found.version, found.origin, found.labels) == ((9, 1, 50), "user", ("user QEMU",))
        assert (found.environment, found.data) == ({}, ())

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("#!/bin/sh\necho hello\n", "does not answer like QEMU: 'hello'"),
            ("#!/bin/sh\necho broken >&2; exit 1\n", "does not answer like QEMU: 'broken'"),
            ("no program at all", "cannot be started"),
        ],
    )
    def test_what_is_no_qemu_is_refused(self, pool: Pool, text: str, said: str) -> None:
        with pytest.raises(FetchError, match=said):
            fetch.qemu(pool.tool("my-qemu", text))

    def test_a_script_that_hangs_is_refused_and_leaves_nothing(
        self, pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(fetch, "_ASK_S", 0.5)
        script = f"#!/bin/sh\n/bin/sh -c '/bin/sleep 20; true' {tmp_path}/child &\nwait\n"
        with pytest.raises(FetchError, match=r"cannot be started: .* timed out"):
            fetch.qemu(pool.tool("my-qemu", script))
        assert wait_until(lambda: not processes_with(f"{tmp_path}/child"), 5.0)

    def test_a_missing_qemu_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(FetchError, match=r"--qemu .*/none: there is no program"):
            fetch.qemu(tmp_path / "none")

    def test_linux(self, tmp_path: Path) -> None:
        (tmp_path / "vmlinuz").write_bytes(image("6.1.0-own"))
        (tmp_path / "config-6.1.0-own").write_text("CONFIG_SMP=y\n")
        found = fetch.linux_kernel(tmp_path / "vmlinuz")
        assert (found.version, found.labels) == ("6.1.0-own", ("user kernel",))
        assert found.config_digest != "unavailable"

    def test_a_missing_kernel_and_one_that_is_none_are_refused(self, tmp_path: Path) -> None:
        with pytest.raises(FetchError, match=r"--linux-kernel .*/none: cannot be read: No such file"):
            fetch.linux_kernel(tmp_path / "none")
        (tmp_path / "text").write_text("hello")
        with pytest.raises(FetchError, match="is no x86 Linux image"):
            fetch.linux_kernel(tmp_path / "text")
        with pytest.raises(FetchError, match="cannot be read: Is a directory"):
            fetch.linux_kernel(tmp_path)

    def test_locked_takes_neither(self, tmp_path: Path) -> None:
        with pytest.raises(FetchError, match="--locked takes pinned inputs only, --qemu"):
            fetch.qemu(tmp_path, locked=True)
        with pytest.raises(FetchError, match="--locked takes pinned inputs only, --linux-kernel"):
            fetch.linux_kernel(tmp_path, locked=True)


class TestCommand:
    def test_setup_says_what_it_did(
        self, pool: Pool, programs: Programs, capsys: pytest.CaptureFixture[str]
    ) -> None:
        pool.lock("qemu", "10.0.2", *add_qemu(pool, programs))
        add_linux(pool)
        assert main(["setup"]) == 0
        last = capsys.readouterr().out.splitlines()[-1]
        assert last == "benchgate: QEMU 10.0.2 (reviewed), Linux 6.12.9-cloud-amd64 (unreviewed image)"

    def test_what_fails_is_one_sentence_and_status_4(
        self, pool: Pool, capsys: pytest.CaptureFixture[str]
    ) -> None:
        pool.offline()
        assert main(["setup"]) == 4
        assert capsys.readouterr().err.startswith("benchgate: apt could not get what is needed")
