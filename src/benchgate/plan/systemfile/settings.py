"""Reads `settings`: choices that the user makes when a system is named (`tern:sched=lottery`).

A setting is one of several words (`choices` and `default`), a file (`file`, its default), a git revision of
the sources (`revision`, its default), a source of Linux (`source`), parts of its configuration (`config`), or
a program with arguments (`program`). Takes the top section, the system's name and the chosen settings; gives
the settings, and the name with those that differ from a default. Every guest has the setting `start`, where
its runs begin. No file is looked at. Fails with CatalogError for the YAML file, UsageError for the choice. A
setting may choose the architecture of the guests (`arch`); `read_arch` then puts the keys of its part of
`by_arch` in the place of the file's own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from benchgate.base.errors import UsageError
from benchgate.base.snapshots import START, StartKind
from benchgate.base.system.arch import ARCHITECTURES, X86_64, Architecture
from benchgate.base.system.systems import SettingForm, Settings
from benchgate.base.text import filled, suggestion
from benchgate.base.yaml.yamlfile import Section

_NAMES = tuple(ARCHITECTURES)
SETTING = re.compile(r"(?!(?:out|n|source|workload|start)\Z)[a-z][a-z0-9_]{0,31}\Z")
"""A valid name of a setting. `{out}`, `{n}`, `{source}` and `{workload}` are reserved, and so is `start`; but
a source of Linux, which is not for build commands, may be called `source`."""
_REVISION = re.compile(r"[0-9A-Za-z_][0-9A-Za-z_./@{}^~+-]{0,199}\Z")
_LONGEST_PATH = 4096
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
    with top.optional("settings") as words:
        for key in words.keys():  # noqa: SIM118 - a Section, not a dict
            with words.optional(key) as one:
                is_source = key == "source" and one.has(_KEYS[SettingForm.SOURCE])
                if not (SETTING.match(key) or is_source):
                    words.refuse(
                        f"`{key}` is not a name for a setting: use lower-case letters, digits and _", key
                    )
                if one.has("file"):
                    files.append(key)
                    defaults[key] = one.text("file")
                    values[key] = _file(name, key, chosen.get(key, defaults[key]))
                elif one.has("revision"):
                    if revision or not (top.knows("build") and top.has("build")):
                        one.refuse("is for a system with `build`, and only once", "revision")
                    revision = key
                    defaults[key] = one.text("revision")
                    values[key] = _revision(name, key, chosen.get(key, defaults[key]))
                elif form := next((form for form in SettingForm if one.has(_KEYS[form])), None):
                    word = one.text(_KEYS[form])
                    forms[key], defaults[key] = form, word
                    values[key] = _file(name, key, chosen.get(key, defaults[key]))
                    if any(map(form.path, form.parts(values[key]))):
                        files.append(key)
                else:
                    choices = one.texts("choices")
                    defaults[key] = one.choice("default", choices)
                    values[key] = _choice(name, key, chosen.get(key, defaults[key]), choices)
    if _choice(name, START, chosen.get(START, StartKind.COLD), tuple(StartKind)) != StartKind.COLD:
        values[START], defaults[START] = chosen[START], StartKind.COLD
    if unknown := sorted(set(chosen) - set(values) - {START}):
        raise UsageError(f"{name} has no setting `{unknown[0]}`; it has {', '.join(values) or 'none'}")
    found = Settings(values, defaults, tuple(files), revision, forms)
    return found, "".join([name, *(f".{key}-{found.label(key)}" for key in found.chosen)])


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
