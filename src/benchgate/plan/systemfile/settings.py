"""Reads `settings`: choices that the user makes when a system is named (`tern:sched=lottery`).

A setting is one of several words (`choices` and `default`), a file (`file`, its default), a git revision of
the sources (`revision`, its default), a source of Linux (`source`), parts of its configuration (`config`), a
program with arguments (`program`), or what files of the kernel must show (`shows`), which has no default but
the kernel's own. Takes the top section, the system's name and the chosen settings; gives
the settings, and the name with those that differ from a default. Every guest has the setting `start`, where
its runs begin. No file is looked at. Fails with CatalogError for the YAML file, UsageError for the choice. A
setting may choose the architecture of the guests (`arch`); `read_arch` then puts the keys of its part of
`by_arch` in the place of the file's own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from benchgate.base.errors import UsageError
from benchgate.base.snapshots import START, StartKind
from benchgate.base.system.arch import ARCHITECTURES, X86_64, Architecture
from benchgate.base.system.boots import SettingDisplay, SettingFile
from benchgate.base.system.systems import SettingForm, Settings
from benchgate.base.text import filled, one_line, suggestion
from benchgate.base.yaml.yamlfile import Section

_NAMES = tuple(ARCHITECTURES)
SETTING = re.compile(r"(?!(?:out|n|source|workload|start)\Z)[a-z][a-z0-9_]{0,31}\Z")
"""A valid name of a setting. `{out}`, `{n}`, `{source}` and `{workload}` are reserved, and so is `start`; but
a source of Linux, which is not for build commands, may be called `source`."""
_REVISION = re.compile(r"[0-9A-Za-z_][0-9A-Za-z_./@{}^~+-]{0,199}\Z")
_LONGEST_PATH = 4096
_KERNEL_FOLDERS = ("/proc/", "/sys/")
_VALUE = re.compile(r"""[!#-&(-~](?:[ !#-&(-~]*[!#-&(-~])?""")
_PATH = re.compile(r"/[A-Za-z0-9_./@-]+")
_CPUS = re.compile(r"[0-9]{1,4}(?:-[0-9]{1,4})?(?:,[0-9]{1,4}(?:-[0-9]{1,4})?)*")
_LONGEST_VALUE = 80
_MOST_FILES = 64
"""So many does guest/init/tuned.c take."""
_KEYS = {SettingForm.SOURCE: "source", SettingForm.CONFIG: "config", SettingForm.PROGRAM: "program"}


def read_arch(top: Section, settings: Mapping[str, str]) -> Architecture:
    guest = _named(top, filled(top.text("arch"), settings), "arch")
    parts = top.section("by_arch")
    if parts is not None:
        for name in parts.keys():  # noqa: SIM118 - a Section, not a dict
            _named(parts, name, name)
        chosen = parts.section(guest.name)
        if chosen is not None:
            top.prefer(chosen)
    return guest


def _named(words: Section, name: str, key: str) -> Architecture:
    if name not in ARCHITECTURES:
        near = suggestion(name, _NAMES, f"it is one of {', '.join(_NAMES)}")
        words.refuse(f"`{name}` is not an architecture; {near}", key)
    return ARCHITECTURES.get(name, X86_64)


def read(top: Section, name: str, chosen: Mapping[str, str]) -> tuple[Settings, str]:
    """All settings with defaults filled in, and the name with the settings that differ from a default."""
    values: dict[str, str] = {}
    defaults: dict[str, str] = {}
    files: list[str] = []
    revision = ""
    forms: dict[str, SettingForm] = {}
    tuned: dict[str, _SwitchEffect] = {}
    left_out: list[str] = []
    with top.optional("settings") as words:
        for key in words.keys():  # noqa: SIM118 - a Section, not a dict
            with words.optional(key) as section:
                is_source = key == "source" and section.has(_KEYS[SettingForm.SOURCE])
                if not (SETTING.match(key) or is_source):
                    words.refuse(
                        f"`{key}` is not a name for a setting: use lower-case letters, digits and _", key
                    )
                if section.has("file"):
                    files.append(key)
                    defaults[key] = section.text("file")
                    values[key] = _file(name, key, chosen.get(key, defaults[key]))
                elif section.has("revision"):
                    if revision or not (top.knows("build") and top.has("build")):
                        section.refuse("is for a system with `build`, and only once", "revision")
                    revision = key
                    defaults[key] = section.text("revision")
                    values[key] = _revision(name, key, chosen.get(key, defaults[key]))
                elif form := next((form for form in SettingForm if section.has(_KEYS[form])), None):
                    word = section.text(_KEYS[form])
                    forms[key], defaults[key] = form, word
                    values[key] = _file(name, key, chosen.get(key, defaults[key]))
                    if any(map(form.path, form.parts(values[key]))):
                        files.append(key)
                    left_out += _left_out_by(section, form, values[key])
                elif section.has("shows"):
                    values[key], defaults[key] = chosen.get(key, ""), ""
                    tuned[key] = _tuned(section, name, key, values[key])
                else:
                    choices = section.texts("choices")
                    defaults[key] = section.choice("default", choices)
                    values[key] = _choice(name, key, chosen.get(key, defaults[key]), choices)
    if _choice(name, START, chosen.get(START, StartKind.COLD), tuple(StartKind)) != StartKind.COLD:
        values[START], defaults[START] = chosen[START], StartKind.COLD
    if unknown := sorted(set(chosen) - set(values) - {START}):
        raise UsageError(f"{name} has no setting `{unknown[0]}`; it has {', '.join(values) or 'none'}")
    settings = Settings(
        values,
        defaults,
        tuple(files),
        revision,
        forms,
        kernel_files=tuple(file for value in tuned.values() for file in value.files),
        appended=tuple(value.appended for value in tuned.values() if value.appended),
        left_out=(*left_out, *(value.left_out for value in tuned.values() if value.left_out)),
        texts=tuple(tuned),
    )
    if len(settings.kernel_files) > _MOST_FILES:
        raise UsageError(f"{name}: the settings are about more than {_MOST_FILES} files of the kernel")
    return settings, "".join([name, *(f".{key}-{settings.label(key)}" for key in settings.chosen)])


def _left_out_by(section: Section, form: SettingForm, value: str) -> list[str]:
    """What a program, or a part of a configuration that the value names, takes from the command line."""
    if form is SettingForm.SOURCE:
        return []
    text = section.text("leaves_out")
    takes = section.text("with_part") in form.parts(value) if form is SettingForm.CONFIG else value
    return [text] if takes else []


# ---- what files of the kernel must show


@dataclass(frozen=True, slots=True)
class _SwitchEffect:
    files: tuple[SettingFile, ...] = ()
    appended: str = ""
    left_out: str = ""


def _tuned(section: Section, name: str, key: str, value: str) -> _SwitchEffect:
    """What a setting of this kind with this value does; nothing if it was not chosen."""
    lines, append, left_out = section.texts("shows"), section.text("append"), section.text("leaves_out")
    shown, needs = SettingDisplay(section.choice("as")), section.text("needs")
    for line in lines:
        if not line.startswith(_KERNEL_FOLDERS):
            section.refuse(f"`{line}` is no file of the kernel, in /proc or /sys", "shows")
    if not value:
        return _SwitchEffect()
    wrong = f"{name}: setting {key}: `{one_line(value)}`"
    if len(value) > _LONGEST_VALUE:
        raise UsageError(f"{wrong} has more than {_LONGEST_VALUE} characters, and the name of a row says all")
    if not _VALUE.fullmatch(value) or (append and " " in value):
        raise UsageError(f"{wrong} is not a value that a kernel takes: printable ASCII without quotes")
    if shown is SettingDisplay.CPUS and not _CPUS.fullmatch(value):
        raise UsageError(f"{wrong} is not a list of CPUs such as 1,3 or 1-3")
    parts = [value] if "{value}" in append else value.split("+")
    files = tuple(
        SettingFile(f"{key}={part}", *_file_with(line, part, wrong), shown, needs)
        for part in parts
        for line in lines
    )
    return _SwitchEffect(files, append.replace("{value}", value), left_out)


def _file_with(line: str, part: str, wrong: str) -> tuple[str, str, bool]:
    """The path, what it must show, and whether PID 1 writes that."""
    name, value = "", part
    if "{name}" in line:
        name, equals, value = part.partition("=")
        if not (name and equals and value):
            raise UsageError(f"{wrong} is not NAME=VALUE, or several joined by +")
        name = name if "/" in name else name.replace(".", "/")
    path, space, text = line.partition(" ")
    path = path.replace("{name}", name).replace("{value}", value)
    if not _PATH.fullmatch(path) or {"", ".", ".."} & {*path.split("/")[1:]}:
        raise UsageError(f"{wrong} names no file of the kernel: {path}")
    return path, text.replace("{value}", value) if space else value, bool(space)


def _choice(name: str, key: str, value: str, choices: tuple[str, ...]) -> str:
    if value not in choices:
        raise UsageError(f"{name}: setting {key}: `{value}` is not one of {', '.join(choices)}")
    return value


def _file(name: str, key: str, value: str) -> str:
    if len(value) > _LONGEST_PATH or not value.isprintable():
        raise UsageError(f"{name}: setting {key}: {value!r:.80} is not the path of a file")
    return value


def _revision(name: str, key: str, value: str) -> str:
    if not _REVISION.match(value):
        raise UsageError(f"{name}: setting {key}: {value!r:.80} is not a git revision such as HEAD~1 or v1.0")
    return value
