"""The systems of a session: of --system, with their letters, of marks, and those to compare with.

Takes words, such as `linux`, `kernel:sched=rr` or the path of a YAML file, and the options; gives `System`s
whose names differ. Fails with UsageError if two words name the same system or a letter names none, and with
CatalogError if a file cannot be loaded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from benchgate.base.errors import UsageError
from benchgate.base.systems import SELFTEST, System
from benchgate.plan import catalog
from benchgate.plan.options import Options
from benchgate.plan.planned import Request

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LETTER = re.compile(r"[A-Z]\Z")


def of_session(options: Options) -> tuple[System, ...]:
    """Those of --system."""
    return _distinct("--system", options.systems)


def letters(options: Options) -> Mapping[str, System]:
    """A is the first of --system, B the second; none where there is only one system."""
    found = of_session(options)
    return dict(zip(_LETTERS, found, strict=False)) if len(found) > 1 else {}


def systems_of(request: Request, options: Options) -> tuple[System, ...]:
    """Those that a test runs on."""
    found = _distinct("mark system", request.systems) if request.systems else of_session(options)
    wants_selftest = request.workload == SELFTEST
    return tuple(system for system in found if system.runs_selftest == wants_selftest)


def other(to: str, options: Options) -> System:
    """The system that a mark compares with."""
    if not _LETTER.match(to):
        return catalog.load_system(to)
    found = of_session(options)
    number = _LETTERS.index(to)
    if number >= len(found):
        raise UsageError(
            f'mark ratio: to="{to}" is number {number + 1} of the systems of --system, and the session has '
            f"{', '.join(one.name for one in found)} only; give --system once more"
        )
    return found[number]


def is_itself(to: str, system: System, options: Options) -> bool:
    """Whether a mark's letter is this system's own."""
    named = letters(options).get(to)
    return named is not None and named.name == system.name


def _distinct(where: str, words: Sequence[str]) -> tuple[System, ...]:
    found = tuple(catalog.load_system(word) for word in words)
    names = [system.name for system in found]
    if len(set(names)) != len(names):
        raise UsageError(f"{where} names the same system twice: {', '.join(names)}; leave one out")
    return found
