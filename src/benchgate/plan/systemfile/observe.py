"""Reads how a kernel's threads are seen and what is counted of it: `observe`.

Takes the top section and the architecture; gives an `ObserveDefinition`, or None if the file has none. The
names of Linux's system calls are in fixtures/calls/linux.txt. Fails with CatalogError.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from benchgate.base.paths import data_root
from benchgate.base.system.arch import Architecture
from benchgate.base.system.observe import (
    COUNTED,
    Formula,
    Hook,
    HookKind,
    ObserveDefinition,
    SystemCall,
    formula,
)
from benchgate.base.yaml.keys import Either, Table
from benchgate.base.yaml.yamlfile import Section
from benchgate.plan.system_keys import ASK, EVENT, EXPRESSION, HOOKS, MOVE, OBJECT, OBSERVED_THREAD

_MOST_PLACES, _MOST_EVENTS = 12, 24
_NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")
_COLUMNS = {"x86_64": 1, "riscv64": 2, "aarch64": 3}


def read(top: Section, guest: Architecture) -> ObserveDefinition | None:
    words = top.section("observe")
    if words is None:
        return None
    of_threads = [kind for kind in HookKind if kind not in COUNTED]
    wants_threads = words.has("thread") or any(map(words.has, of_threads))
    kind, values, name_bytes = "", {}, 0
    if wants_threads:
        with words.optional("thread") as thread:
            kind = thread.text("type", "")
            values = _values(thread, OBSERVED_THREAD)
            name_bytes = thread.integer("name_bytes")
        for needed in (HookKind.SWITCH, HookKind.WAKE):
            if not words.has(needed):
                words.refuse("is missing: without it nothing is known of threads", needed)
    hooks = [_hook(words, hook) for hook in HOOKS if words.has(hook)]
    hooks += [
        Hook(HookKind.ASK, _places(keys), _values(keys, ASK)) for keys in _each_closed(words, HookKind.ASK)
    ]
    text = words.texts("text")
    if len(text) not in {0, 2}:
        words.refuse("expected two symbols, at the begin and at the end of the code", "text")
        text = ()
    hooks += _events(words)
    hooks += _objects(words)
    calls = _calls(words, guest)
    words.close()
    return ObserveDefinition(
        kind, values, name_bytes, tuple(hooks), (text[0], text[1]) if text else ("", ""), calls
    )


def _hook(words: Section, kind: str) -> Hook:
    with words.optional(kind) as keys:
        only_blocked = kind == HookKind.WAKE and keys.has("only") and keys.choice("only") == "blocked"
        return Hook(HookKind(kind), _places(keys), _values(keys, HOOKS[kind]), only_blocked)


def _each_closed(words: Section, key: str) -> Iterator[Section]:
    for keys in words.sections(key):
        yield keys
        keys.close()


def _places(keys: Section) -> tuple[str, ...]:
    at = keys.one_or_more("at")
    if not 1 <= len(at) <= _MOST_PLACES:
        keys.refuse(f"expected 1 to {_MOST_PLACES} symbols", "at")
    return at


def _events(words: Section) -> Iterator[Hook]:
    events = words.section("events")
    if events is None:
        return
    if len(events.keys()) > _MOST_EVENTS:
        words.refuse(f"there are more than {_MOST_EVENTS}", "events")
    for name in events.keys():  # noqa: SIM118 - a Section
        _check_name(events, name)
        with events.optional(name) as keys:
            yield Hook(HookKind.EVENT, _places(keys), _values(keys, EVENT), name=name)
    events.close()


def _objects(words: Section) -> Iterator[Hook]:
    objects = words.section("objects")
    if objects is None:
        return
    for name in objects.keys():  # noqa: SIM118 - a Section
        _check_name(objects, name)
        with objects.optional(name) as moves:
            for kind in OBJECT:
                with moves.optional(kind) as keys:
                    yield Hook(HookKind(kind), _places(keys), _values(keys, MOVE))
    objects.close()


def _check_name(words: Section, name: str) -> None:
    if not _NAME.fullmatch(name):
        words.refuse(
            "is not a name of 1 to 32 lower-case letters, digits and _, beginning with a letter", name
        )


def _calls(words: Section, guest: Architecture) -> dict[str, SystemCall]:
    if words.is_text("calls"):
        words.choice("calls")
        return linux_calls(guest.name)
    system_calls: dict[str, SystemCall] = {}
    calls = words.section("calls")
    if calls is None:
        return system_calls
    for name in calls.keys():  # noqa: SIM118 - a Section
        _check_name(calls, name)
        if calls.is_mapping(name):
            with calls.optional(name) as keys:
                system_calls[name] = keys.read(SystemCall)
        else:
            system_calls[name] = SystemCall(calls.integer(name))
    calls.close()
    return system_calls


@cache
def linux_calls(architecture: str) -> dict[str, SystemCall]:
    """The system calls of Linux on this architecture."""
    lines = (data_root() / "fixtures" / "calls" / "linux.txt").read_text(encoding="ascii").splitlines()
    rows = (line.split() for line in lines if not line.startswith("#"))
    at = _COLUMNS[architecture]
    return {
        row[0]: SystemCall(int(row[at]), int(row[4]) if len(row) > 4 else None)
        for row in rows
        if row[at] != "-"
    }


def _values(words: Section, table: Table) -> dict[str, tuple[Formula, ...]]:
    """The expressions among the keys of a table."""
    result = {}
    for key, row in table.items():
        if not isinstance(row, Either) or row.kinds is not EXPRESSION:
            continue
        if words.has(key):
            result[key] = _formulas(words, key)
        elif row.is_needed:
            words.refuse("is missing", key)
    return result


def _formulas(words: Section, key: str) -> tuple[Formula, ...]:
    formulas = []
    for text in words.one_or_more(key):
        try:
            formulas.append(formula(text))
        except ValueError as error:
            words.refuse(f"`{text}` {error}", key)
    return tuple(formulas)
