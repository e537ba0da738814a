"""Lock files: those in fixtures/ are valid, and invalid ones are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.base.errors import FetchError
from benchgate.base.paths import data_root
from benchgate.build.fetch import pins
from benchgate.build.fetch.apt import Package
from benchgate.build.fetch.pins import Pin, PinnedSet

QEMU = Package("qemu-system-x86", "1:10.0.2+ds-2~bpo12+1", "a" * 64, 10, path="pool/main/q/qemu/x86_1.deb")
FDT = Package("libfdt1", "1.6.1-4+b1", "b" * 64, 20, path="pool/main/d/dtc/libfdt1_1.6.1-4%2bb1_amd64.deb")
SET = PinnedSet("debian-bookworm", "10.0.2", (Pin(QEMU), Pin(FDT, ("libfdt.so.1",))))


def test_a_written_lock_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "qemu.lock"
    path.write_text(pins.write((SET, SET)))
    assert pins.read(path) == (SET, SET)


def test_the_digest_depends_on_every_pin() -> None:
    other = PinnedSet(SET.release, SET.version, (SET.pins[0],))
    assert other.digest != SET.digest


LOCKS = [path.stem for path in sorted((data_root() / "fixtures").glob("*.lock"))]


@pytest.mark.parametrize("kind", LOCKS)
def test_the_shipped_locks_have_both_debian_releases_and_name_no_host(kind: str) -> None:
    path = data_root() / "fixtures" / f"{kind}.lock"
    assert {"debian-bookworm", "debian-trixie"} <= {pinned_set.release for pinned_set in pins.read(path)}
    assert "://" not in path.read_text()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[[set]]", "[[set", "cannot be read"),
        ('version = "10.0.2"', "version = 10", "set 1: needs release, version and at least one package"),
        ('"qemu-system-x86"', '"../x"', "set 1, package 1: name: expected text"),
        ("1:10.0.2+ds-2~bpo12+1", "1; rm", "set 1, package 1: version"),
        ("b" * 64, "b" * 63, "set 1, package 2: sha256"),
        ("pool/main/q/qemu/", "../", "set 1, package 1: path"),
        ("pool/main/q/qemu/", "pool/../../", "set 1, package 1: path"),
        ("pool/main/q/qemu/", "http://mirror.example/", "set 1, package 1: path"),
        ("bytes = 10", 'bytes = "10"', "set 1, package 1: needs bytes"),
        ('["libfdt.so.1"]', '"libfdt.so.1"', "set 1, package 2: needs bytes, a whole number, and libraries"),
    ],
)
def test_an_invalid_lock_is_refused_by_entry(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "qemu.lock"
    text = pins.write((SET,))
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(FetchError, match=message) as caught:
        pins.read(path)
    assert str(path) in str(caught.value)


def test_a_missing_lock_is_reported(tmp_path: Path) -> None:
    with pytest.raises(FetchError, match="cannot be read"):
        pins.read(tmp_path / "none.lock")
