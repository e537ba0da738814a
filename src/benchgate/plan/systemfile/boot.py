"""Reads what a system boots from, and how: `boot`, `qemu`, `build`, and the `ports` that the host reaches.

Takes the top section, the file's folder and the settings; gives the typed parts of a `System`. Fails with
CatalogError, and with UsageError if two settings exclude each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from benchgate.base.errors import UsageError
from benchgate.base.snapshots import START, StartKind
from benchgate.base.system.boots import (
    BUILT_LINUX,
    CPUS,
    FETCHED_LINUX,
    WORKLOAD_INITRD,
    BootDefinition,
    Build,
    QemuWords,
)
from benchgate.base.system.qemu import MOST_PORTS, Port
from benchgate.base.system.script import PORT, Script, port_values
from benchgate.base.system.systems import WORKTREE, SettingForm, Settings
from benchgate.base.text import filled
from benchgate.base.yaml.keys import NAME
from benchgate.base.yaml.yamlfile import Section


def read(top: Section, settings: Settings) -> BootDefinition:
    words = top.section("boot")
    if words is None:
        top.refuse("is missing", "boot")
        return BootDefinition()
    values = settings.values
    kernel = words.text("kernel") if words.has("kernel") else ""
    booted, usual = filled(kernel, values), filled(kernel, settings.defaults)
    definition = words.read(
        BootDefinition,
        values,
        kernel=booted,
        append=_append(words, settings),
        start=StartKind.WARM if values.get(START) == StartKind.WARM else StartKind.COLD,
        is_linux=usual in {FETCHED_LINUX, BUILT_LINUX},
        kernel_files=settings.kernel_files,
    )
    if not (words.has("kernel") or definition.disks or words.has("firmware")):
        words.refuse("is missing; or give `disks` or `firmware` that the machine starts from", "kernel")
    if definition.source and booted != usual:
        raise UsageError("a kernel is either built of a source or a file: choose one of both settings")
    if definition.source:
        definition = replace(definition, kernel=BUILT_LINUX)
    elif booted == BUILT_LINUX:
        words.refuse("`build` needs the source that it is built from: add `source`", "kernel")
    if definition.initrd != WORKLOAD_INITRD:
        if definition.scheduler:
            words.refuse(f"is started by our PID 1: write `initrd: {WORKLOAD_INITRD}`", "scheduler")
        for kernel_file in settings.kernel_files[:1]:
            words.refuse(
                f"{kernel_file.setting} is set by our PID 1: write `initrd: {WORKLOAD_INITRD}`", "initrd"
            )
    warm = words.section("warm")
    if warm is not None and words.text("initrd") == WORKLOAD_INITRD:
        warm.fail(f"with `initrd: {WORKLOAD_INITRD}` our PID 1 waits, not the kernel: leave this out")
    for key in ("initrd", "append", "warm"):
        if words.has(key) and not (words.has("kernel") or words.refused("kernel")):
            words.refuse("is for a kernel that QEMU loads; add `kernel`, or leave this out", key)
    words.close()
    return definition


def _append(boot: Section, settings: Settings) -> str:
    """The command line, with what chosen settings add to it and take from it."""
    text = filled(boot.text("append"), settings.values)
    for word in settings.left_out:
        text = text.replace(word, "")
    return " ".join(filter(None, (text, *settings.appended)))


def qemu(top: Section, machine: str, settings: Settings) -> QemuWords:
    """Reads `qemu`. `machine` is the architecture's usual machine type."""
    with top.optional("qemu") as words:
        result = words.read(QemuWords, settings.values, machine=words.text("machine", machine))
        if CPUS not in result.smp or "{" in result.smp.replace(CPUS, ""):
            words.refuse("must contain {n}, and no other braces", "smp")
        return result


def build(top: Section, folder: Path, settings: Settings) -> Build | None:
    words = top.section("build")
    if words is None:
        return None
    asked = {key: words.commands(key) for key in ("commands", "part", "mix")}
    plain = [name for name in settings.values if settings.forms.get(name) is not SettingForm.SOURCE]
    values = {name: settings.values[name] for name in plain}
    commands, part, mix = (
        tuple(tuple(filled(word, values) for word in command) for command in each) for each in asked.values()
    )
    revision = settings.values.get(settings.revision, WORKTREE)
    result = Build(
        commands=commands,
        part=part,
        mix=mix,
        folder=folder / words.text("folder"),
        sources=tuple(folder / source for source in words.texts("sources")),
        revision="" if revision == WORKTREE else revision,
        files=tuple(
            Path(settings.values[name])
            for name in settings.files
            if name in settings.chosen
            and any(f"{{{name}}}" in word for each in asked["commands"] for word in each)
        ),
    )
    if not result.commands:
        words.refuse("contains no command", "commands")
    if bool(part) != bool(mix):
        words.refuse("a mix needs both: `part` for each program, and `mix` for the kernel", "mix")
    words.close()
    return result


def read_ports(top: Section, script: Script | None) -> Mapping[str, Port]:
    with top.optional("ports") as words:
        names = words.keys()
        for name in names:
            if not NAME.match(name):
                words.refuse("is not a name: lower-case letters, digits and _", name)
        ports = {name: _port(words, name) for name in names}
    if len(ports) > MOST_PORTS:
        top.refuse(f"has more than {MOST_PORTS} ports", "ports")
    known = port_values(dict.fromkeys(ports, 0))
    typed = sorted(script.places) if script is not None else ()
    for place in typed:
        if place.partition(".")[0] == PORT and place not in known and not top.refused("ports"):
            have = ", ".join(f"{{{text}}}" for text in known) or "none"
            top.refuse(f"a step types {{{place}}}, which is none of its ports; there are {have}", "ports")
    return ports


def _port(words: Section, name: str) -> Port:
    """Reads `web: 80` or `web: {guest: 80, host: 8080}`."""
    if not words.is_mapping(name):
        return Port(words.integer(name))
    with words.optional(name) as section:
        return section.read(Port)
