"""Reads how a kernel's threads are seen: `observe`.

Takes the top section; gives an `ObserveDefinition`, or None if the file has none. Fails with CatalogError.
"""

from __future__ import annotations

from benchgate.base.system.observe import Formula, Hook, HookKind, ObserveDefinition, formula
from benchgate.base.yaml.keys import Either, Table
from benchgate.base.yaml.yamlfile import Section
from benchgate.plan.system_keys import EXPRESSION, HOOKS, OBSERVE, OBSERVED_THREAD

_MOST_PLACES = 12


def read(top: Section) -> ObserveDefinition | None:
    words = top.section("observe")
    if words is None:
        return None
    with words.optional("thread") as thread:
        kind = thread.text("type", "")
        values = _values(thread, OBSERVED_THREAD)
        name_bytes = thread.integer("name_bytes")
    hooks = tuple(hook for one in HookKind if (hook := _hook(words, one)) is not None)
    text = words.texts("text")
    if len(text) not in {0, 2}:
        words.refuse("expected two symbols, at the begin and at the end of the code", "text")
        text = ()
    words.close()
    return ObserveDefinition(kind, values, name_bytes, hooks, (text[0], text[1]) if text else ("", ""))


def _hook(words: Section, kind: HookKind) -> Hook | None:
    if not words.has(kind):
        if OBSERVE[kind].is_needed:
            words.refuse("is missing: without it nothing is known of threads", kind)
        return None
    with words.optional(kind) as keys:
        at = keys.one_or_more("at")
        if not 1 <= len(at) <= _MOST_PLACES:
            keys.refuse(f"expected 1 to {_MOST_PLACES} symbols", "at")
        only_blocked = kind is HookKind.WAKE and keys.has("only") and keys.choice("only") == "blocked"
        return Hook(kind, at, _values(keys, HOOKS[kind]), only_blocked)


def _values(words: Section, table: Table) -> dict[str, tuple[Formula, ...]]:
    """The expressions among the keys of a table."""
    found = {}
    for key, row in table.items():
        if not isinstance(row, Either) or row.kinds is not EXPRESSION:
            continue
        if words.has(key):
            found[key] = _formulas(words, key)
        elif row.is_needed:
            words.refuse("is missing", key)
    return found


def _formulas(words: Section, key: str) -> tuple[Formula, ...]:
    found = []
    for text in words.one_or_more(key):
        try:
            found.append(formula(text))
        except ValueError as error:
            words.refuse(f"`{text}` {error}", key)
    return tuple(found)
