"""Finds a session's systems: those of --system (with letters), of marks, and those to compare with.

Takes words, such as `linux`, `kernel:sched=rr` or the path of a YAML file, and the options; gives `System`s
whose names differ. Fails with UsageError if two words name the same system or a letter names none, with
CatalogError if a file cannot be loaded, and with BuildError if nothing here makes its kernel.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from benchgate.base.errors import UsageError
from benchgate.base.files import file_digest
from benchgate.base.snapshots import AUTO, START, StartKind
from benchgate.base.system.machines import AnyMachine
from benchgate.base.system.systems import SELFTEST, SettingForm, System
from benchgate.build.kernel_maker import maker_of
from benchgate.plan import catalog
from benchgate.plan.options import Options
from benchgate.plan.planned import MarkRequest

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DIGITS = 8
_LETTER = re.compile(r"[A-Z]\Z")


def of_session(options: Options) -> tuple[System, ...]:
    """The systems of --system."""
    return _distinct("--system", [_loaded(word, options) for word in options.systems])


def _loaded(word: str, options: Options) -> System:
    is_left_cold = options.start == AUTO and options.clock != "insn"
    start = StartKind.COLD if is_left_cold else options.start
    result = catalog.load_system(word, options.linux_kernel, start)
    if result.boot.source:
        maker_of(result)
    return result


def for_request(request: MarkRequest, options: Options) -> Options:
    """The options of one test. With --start auto a test that compares systems starts cold unless all of them
    can start warm, because warm and cold figures are not compared."""
    compared = {gate.to for gate in request.gates if gate.to}
    if options.start != AUTO or not compared:
        return options
    words = {*(request.systems or options.systems), *(word for word in compared if not _LETTER.match(word))}
    all_warm = all(_may_be_warm(word, options) for word in words)
    return options if all_warm else replace(options, start=StartKind.COLD)


def _may_be_warm(word: str, options: Options) -> bool:
    """Whether nothing and nobody says that its runs start cold."""
    _, chosen = catalog.split_system(word)
    system = catalog.load_system(word, options.linux_kernel)
    return chosen.get(START) != StartKind.COLD and not system.why_usually_cold


def letters(options: Options) -> Mapping[str, System]:
    """Maps A to the first of --system, B to the second; empty if there is only one system."""
    systems = of_session(options)
    return dict(zip(_LETTERS, systems, strict=False)) if len(systems) > 1 else {}


def told(options: Options) -> tuple[str, ...]:
    """A sentence for each letter if files or revisions were chosen, which a name does not show in full."""
    return lettered(options) if any(map(_told, letters(options).values())) else ()


def lettered(options: Options) -> tuple[str, ...]:
    """A sentence for each letter."""
    return tuple(f"{letter} is {system.name}{_told(system)}" for letter, system in letters(options).items())


def _told(system: System) -> str:
    own = (*system.settings.files, system.settings.revision)
    chosen = [f"{key}={value}" for key, value in system.settings.chosen.items() if key in own]
    return f" ({', '.join(chosen)})" if chosen else ""


def systems_of(request: MarkRequest, options: Options) -> tuple[System, ...]:
    """The systems that a test runs on."""
    wants_selftest = request.workload == SELFTEST
    return tuple(system for system in _asked(request, options) if system.runs_selftest == wants_selftest)


def _asked(request: MarkRequest, options: Options) -> tuple[System, ...]:
    systems = of_session(options)
    if not request.systems:
        return systems
    return _distinct("mark system", [_beside(word, systems, options) for word in request.systems])


def why_nowhere(request: MarkRequest, options: Options) -> str:
    """Why a test runs on no system at all; empty if it runs on one."""
    if systems_of(request, options):
        return ""
    names = ", ".join(system.name for system in _asked(request, options))
    if request.workload == SELFTEST:
        return f"none of the systems has a self-test of its own: {names}"
    return f"no system runs workload {request.workload}: only their own self-test, `{SELFTEST}`, run {names}"


def machine_of(request: MarkRequest, options: Options) -> AnyMachine | None:
    """The machine of a test, from its mark, else from --machine, the ini file or the policy."""
    return catalog.load_machine(request.machine or options.machine)


def other(to: str, options: Options) -> System:
    """The system that a mark compares with."""
    systems = of_session(options)
    if not _LETTER.match(to):
        return _beside(to, systems, options)
    number = _LETTERS.index(to)
    if number >= len(systems):
        raise UsageError(
            f'mark ratio: to="{to}" is number {number + 1} of the systems of --system, and the session has '
            f"{', '.join(system.name for system in systems)} only; give --system once more"
        )
    return systems[number]


def is_itself(to: str, system: System, options: Options) -> bool:
    """Whether a mark's letter names this system itself."""
    named = letters(options).get(to)
    return named is not None and named.name == system.name


def by_content(system: System) -> System:
    """The system, with a digest of the files that were chosen for it in its name."""
    settings = system.settings
    chosen = [(key, value) for key, value in settings.chosen.items() if key in settings.files]
    if not chosen:
        return system
    try:
        digests = [text for key, value in chosen for text in _digests(value, settings.forms.get(key))]
    except OSError as error:
        raise UsageError(f"{system.name}: {error.filename} cannot be read: {error.strerror}") from error
    digest = digests[0] if len(digests) == 1 else hashlib.sha256(" ".join(digests).encode()).hexdigest()
    return replace(system, name=f"{system.name}-{digest[:_DIGITS]}")


def _digests(value: str, form: SettingForm | None) -> Iterator[str]:
    """The digests of the files in a setting's value. A source of Linux counts by its name: it has 1 GB."""
    if form is None:
        yield _digest(Path(value), Path(value).stat().st_mtime_ns)
        return
    for text in form.parts(value):
        path, rest = ("", text) if form is SettingForm.SOURCE else form.divided(text)
        if path:
            yield _digest(Path(path), Path(path).stat().st_mtime_ns)
        yield hashlib.sha256(rest.encode()).hexdigest()


@cache
def _digest(path: Path, changed_ns: int) -> str:  # noqa: ARG001 - a key of the cache
    return file_digest(path)


def _beside(word: str, known: Sequence[System], options: Options) -> System:
    """The system of a word, named so that it differs from other systems of the session."""
    result = _loaded(word, options)
    for system in known:
        if (system.file, system.settings) == (result.file, result.settings):
            return system
    return by_content(result) if result.name in {system.name for system in known} else result


def _distinct(where: str, systems: Sequence[System]) -> tuple[System, ...]:
    """Adds a digest to the names of systems whose chosen files differ only in content."""
    counts = Counter(system.name for system in systems)
    result = tuple(by_content(system) if counts[system.name] > 1 else system for system in systems)
    names = [system.name for system in result]
    if len(set(names)) != len(names):
        raise UsageError(f"{where} names the same system twice: {', '.join(names)}; leave one out")
    return result
