"""Reads what a system boots from and how it is built: `boot`, `qemu` and `build`.

Takes the top section, the file's folder and the settings; gives the typed parts of a `System`. Fails with
CatalogError. Keys of features that do not exist yet (disks, firmware) are refused with that reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchgate.base.systems import Build, QemuWords
from benchgate.base.text import filled
from benchgate.base.yamlfile import Section


@dataclass(frozen=True, slots=True)
class Boot:
    """What QEMU is given to boot."""

    kernel: str = ""
    initrd: str = ""
    append: str = ""
    symbols: str = ""


def read(top: Section, settings: Mapping[str, str]) -> Boot:
    words = top.section("boot")
    if words is None:
        top.refuse("is missing", "boot")
        return Boot()
    for key, what in {"disks": "booting from disks", "firmware": "booting by firmware"}.items():
        if words.has(key):
            words.refuse(f"{what} cannot be used yet; boot by `kernel` and `initrd`", key)
    found = Boot(
        kernel=words.text("kernel"),
        initrd=words.text("initrd", ""),
        append=filled(words.text("append", ""), settings),
        symbols=words.text("symbols", ""),
    )
    words.close()
    return found


def qemu(top: Section) -> QemuWords:
    with top.optional("qemu") as words:
        if words.has("binary"):
            words.refuse("a system cannot have its own QEMU yet; use --qemu PATH", "binary")
        smp = words.text("smp", "{n}")
        if "{n}" not in smp or "{" in smp.replace("{n}", ""):
            words.refuse("must contain {n}, and no other braces", "smp")
        return QemuWords(
            machine=words.text("machine", "q35"),
            cpu=words.text("cpu", ""),
            memory=words.text("memory", "256M"),
            smp=smp,
            arguments=words.texts("arguments"),
        )


def build(top: Section, folder: Path, settings: Mapping[str, str]) -> Build | None:
    words = top.section("build")
    if words is None:
        return None
    found = Build(
        commands=tuple(
            tuple(filled(word, settings) for word in command) for command in words.commands("commands")
        ),
        folder=folder / words.text("folder", "."),
        sources=tuple(folder / source for source in words.texts("sources", (".",))),
    )
    if not found.commands:
        words.refuse("contains no command", "commands")
    words.close()
    return found
