"""Finds workloads, systems, machines and policies: built-in ones by name, a user's own by path.

Takes names or paths, gives `Workload`, `System`, `Machine` and `Policy`. Built-in ones are files of the same
form as a user's own, and a name is a short form of a path. Fails with CatalogError, which names file, line
and key, or lists the known names.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from benchgate.base.cells import Mode
from benchgate.base.errors import CatalogError, UsageError
from benchgate.base.gates import Policy
from benchgate.base.paths import data_root
from benchgate.base.pyfile import load_module
from benchgate.base.snapshots import ALWAYS_WARM, AUTO, START, StartKind
from benchgate.base.system.boots import FETCHED_LINUX
from benchgate.base.system.machines import AnyMachine, BareMachine, Machine
from benchgate.base.system.systems import SELFTEST, SettingForm, System, plain_name
from benchgate.base.text import suggestion
from benchgate.base.workload.workloads import Workload
from benchgate.base.yaml.keys import NAME
from benchgate.build.revision import commit_of
from benchgate.hooks import GateMark, workload_kinds
from benchgate.plan import machinefile, policyfile, systemfile, workloadfile

SELFTEST_WORKLOAD = Workload(
    name=SELFTEST,
    mode=Mode.PROCESS,
    file=Path(),
    source=Path(),
    oracle=Path(),
    params={},
    about="the fixed self-test of a system; the system's YAML file has the answers",
)
WORKLOAD_FILE = "workload.yaml"
_PLACES = {
    "workload": f"guest/workloads/*/{WORKLOAD_FILE}",
    "system": "fixtures/systems/*.yaml",
    "policy": "fixtures/gates/*.yaml",
    "machine": "fixtures/machines/*.yaml",
}
"""The places of the built-in files; `*` is the name."""


def _places(kind: str) -> str:
    return _PLACES[kind] if kind in _PLACES else workload_kinds()[kind].files


def names(kind: str) -> tuple[str, ...]:
    """The names of all built-in files of a kind: `workload`, `system`, `machine` or `policy`, or a feature's
    kind of workload."""
    before = len(Path(_places(kind).partition("*")[0]).parts)
    root = data_root()
    result = (path.relative_to(root).parts[before] for path in root.glob(_places(kind)))
    return tuple(sorted(Path(name).stem for name in result))


def word_of(workload: Workload) -> str:
    """The word that finds this workload again: a built-in one's name, or the path of a user's file."""
    built_in = workload.name == SELFTEST or workload.file == _built_in("workload", workload.name)
    return workload.name if built_in else str(workload.file)


def is_built_in_workload(name: str) -> bool:
    kind, plain = _kind_of("workload", name)
    return name == SELFTEST or plain in names(kind)


def _built_in(kind: str, name: str) -> Path:
    kind, name = _kind_of(kind, name)
    return data_root() / _places(kind).replace("*", name)


def _kind_of(kind: str, name: str) -> tuple[str, str]:
    """A workload that is called `KIND-NAME` is the NAME of a feature's kind."""
    of, dash, plain = name.partition("-")
    return (of, plain) if kind == "workload" and dash and of in workload_kinds() else (kind, name)


def _find(kind: str, word: str) -> Path:
    """The file for a name or a path. A path may also be the folder of a workload."""
    if word.endswith((".yaml", ".yml", ".json")) or "/" in word:
        path = Path(word).absolute()
        return path / WORKLOAD_FILE if kind == "workload" and path.is_dir() else path
    kind, word = _kind_of(kind, word)
    if not NAME.match(word) or word not in names(kind):
        raise CatalogError(f"{unknown(kind, word, names(kind))}, or {_path_for(kind, word)}")
    return _built_in(kind, word)


def _path_for(kind: str, word: str) -> str:
    """Says how to give a path instead of a name. A word without a slash is a name, even of a folder."""
    if kind == "workload" and Path(word, WORKLOAD_FILE).is_file():
        return f"write `./{word}` for the folder of that name that is here"
    if kind == "system" and "=" in word:
        return "write a system's settings behind a colon (`kernel:profile=debug`)"
    return "give the path of a YAML file"


def unknown(kind: str, word: str, known: Collection[str]) -> str:
    near = suggestion(word, known)
    return f"{kind} `{word}` is not known; {near and f'{near} '}there are {', '.join(sorted(known))}"


def split_system(word: str) -> tuple[str, dict[str, str]]:
    """Splits `kernel:sched=rr:profile=debug` into the name or path and the settings."""
    name, *pairs = word.split(":")
    chosen: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key or not value:
            raise UsageError(f"system {word}: `{pair}` is not a setting such as sched=rr")
        chosen[key] = value
    return name, chosen


def load_system(word: str, linux: Path | None = None, start: str = StartKind.COLD) -> System:
    """The system for a name or path, optionally with settings. `linux` is the image of --linux-kernel;
    `start` is that of --start, which settings precede."""
    name, chosen = split_system(word)
    system = system_with(name, chosen)
    is_warm = start in ALWAYS_WARM or (start == AUTO and not system.why_usually_cold)
    if START not in chosen and is_warm:
        chosen[START] = StartKind.WARM
        system = system_with(name, chosen)
    if linux is None or system.boot.kernel != FETCHED_LINUX:
        return system
    for key in system.settings.files:
        if system.settings.values[key] == FETCHED_LINUX:
            return system_with(name, {**chosen, key: str(linux)})
    return replace(system, boot=replace(system.boot, kernel=str(linux)))


def system_with(name: str, chosen: Mapping[str, str]) -> System:
    """The system with these settings: a path is relative to the current folder, and a git revision may be
    any word that git knows."""
    file = _find("system", name)
    system = _loaded_system(file, tuple(chosen.items()))
    exact = {**chosen, **{key: _existing(system, key) for key in system.settings.files if key in chosen}}
    revision = system.settings.revision
    if system.build is not None and system.build.revision:
        exact[revision] = _commit(system.build.folder, system.build.revision)
    return system if exact == chosen else _loaded_system(file, tuple(exact.items()))


@cache
def _loaded_system(file: Path, chosen: tuple[tuple[str, str], ...]) -> System:
    return systemfile.load(file, dict(chosen))


@cache
def _commit(folder: Path, word: str) -> str:
    """The commit of a word such as HEAD, which stays the same during a whole session."""
    return commit_of(folder, word)


def placed(word: str, home: Path) -> str:
    """The word of a system from a file in `home`, with relative paths made absolute."""
    name, chosen = split_system(word)
    name = str(home / name) if "/" in name or name.endswith((".yaml", ".yml")) else name
    words = [name]
    for key, value in chosen.items():
        settings = _loaded_system(_find("system", name), ()).settings
        if key in settings.forms:
            words.append(f"{key}={_rooted(settings.forms[key], value, home)}")
        else:
            words.append(f"{key}={home / value if key in settings.files else value}")
    return ":".join(words)


def _rooted(form: SettingForm, value: str, home: Path) -> str:
    """The value with the paths in it made absolute."""
    parts = (_split(form, text, home) for text in form.parts(value))
    return form.joined(
        form.with_path(str((home / Path(path).expanduser()).absolute()), rest) if path else rest
        for path, rest in parts
    )


def _split(form: SettingForm, part: str, home: Path) -> tuple[str, str]:
    """The path in a part, and what follows it. A program's path with spaces need not be quoted if its file is
    there."""
    words = part.split(" ")
    if form is SettingForm.PROGRAM:
        for count in range(2, len(words) + 1):
            path = " ".join(words[:count])
            if (home / Path(path).expanduser()).is_file() and not (home / words[0]).is_file():
                return path, part[len(path) :]
    return form.divided(part)


def _existing(system: System, key: str) -> str:
    form = system.settings.forms.get(key)
    if form is not None:
        return _existing_parts(system, key, form)
    path = Path(system.settings.values[key]).expanduser().absolute()
    if not path.is_file():
        raise UsageError(
            f"{plain_name(system.name)}: setting {key}: there is no file {path}; a path on the command line "
            "or in a mark is relative to the current folder"
        )
    return str(path)


def _existing_parts(system: System, key: str, form: SettingForm) -> str:
    value = _rooted(form, system.settings.values[key], Path.cwd())
    for path in filter(None, map(form.path, form.parts(value))):
        known = Path(path).is_dir() if form is SettingForm.SOURCE else Path(path).is_file()
        if not known:
            what = "folder" if form is SettingForm.SOURCE else "file"
            quotes = ", and one with spaces needs quotes" if form is SettingForm.PROGRAM else ""
            raise UsageError(
                f"{plain_name(system.name)}: setting {key}: there is no {what} {path}; a path on the command "
                f"line or in a mark is relative to the current folder{quotes}"
            )
        if form is SettingForm.SOURCE and value != path:
            return f"{path}@{_commit(Path(path), value[len(path) + 1 :])}"
    return value


def gate_kind(path: Path) -> str:
    """The KIND of a user's gate file."""
    kind = getattr(load_module(path, "gate"), "KIND", None)
    if not isinstance(kind, str) or not NAME.match(kind):
        raise CatalogError(
            f"gate file {path} defines no KIND; set it to a name of lower-case letters, digits and _"
        )
    return kind


def gate_mark(path: Path) -> GateMark:
    """The mark of a user's own kind of gate, from MARK in its file."""
    kind, mark = gate_kind(path), getattr(load_module(path, "gate"), "MARK", None)
    if not isinstance(mark, GateMark) or mark.name != kind:
        raise CatalogError(
            f"gate file {path} defines no mark; set MARK to a benchgate.GateMark of the name {kind}"
        )
    return replace(mark, file=str(path))


@cache
def load_policy(word: str) -> Policy:
    return policyfile.load(_find("policy", word), load_machine)


@cache
def load_machine(word: str) -> AnyMachine | None:
    """The machine for a name or path; None if it is as `ideal`."""
    return machinefile.load(_find("machine", word))


def memory_machine(word: str) -> Machine | None:
    """The same; UsageError for a machine that has no memory system and is not as `ideal`."""
    machine = load_machine(word)
    if isinstance(machine, BareMachine):
        raise UsageError(f"machine {machine.name} has no memory system")
    return machine


def load_workload(word: str, system: System | None = None) -> Workload:
    """The workload for a name or path. The metrics of a self-test are those of its system."""
    if word != SELFTEST:
        return _loaded_workload(_find("workload", word))
    return SELFTEST_WORKLOAD if system is None else replace(SELFTEST_WORKLOAD, metrics=system.metrics)


@cache
def _loaded_workload(path: Path) -> Workload:
    for kind in workload_kinds().values() if path.name != WORKLOAD_FILE else ():
        if kind.module().is_one(path):
            result: Workload = kind.module().load(path, load_workload(kind.name))
            return result
    return workloadfile.load(path)
