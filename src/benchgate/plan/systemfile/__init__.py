"""Reads a system's YAML file.

Takes its path, or text and the path to name in messages, and the chosen settings; gives a frozen `System`.
Fails with CatalogError, which names file, line and key of every problem. Each module reads the keys of one
subject.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from benchgate.base.errors import CatalogError, UsageError
from benchgate.base.snapshots import START, StartKind
from benchgate.base.system.boots import WORKLOAD_INITRD, End
from benchgate.base.system.results import ResultDefinition, ResultFormat
from benchgate.base.system.systems import AskMethod, Settings, System, SystemKind, not_a_service, plain_name
from benchgate.base.yaml import yamlfile
from benchgate.base.yaml.keys import LARGEST
from benchgate.base.yaml.yamlfile import Section
from benchgate.plan.system_keys import SYSTEM
from benchgate.plan.systemfile import boot, console, extends, observe, prompt, result
from benchgate.plan.systemfile import settings as settings_of


def load(path: Path, chosen: Mapping[str, str] = MappingProxyType({})) -> System:
    """Reads the file. Settings in `chosen` that differ from the file's defaults become part of the name."""
    system = _checked(yamlfile.of_node(extends.node_of(path), path, SYSTEM), path, chosen)
    name = system.result.system or plain_name(system.name)
    if system.boot.initrd == WORKLOAD_INITRD and name != extends.LINUX:
        raise CatalogError(
            f"{path}: result.system: our own PID 1 (`boot.initrd: workload`) says that the system is "
            f"`{extends.LINUX}`, and without this key it must say `{name}`: write `result: {{system: "
            f"{extends.LINUX}}}`; or, in the place of a copy, `extends: {extends.LINUX}` with `version`, "
            "`name` and the keys that differ"
        )
    return system


def parse(text: str, path: Path, chosen: Mapping[str, str]) -> System:
    """Works like `load` on a file's recorded text; messages name `path`."""
    return _checked(yamlfile.parse(text, path, SYSTEM), path, chosen)


def _checked(top: Section, path: Path, chosen: Mapping[str, str]) -> System:
    with yamlfile.collecting(top):
        return _read(top, path, chosen)


def _read(top: Section, path: Path, chosen: Mapping[str, str]) -> System:
    if top.integer("version", low=0, high=LARGEST) != 1:
        top.refuse("must be 1, the version that this benchgate reads", "version")
    name = top.text("name")
    kind = SystemKind(top.choice("kind"))
    if top.refused("kind"):  # it decides which other keys there are
        top.fail("is invalid", "kind")
    settings, label = settings_of.read(top, name, chosen)
    system = _native(top, path, label) if kind is SystemKind.NATIVE else _guest(top, path, label, settings)
    if settings.values.get(START) == StartKind.WARM and (why := system.why_only_cold):
        cold = label.removesuffix(f".{START}-{StartKind.WARM}")
        raise UsageError(f"{cold} cannot start warm: {why}; leave out start=warm, or use --start auto")
    return system


def _native(top: Section, path: Path, name: str) -> System:
    return System(
        name=name,
        kind=SystemKind.NATIVE,
        about=top.text("about"),
        file=path,
        result=ResultDefinition(counts_foreign=False),  # other processes run on this host too
        end=End(exit_codes=(0,)),
        deadlines=console.deadlines(top),
        cpus=_cpus(top),
        services=_services(top),
    )


def _guest(top: Section, path: Path, name: str, settings: Settings) -> System:
    guest = settings_of.read_arch(top, settings.values)
    boots, watched, way = boot.read(top, settings), console.read(top), prompt.read_way(top)
    ends, deadlines = console.read_end(top, guest.exit_code), console.deadlines(top)
    script = prompt.read(top, way, watched.ready, deadlines)
    system = System(
        name=name,
        kind=SystemKind.QEMU,
        about=top.text("about"),
        file=path,
        arch=guest,
        qemu=boot.qemu(top, guest.machine, settings),
        boot=boots,
        build=boot.build(top, path.parent, settings),
        settings=settings,
        ask=way,
        script=script,
        ports=boot.read_ports(top, script),
        modes=prompt.modes(top),
        smoke=console.smoke(top, settings.values, ends.by),
        console=watched,
        result=result.read(top, way, ends.by, script),
        end=ends,
        deadlines=deadlines,
        cpus=_cpus(top),
        services=_services(top),
        observe=observe.read(top, guest),
    )
    if boots.initrd == WORKLOAD_INITRD and way is not AskMethod.CMDLINE:
        top.refuse(f"`ask: {way}` runs the guest's own programs; `initrd: workload` needs `cmdline`", "ask")
    if boots.warm is not None and way is not AskMethod.CMDLINE:
        top.refuse(f"`ask: {way}` has no command line that comes later; `boot.warm` needs `cmdline`", "ask")
    if way is AskMethod.CMDLINE and not (boots.kernel or top.refused("boot") or top.refused("boot.kernel")):
        top.refuse(
            "`cmdline` needs `boot.kernel`, because QEMU gives a command line only to a kernel that it loads",
            "ask",
        )
    if watched.by_clock and system.result.format is not ResultFormat.PATTERNS:
        top.refuse(
            "`clock` is for `format: patterns`, in whose window each vCPU must work; the wire format says "
            "how many CPUs came up, and `bench-lines` needs a pattern",
            "console.online",
        )
    needs_count = system.result.format is not ResultFormat.BENCH and not top.refused("console.online")
    if needs_count and not (watched.counts_cpus or watched.by_clock):
        top.refuse(
            "`online` is missing: add a pattern whose group (?P<n>...) is the number of online CPUs, or "
            "`online_lines`, a pattern that matches one line for each of them. Without it a figure of one "
            "CPU could pass as one of many",
            "console",
        )
    return system


def _cpus(top: Section) -> tuple[int, int]:
    with top.optional("cpus") as words:
        low = words.integer("minimum")
        return low, words.integer("maximum", low=low)


def _services(top: Section) -> Mapping[str, str]:
    found = top.plain("services")
    for name in found:
        if wrong := not_a_service(name):
            top.refuse(wrong, "services")
    return found
