"""Reads what a system boots from and how it is built: `boot`, `qemu` and `build`.

Takes the top section, the file's folder and the settings; gives the typed parts of a `System`. Fails with
CatalogError.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from benchgate.base.boots import DEFAULT_FIRMWARE, Boot, Build, QemuWords
from benchgate.base.disks import FORMATS, Disk, Interface
from benchgate.base.network import CARD
from benchgate.base.text import filled
from benchgate.base.yamlfile import Section


def read(top: Section, settings: Mapping[str, str]) -> Boot:
    words = top.section("boot")
    if words is None:
        top.refuse("is missing", "boot")
        return Boot()
    disks, firmware = _disks(words), words.text("firmware", DEFAULT_FIRMWARE)
    if not (words.has("kernel") or disks or words.has("firmware")):
        words.refuse("is missing; or give `disks` or `firmware` that the machine starts from", "kernel")
    found = Boot(
        kernel=words.text("kernel") if words.has("kernel") else "",
        initrd=words.text("initrd", ""),
        append=filled(words.text("append", ""), settings),
        symbols=words.text("symbols", ""),
        disks=disks,
        firmware=firmware,
    )
    for key in ("initrd", "append"):
        if words.has(key) and not (words.has("kernel") or words.refused("kernel")):
            words.refuse("is for a kernel that QEMU loads; add `kernel`, or leave this out", key)
    words.close()
    return found


def _disks(boot: Section) -> tuple[Disk, ...]:
    found = []
    for words in boot.sections("disks"):
        found.append(
            Disk(
                image=words.text("image"),
                format=words.choice("format", FORMATS, "raw"),
                interface=Interface(words.choice("interface", tuple(Interface), Interface.VIRTIO)),
            )
        )
        words.close()
    return tuple(found)


def qemu(top: Section, machine: str) -> QemuWords:
    """`machine`: the architecture's usual one."""
    with top.optional("qemu") as words:
        smp = words.text("smp", "{n}")
        if "{n}" not in smp or "{" in smp.replace("{n}", ""):
            words.refuse("must contain {n}, and no other braces", "smp")
        return QemuWords(
            machine=words.text("machine", machine),
            cpu=words.text("cpu", ""),
            memory=words.text("memory", "256M"),
            smp=smp,
            arguments=words.texts("arguments"),
            network=words.text("network", CARD),
            binary=words.text("binary", ""),
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
