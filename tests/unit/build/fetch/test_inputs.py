"""QEMU and Linux: reviewed if a version of the lock is available, else labelled or refused."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from benchgate.base.errors import FetchError
from benchgate.base.system.arch import AARCH64, RISCV64, X86_64, Architecture
from benchgate.build import cache, cache_storage, cache_trim
from benchgate.build.fetch import apt, cross, elf, inputs
from benchgate.build.fetch.apt import Package
from benchgate.build.fetch.pins import Pin
from benchgate.build.fetch.store import FetchSession
from benchgate.cli import main
from tests.machines import processes_with, wait_until

if TYPE_CHECKING:
    from tests.unit.build.fetch.conftest import Pool, Programs

LIB = "usr/lib/x86_64-linux-gnu"


def image(version: str = "6.12.9-cloud-amd64") -> bytes:
    """A bzImage with the header fields that are read."""
    head = bytearray(0x1000)
    head[0x202:0x206] = b"HdrS"
    head[0x20E:0x210] = (0x600).to_bytes(2, "little")
    text = f"{version} (user@host) #1 SMP\0".encode()
    head[0x800 : 0x800 + len(text)] = text
    return bytes(head)


def add_linux(pool: Pool, version: str = "6.12.9") -> Package:
    name = f"linux-image-{version}-cloud-amd64"
    boot = {
        f"boot/vmlinuz-{version}-cloud-amd64": image(f"{version}-cloud-amd64"),
        f"boot/config-{version}-cloud-amd64": b"CONFIG_SMP=y\n",
        f"boot/System.map-{version}-cloud-amd64": b"ffffffffffffffff B this is not the real file\n",
        "lib/modules/x.ko": b"module",
    }
    made = pool.add(name, f"{version}-1", boot)
    pool.add("linux-image-cloud-amd64", f"{version}-1", {}, f"{name} (= {version}-1)")
    return made


def add_qemu(pool: Pool, programs: Programs, version: str = "1:10.0.2+ds-1", more: bytes = b"") -> list[Pin]:
    """QEMU's packages and its two libraries. One library's package has an unusual name for Debian."""
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
    return [Pin(root) for root in roots] + [Pin(*both) for both in zip(libraries, sonames, strict=True)]


def left_over() -> list[str]:
    return [str(path) for path in cache_storage.cache_root().rglob("*") if path.suffix in (".tmp", ".lock")]


class TestReviewed:
    def test_qemu_comes_with_its_roms_and_the_missing_libraries(self, pool: Pool, programs: Programs) -> None:
        pool.lock("qemu", "10.0.2", *add_qemu(pool, programs))
        qemu = inputs.qemu()
        assert (qemu.version, qemu.origin, qemu.labels) == ((10, 0, 2), "reviewed", ())
        folder = qemu.binary.parents[1]
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
        assert qemu.data == (folder / "share",)
        assert qemu.environment == {"LD_LIBRARY_PATH": str(folder / "lib")}
        assert left_over() == []

    def test_linux_comes_with_its_version_and_digests(self, pool: Pool) -> None:
        pool.lock("linux", "6.12.9", Pin(add_linux(pool)))
        kernel = inputs.linux_kernel()
        assert (kernel.version, kernel.labels, kernel.symbols) == ("6.12.9-cloud-amd64", (), None)
        assert kernel.image.read_bytes() == image()
        # sha256sum of `CONFIG_SMP=y` and a line feed
        assert kernel.config_digest == "a384e9448a2fdde1dee37eb5da09dada1708d7b64fb8f347a3f2a1fbc1d940be"

    def test_its_modules_come_from_the_same_package(self, pool: Pool) -> None:
        """Those that are asked for, in either place of Debian; the kernel's own folder stays as it is."""
        root = "usr/lib/modules/6.12.9-cloud-amd64/kernel"
        more = {
            f"{root}/drivers/net/veth.ko.xz": b"veth",
            f"lib/{root[8:]}/drivers/block/virtio_blk.ko": b"disk",
        }
        more |= {f"{root}/drivers/net/tun.ko.xz": b"not needed", f"{root}/drivers/net/veth.ko.xz.sig": b""}
        name = "linux-image-6.12.9-cloud-amd64"
        files = {"boot/vmlinuz-6.12.9-cloud-amd64": image(), **more}
        pool.lock("linux", "6.12.9", Pin(pool.add(name, "6.12.9-1", files)))
        before = inputs.linux_kernel()
        with FetchSession() as session:
            paths = inputs.linux_modules(X86_64, locked=True, session=session)
            other = inputs.linux_modules(X86_64, locked=True, session=session, part="tun", names=("tun",))
        assert {file: path.read_bytes() for file, path in paths.items()} == {
            "veth.ko.xz": b"veth",
            "virtio_blk.ko": b"disk",
        }
        assert {file: path.read_bytes() for file, path in other.items()} == {"tun.ko.xz": b"not needed"}
        assert inputs.linux_kernel() == before

    def test_the_second_call_needs_no_network(self, pool: Pool, programs: Programs) -> None:
        pool.lock("qemu", "10.0.2", *add_qemu(pool, programs))
        pool.lock("linux", "6.12.9", Pin(add_linux(pool)))
        first = inputs.prepare(locked=True)
        calls = pool.calls()
        assert calls
        pool.offline()
        assert inputs.prepare(locked=True) == first
        assert pool.calls() == calls

    def test_a_reviewed_set_needs_no_index(self, pool: Pool, programs: Programs) -> None:
        """Its digests are known: a mirror whose index does not match its signature does no harm."""
        pool.lock("qemu", "10.0.2", *add_qemu(pool, programs))
        pool.lock("linux", "6.12.9", Pin(add_linux(pool)))
        pool.stale()
        assert [one.labels for one in inputs.prepare(locked=True)] == [(), ()]
        assert {call.split()[0] for call in pool.calls()} == {"apt-helper"}

    def test_a_set_that_only_the_index_finds_is_reviewed_too(self, pool: Pool, programs: Programs) -> None:
        """The index is read once for all of them."""
        pins = add_qemu(pool, programs)
        pool.lock("qemu", "10.0.2", *pins)
        made = add_linux(pool)
        pool.lock("linux", "6.12.9", Pin(made))
        pool.move(pins[-1].package)
        pool.move(made)
        assert [one.labels for one in inputs.prepare(locked=True)] == [(), ()]
        assert sum("-qq update" in call for call in pool.calls()) == 1

    def test_a_host_without_apts_helper_reads_the_index(
        self, pool: Pool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        pool.lock("linux", "6.12.9", Pin(add_linux(pool)))
        monkeypatch.setattr(apt, "HELPER", tmp_path / "none")
        assert inputs.linux_kernel(locked=True).labels == ()
        assert not any("apt-helper" in call for call in pool.calls())

    def test_a_library_that_the_system_gains_later_changes_nothing(
        self, pool: Pool, programs: Programs, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Also one that is in the lock file: the fetched set has its own."""
        pool.lock("qemu", "10.0.2", *add_qemu(pool, programs))
        first, has = inputs.qemu(), elf.present()
        pool.offline()
        monkeypatch.setattr(elf, "present", lambda: has | {"libbgbeta.so.2", "libunrelated.so.1"})
        assert inputs.qemu() == first

    def test_a_set_whose_libraries_the_system_lost_is_not_used(
        self, pool: Pool, programs: Programs, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pool.lock("qemu", "10.0.2", *add_qemu(pool, programs))
        has = elf.present()
        monkeypatch.setattr(elf, "present", lambda: has | {"libbgbeta.so.2"})
        with monkeypatch.context() as patch:
            patch.setattr(inputs, "_version", lambda *_: (10, 0, 2))
            first = inputs.qemu()
        monkeypatch.setattr(elf, "present", lambda: has)
        second = inputs.qemu()
        assert (second.binary != first.binary, second.labels) == (True, ())
        assert (second.binary.parents[1] / "lib" / "libbgbeta.so.2").is_file()

    def test_a_library_that_the_system_has_is_not_fetched(
        self, pool: Pool, programs: Programs, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pool.lock("qemu", "10.0.2", *add_qemu(pool, programs))
        monkeypatch.setattr(elf, "present", lambda: frozenset({"libbgbeta.so.2", "libc.so.6"}))
        monkeypatch.setattr(
            inputs, "_version", lambda *_: (10, 0, 2)
        )  # QEMU could not run without the real library
        folder = inputs.qemu().binary.parents[1]
        assert sorted(path.name for path in (folder / "lib").iterdir()) == [
            "libbgalpha.so.1",
            "libbgalpha.so.1.0",
        ]

    def test_a_changed_file_is_refused_and_not_kept(self, pool: Pool) -> None:
        made = add_linux(pool)
        pool.lock("linux", "6.12.9", Pin(made))
        for path in (f"{made.name}={made.version}.deb", made.path):
            with (pool.folder / path).open("ab") as stream:
                stream.write(b"more")
        with pytest.raises(FetchError, match="does not match its SHA-256"):
            inputs.linux_kernel()
        assert cache_trim.listing() == ()
        assert left_over() == []

    def test_a_kernel_changed_in_the_cache_is_fetched_again_before_it_is_called_reviewed(
        self, pool: Pool, capsys: pytest.CaptureFixture[str], programs: Programs
    ) -> None:
        """The change keeps the size. Without the package source there is no kernel, and no `reviewed`."""
        pool.lock("qemu", "10.0.2", *add_qemu(pool, programs))
        pool.lock("linux", "6.12.9", Pin(add_linux(pool)))
        kernel = inputs.prepare(locked=True)[1].image
        while cache._held:  # as at the end of this process
            os.close(cache._held.popitem()[1])
        changed = bytearray(image())
        changed[-1] ^= 1
        kernel.write_bytes(changed)
        pool.offline()
        assert main(["setup", "--locked"]) == 4
        said = capsys.readouterr().err
        assert "the cache's linux" in said
        assert "reviewed" not in said
        pool.online()
        assert main(["setup", "--locked"]) == 0
        assert "Linux 6.12.9-cloud-amd64 (reviewed)" in capsys.readouterr().err
        assert kernel.read_bytes() == image()

    def test_an_older_reviewed_set_is_tried_next(self, pool: Pool) -> None:
        old, new = add_linux(pool, "6.12.8"), add_linux(pool, "6.12.9")
        pool.lock("linux", "6.12.9", Pin(new))
        text = (pool.locks / "linux.lock").read_text()
        pool.lock("linux", "6.12.8", Pin(old))
        (pool.locks / "linux.lock").write_text(text + (pool.locks / "linux.lock").read_text())
        pool.withdraw(new)
        kernel = inputs.linux_kernel(locked=True)
        assert (kernel.version, kernel.labels) == ("6.12.8-cloud-amd64", ())


class TestUnreviewed:
    def test_the_newest_is_used_and_labelled_if_the_reviewed_one_is_withdrawn(self, pool: Pool) -> None:
        gone = add_linux(pool, "6.12.8")
        pool.lock("linux", "6.12.8", Pin(gone))
        pool.withdraw(gone)
        add_linux(pool, "6.12.9")
        kernel = inputs.linux_kernel()
        assert (kernel.version, kernel.labels) == ("6.12.9-cloud-amd64", ("unreviewed image",))
        pool.offline()
        assert inputs.linux_kernel() == kernel

    def test_locked_refuses_an_unreviewed_version_in_the_cache(self, pool: Pool) -> None:
        add_linux(pool)
        inputs.linux_kernel()
        with pytest.raises(FetchError, match="no version of linux was reviewed for debian-bookworm"):
            inputs.linux_kernel(locked=True)

    def test_the_same_version_with_another_digest_is_not_the_reviewed_one(self, pool: Pool) -> None:
        made = add_linux(pool)
        pool.lock("linux", "6.12.9", Pin(replace(made, sha256="0" * 64)))
        assert inputs.linux_kernel().labels == ("unreviewed image",)

    def test_qemus_libraries_are_found_in_its_dependencies(self, pool: Pool, programs: Programs) -> None:
        add_qemu(pool, programs)
        qemu = inputs.qemu()
        assert (qemu.version, qemu.origin, qemu.labels) == (
            (10, 0, 2),
            "unreviewed image",
            ("unreviewed image",),
        )
        about = json.loads((qemu.binary.parents[1] / "fetched.json").read_text())
        assert {"libbgalpha1", "libodd"} <= set(about["packages"])
        assert "libnothing0" not in about["packages"]
        assert left_over() == []

    def test_a_library_that_no_package_supplies_is_reported(self, pool: Pool, programs: Programs) -> None:
        add_qemu(pool, programs)
        (pool.folder / "libodd.show").unlink()
        with pytest.raises(
            FetchError, match=r"no dependency of libbgalpha1 1\.0-1 supplies libbgbeta\.so\.2"
        ):
            inputs.qemu()

    def test_qemu_is_fetched_again_if_the_system_lost_a_library(
        self, pool: Pool, programs: Programs, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        add_qemu(pool, programs)
        has = elf.present()
        monkeypatch.setattr(elf, "present", lambda: has | {"libbgbeta.so.2"})
        with monkeypatch.context() as patch:
            patch.setattr(inputs, "_version", lambda *_: (10, 0, 2))
            first = inputs.qemu()
        monkeypatch.setattr(elf, "present", lambda: has)
        second = inputs.qemu()
        assert second.binary != first.binary
        assert (second.binary.parents[1] / "lib" / "libbgbeta.so.2").is_file()
        pool.offline()
        for unrelated in ("libunrelated.so.1", "libother.so.2"):
            monkeypatch.setattr(elf, "present", lambda name=unrelated: has | {name})
            assert inputs.qemu() == second


class TestImpossible:
    def test_without_a_network_the_error_says_what_to_do(self, pool: Pool) -> None:
        pool.offline()
        with pytest.raises(
            FetchError, match=r"Could not resolve the source; check the network .*--linux-kernel PATH"
        ):
            inputs.linux_kernel()
        assert left_over() == []

    def test_an_installed_qemu_is_used_and_labelled(self, pool: Pool, programs: Programs) -> None:
        pool.lock("qemu", "10.0.2", *add_qemu(pool, programs))
        pool.offline()
        pool.tool("qemu-system-x86_64", "#!/bin/sh\necho QEMU emulator version 8.2.2\n")
        notices: list[str] = []
        qemu = inputs.qemu(notice=notices.append)
        assert (qemu.version, qemu.origin, qemu.labels) == ((8, 2, 2), "system", ("system QEMU",))
        assert "using this system's" in notices[-1]
        with pytest.raises(FetchError, match="Could not resolve"):
            inputs.qemu(locked=True)

    def test_without_apt_the_error_names_the_alternatives(self, pool: Pool) -> None:
        (pool.bin / "apt-get").unlink()
        with pytest.raises(FetchError, match=r"apt-get.* is not on PATH; .*--qemu PATH"):
            inputs.qemu()

    def test_another_distribution_is_refused(self, pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
        words = {"ID": "fedora", "PRETTY_NAME": "Fedora Linux 42"}
        monkeypatch.setattr(platform, "freedesktop_os_release", lambda: words)
        with pytest.raises(FetchError, match="Fedora Linux 42 is not based on Debian or Ubuntu"):
            inputs.qemu()
        assert pool.calls() == []

    def test_another_architecture_is_refused(self, pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(platform, "machine", lambda: "aarch64")
        with pytest.raises(FetchError, match="for x86_64 only, this is aarch64"):
            inputs.linux_kernel()
        assert pool.calls() == []

    def test_a_package_that_cannot_be_unpacked_is_reported(self, pool: Pool) -> None:
        pool.lock("linux", "6.12.9", Pin(add_linux(pool)))
        pool.tool("dpkg-deb", "#!/bin/sh\nprintf truncated; exit 2\n")
        with pytest.raises(FetchError, match="cannot be unpacked"):
            inputs.linux_kernel()


def arm_image(version: str) -> bytes:
    """An Image of AArch64 with its magic number and the kernel's banner."""
    head = bytearray(0x1000)
    head[0x38:0x3C] = b"ARMd"
    return bytes(head) + f"Linux version {version} (builder@host) #1 SMP\n".encode()


class TestOtherArchitectures:
    def test_a_qemu_comes_from_its_own_package_and_lock(self, pool: Pool, programs: Programs) -> None:
        add_qemu(pool, programs)
        depends = "libbgalpha1 (>= 1.0), libc6 (>= 2.34)"
        files = {"usr/bin/qemu-system-aarch64": programs.qemu}
        root = pool.add("qemu-system-arm", "1:10.0.2+ds-1", files, depends)
        (pool.locks / "qemu-aarch64.lock").touch()
        qemu = inputs.qemu(None, AARCH64)
        assert (qemu.binary.name, qemu.guest, qemu.labels) == (
            "qemu-system-aarch64",
            AARCH64,
            ("unreviewed image",),
        )
        assert json.loads((qemu.binary.parents[1] / "fetched.json").read_text())["packages"].keys() == {
            root.name,
            "qemu-system-data",
            "ipxe-qemu",
            "libbgalpha1",
            "libodd",
        }

    def test_linux_comes_from_the_release_that_has_it(self, pool: Pool) -> None:
        """RISC-V is no architecture of bookworm: the kernel is trixie's."""
        name = "linux-image-6.12.9+deb13-riscv64"
        content = bytearray(arm_image("6.12.9+deb13-riscv64"))
        content[0x38:0x3C] = b"RSC\x05"
        made = pool.add(name, "6.12.9-1", {f"boot/vmlinux-{name}": bytes(content)})
        pool.add("linux-image-riscv64", "6.12.9-1", {}, f"{name} (= 6.12.9-1)")
        pool.lock("linux-riscv64", "6.12.9", Pin(made))
        kernel = inputs.linux_kernel(None, RISCV64, locked=True)
        assert (kernel.version, kernel.labels) == ("6.12.9+deb13-riscv64", ())
        assert kernel.image.read_bytes() == bytes(content)

    def test_a_kernel_of_another_architecture_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "Image").write_bytes(arm_image("6.12.9"))
        assert inputs.linux_kernel(tmp_path / "Image", AARCH64).version == "6.12.9"
        with pytest.raises(FetchError, match="is not a Linux image for riscv64: give an uncompressed Image"):
            inputs.linux_kernel(tmp_path / "Image", RISCV64)

    def test_a_qemu_of_another_architecture_is_refused(self, pool: Pool) -> None:
        program = pool.tool("qemu-system-riscv64", "#!/bin/sh\necho QEMU emulator version 9.9.9\n")
        assert inputs.qemu(program, RISCV64).guest is RISCV64
        with pytest.raises(FetchError, match="emulates riscv64, the guest is x86_64; give a qemu-system-x86"):
            inputs.qemu(program)


class TestUsersOwn:
    def test_qemu(self, pool: Pool) -> None:
        program = pool.tool("my-qemu", "#!/bin/sh\necho 'QEMU emulator version 9.1.50 (v9.1.0-1-gabc)'\n")
        qemu = inputs.qemu(program)
        assert (qemu.version, qemu.origin, qemu.labels) == ((9, 1, 50), "user", ("user QEMU",))
        assert (qemu.environment, qemu.data) == ({}, ())

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("#!/bin/sh\necho hello\n", "does not print QEMU's version: 'hello'"),
            ("#!/bin/sh\necho broken >&2; exit 1\n", "does not print QEMU's version: 'broken'"),
            ("not a program", "cannot be started"),
        ],
    )
    def test_another_program_is_refused(self, pool: Pool, text: str, message: str) -> None:
        with pytest.raises(FetchError, match=message):
            inputs.qemu(pool.tool("my-qemu", text))

    def test_a_script_that_hangs_is_refused_and_leaves_no_process(
        self, pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(inputs, "_ASK_S", 0.5)
        script = f"#!/bin/sh\n/bin/sh -c '/bin/sleep 6000; true' {tmp_path}/child &\nwait\n"
        with pytest.raises(FetchError, match=r"cannot be started: .* timed out"):
            inputs.qemu(pool.tool("my-qemu", script))
        assert wait_until(lambda: not processes_with(f"{tmp_path}/child"))

    def test_a_missing_qemu_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(FetchError, match=r"--qemu .*/none: there is no program"):
            inputs.qemu(tmp_path / "none")

    def test_linux(self, tmp_path: Path) -> None:
        (tmp_path / "vmlinuz").write_bytes(image("6.1.0-own"))
        (tmp_path / "config-6.1.0-own").write_text("CONFIG_SMP=y\n")
        kernel = inputs.linux_kernel(tmp_path / "vmlinuz")
        assert (kernel.version, kernel.labels) == ("6.1.0-own", ("user kernel",))
        assert kernel.config_digest != "unavailable"

    def test_a_missing_and_an_invalid_kernel_are_refused(self, tmp_path: Path) -> None:
        with pytest.raises(FetchError, match=r"--linux-kernel .*/none: cannot be read: No such file"):
            inputs.linux_kernel(tmp_path / "none")
        (tmp_path / "text").write_text("hello")
        with pytest.raises(FetchError, match="is not a Linux image for x86_64: give a bzImage"):
            inputs.linux_kernel(tmp_path / "text")
        with pytest.raises(FetchError, match="cannot be read: Is a directory"):
            inputs.linux_kernel(tmp_path)

    def test_what_is_not_a_regular_file_is_refused(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "fifo", 0o755)
        for word in (tmp_path / "fifo", Path("/dev/zero")):
            with pytest.raises(FetchError, match=r"--linux-kernel .* it is not a regular file"):
                inputs.linux_kernel(word)
        with pytest.raises(FetchError, match=r"--qemu .*/fifo: cannot be read: it is not a regular file"):
            inputs.qemu(tmp_path / "fifo")

    def test_locked_refuses_both(self, tmp_path: Path) -> None:
        with pytest.raises(FetchError, match="--locked allows pinned inputs only, --qemu"):
            inputs.qemu(tmp_path, locked=True)
        with pytest.raises(FetchError, match="--locked allows pinned inputs only, --linux-kernel"):
            inputs.linux_kernel(tmp_path, locked=True)


class TestCommand:
    def test_setup_reports_the_versions(
        self, pool: Pool, programs: Programs, capsys: pytest.CaptureFixture[str]
    ) -> None:
        pool.lock("qemu", "10.0.2", *add_qemu(pool, programs))
        add_linux(pool)
        assert main(["setup"]) == 0
        last = capsys.readouterr().err.splitlines()[-1]
        assert last == "benchgate: QEMU 10.0.2 (reviewed), Linux 6.12.9-cloud-amd64 (unreviewed image)"

    @pytest.mark.parametrize(
        ("word", "wanted"),
        [
            ("riscv64,aarch64", ["x86_64", "riscv64", "aarch64"]),
            ("aarch64", ["x86_64", "aarch64"]),
            ("riscv64, x86_64,riscv64", ["x86_64", "riscv64"]),
        ],
    )
    def test_setup_gets_everything_for_each_architecture(
        self,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        word: str,
        wanted: list[str],
    ) -> None:
        asked: list[str] = []

        def qemu(guest: Architecture, **_: object) -> SimpleNamespace:
            asked.append(f"QEMU {guest}")
            return SimpleNamespace(version_text="10.0.2", origin="reviewed")

        def linux(guest: Architecture, **_: object) -> SimpleNamespace:
            asked.append(f"Linux {guest}")
            return SimpleNamespace(version="6.12", labels=())

        monkeypatch.setattr(inputs, "qemu", qemu)
        monkeypatch.setattr(inputs, "linux_kernel", linux)
        monkeypatch.setattr(cross, "compiler", lambda guest, **_: asked.append(f"compiler {guest}"))
        assert main(["setup", "--locked", "--arch", word]) == 0
        assert [one.partition(" ")[2] for one in asked if one.startswith("QEMU")] == wanted
        assert {one for one in asked if one.startswith("compiler")} == {
            f"compiler {one}" for one in wanted if one != "x86_64"
        }
        assert len(asked) == 3 * len(wanted) - 1
        said = capsys.readouterr().err.splitlines()
        assert said[0] == "benchgate: QEMU 10.0.2 (reviewed), Linux 6.12 (reviewed)"
        assert said[1:] == [f"benchgate: {one}: {said[0].partition(': ')[2]}" for one in wanted[1:]]

    @pytest.mark.parametrize("word", ["riscv32", "", "riscv64;aarch64"])
    def test_an_architecture_that_is_not_known_is_a_usage_error(
        self, word: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with pytest.raises(SystemExit) as left:
            main(["setup", "--arch", word])
        assert left.value.code == 4
        assert "is not an architecture; choose one of x86_64, riscv64, aarch64" in capsys.readouterr().err

    def test_a_failure_is_one_sentence_and_status_4(
        self, pool: Pool, capsys: pytest.CaptureFixture[str]
    ) -> None:
        pool.offline()
        assert main(["setup"]) == 4
        assert capsys.readouterr().err.splitlines()[-1].startswith("benchgate: apt could not read")
