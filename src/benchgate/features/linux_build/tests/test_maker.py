"""A Linux that is built takes the place of the fetched one."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from benchgate.base.system.arch import X86_64
from benchgate.build.images import Images
from benchgate.features.linux_build import kernel
from benchgate.features.linux_build.kernel import BuiltLinux
from benchgate.plan import catalog


def sha256(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


def test_a_linux_that_is_built_takes_the_place_of_the_fetched_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in (("vmlinux", "elf"), ("config", "CONFIG_PVH=y\n"), ("release", "6.12.95\n")):
        (tmp_path / name).write_text(text)
    asked: list[object] = []

    def build(*words: object, **more: object) -> BuiltLinux:
        asked.append((*words, more["locked"]))
        return BuiltLinux(tmp_path, "linux-source-6.12 6.12.95")

    monkeypatch.setattr(kernel, "build", build)
    linux = catalog.load_system("linux:source=linux-source-6.12:config=debug")
    made = Images(True, lambda _: None).linux(linux)
    assert (made.image, made.version, made.labels) == (
        tmp_path / "vmlinux",
        "6.12.95",
        ("linux-source-6.12 6.12.95",),
    )
    assert (made.digest, made.config_digest) == (sha256(b"elf"), sha256(b"CONFIG_PVH=y\n"))
    assert (made.symbols, made.bpf_loader) == (tmp_path / "System.map", None)
    assert asked == [("linux-source-6.12", "debug", X86_64, True)]
    (tmp_path / "config").write_text("# CONFIG_PVH is not set\n")
    assert build(locked=False).image == tmp_path / "bzImage"  # which QEMU can start


def test_a_path_in_a_file_is_relative_to_that_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def build(source: str, *_: object, **__: object) -> BuiltLinux:
        asked.append(source)
        raise ZeroDivisionError

    monkeypatch.setattr(kernel, "build", build)
    mine = "version: 1\nname: mine\nextends: linux\nsettings: {source: {source: ../src}}\n"
    (tmp_path / "mine.yaml").write_text(mine)
    with pytest.raises(ZeroDivisionError):
        Images(False, lambda _: None).linux(catalog.load_system(str(tmp_path / "mine.yaml")))
    assert asked == [str(tmp_path / "../src")]
