"""Marks that have no meaning where they are: a threshold that nobody judges would look like one that holds.

Takes pytest's items, and what was planned for their functions; gives one sentence for each test that has such
a mark, or fails with all of them as a UsageError, so that nothing is measured before they are put right.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchgate.base.errors import UsageError
from benchgate.base.text import one_line
from benchgate.hooks import GateMark
from benchgate.plan import catalog, mark_table
from benchgate.plan.mark_table import RENAMED, SHIPPED
from benchgate.session.pytest_hooks.pytest_use import fixtures, is_label, is_ours, of_marks

ONE_OF_THEM = ("workload", "machine")
"""The marks of which a test has one, beside those of features: pytest takes the nearest, and of two on one
node the first."""
SETTINGS = ("workload", "system", "machine")
MOST = 10
"""A message names at most so many tests."""


@dataclass(frozen=True, slots=True)
class ItemSource:
    """What the items of a function were made from."""

    fixtures: Sequence[str]
    """The fixtures of ours that it requests."""
    marks: Sequence[pytest.Mark]


PLANS = pytest.StashKey[dict[str, ItemSource]]()
"""The plans of the functions of a class or module, by name."""
GATES = pytest.StashKey[Mapping[str, GateMark]]()
"""The marks of gates that pytest's configuration has, by name."""


def register(config: pytest.Config, files: Iterable[Path]) -> None:
    """Registers the marks of a user's own kinds of gate in `files`, beside those that pytest_plugin.py has
    registered. Fails with CatalogError, and with UsageError if two marks have one name."""
    marks = dict(SHIPPED)
    for own in map(catalog.gate_mark, files):
        if own.name in {*marks, *(mark.name for mark in mark_table.plain())}:
            raise UsageError(f"--gate {own.file}: there is another mark {own.name}; give KIND another name")
        marks[own.name] = own
        config.addinivalue_line("markers", mark_table.line(own))
    config.stash[GATES] = marks


def gate_marks(item: pytest.Item) -> tuple[str, ...]:
    """The names of the marks of gates, also those of earlier versions."""
    return (*item.config.stash[GATES], *RENAMED)


def remember(function: pytest.Item, fixtures: Sequence[str]) -> None:
    """Keeps the plan of a function that was planned from the marks that it has now."""
    assert function.parent is not None
    plans = function.parent.stash.setdefault(PLANS, {})
    plans[function.name] = ItemSource(fixtures, _of(function, (*gate_marks(function), *SETTINGS)))


def check(items: Iterable[pytest.Item]) -> None:
    """UsageError with one line for each test that has a mark without a meaning."""
    lines = [line for item in items if (line := mistake(item))]
    more = [f"and {len(lines) - MOST} more"] if len(lines) > MOST else []
    if lines:
        raise UsageError("\n".join([*lines[:MOST], *more]))


def mistake(item: pytest.Item) -> str:
    plan = _plan(item)
    result = _late(item, plan) or _replaced(item, plan) or _gates_nothing(item, plan) or misspelt(item)
    return f"{one_line(item.nodeid)}: {result}" if result else ""


def _plan(item: pytest.Item) -> ItemSource:
    """Only functions are planned: neither the tests of unittest nor the items of other plugins."""
    plans = item.parent.stash.get(PLANS, {}) if item.parent else {}
    nothing = ItemSource((), ())
    return plans.get(item.originalname, nothing) if isinstance(item, pytest.Function) else nothing


def _late(item: pytest.Item, plan: ItemSource) -> str:
    late = [mark for mark in _of(item, (*gate_marks(item), *SETTINGS)) if mark not in plan.marks]
    if not plan.fixtures or not late:
        return ""
    return (
        f"mark {_shown(late[0])} came after this test was planned, from a parameter (pytest.param) or a hook "
        "(add_marker), so it has no effect: write it at the function, its class or `pytestmark`"
    )


def _replaced(item: pytest.Item, plan: ItemSource) -> str:
    names = (*of_marks(), *(ONE_OF_THEM if plan.fixtures else ()))
    for name in names:
        pairs = list(item.iter_markers_with_node(name))
        other = [mark for node, mark in pairs if node is pairs[0][0] and mark != pairs[0][1]]
        if other:
            return (
                f"marks {_shown(pairs[0][1])} and {_shown(other[0])}: only one of them can hold for a test; "
                "remove the other one, also from the base classes of its class"
            )
    return ""


def _gates_nothing(item: pytest.Item, plan: ItemSource) -> str:
    requested: Collection[str] = getattr(item, "fixturenames", ())
    layers = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {})
    gates = () if "verdict" in plan.fixtures else _of(item, gate_marks(item))
    unasked = ((name, mark) for mark, name in of_marks().items() if not is_ours(layers, name))
    others = [(fixture, _of(item, [mark])) for fixture, mark in unasked]
    for fixture, result in (("verdict", gates), *others):
        judged = [mark for mark in result if not is_label(mark)]
        if judged:
            return (
                f"mark {_shown(judged[0])} gates nothing, because this test does not request `{fixture}` of "
                f"benchgate: write `def test_...({fixture}): {fixture}.require_pass()`, or remove the mark"
            )
    own = [mark for node, mark in item.iter_markers_with_node("workload") if node is item]
    if own and not {*fixtures(), "request"} & set(requested):
        return (
            f"mark {_shown(own[0])} measures nothing, because this test requests no fixture of benchgate: "
            "write `def test_...(cell): cell.require_verified()`, or remove the mark"
        )
    return ""


def misspelt(item: pytest.Item, *, is_ours: bool = False) -> str:
    """A mark that nobody has registered, with a name near to one of ours: `speedupp`. On a test without a
    fixture of ours it may be another tool's word, unless its arguments are those of our mark; `is_ours`: the
    test has one."""
    known = {re.split(r"[(:]", line, maxsplit=1)[0].strip() for line in item.config.getini("markers")}
    for mark in item.iter_markers():
        near = mark_table.nearest(mark.name) if mark.name not in known else ""
        takes = SHIPPED[near].takes if near in SHIPPED else ()
        if near and (is_ours or (mark.kwargs and set(mark.kwargs) <= set(takes))):
            return f"there is no mark `{one_line(mark.name)}`; did you mean `{near}`?"
    return ""


def _of(item: pytest.Item, names: Collection[str]) -> list[pytest.Mark]:
    return [mark for mark in item.iter_markers() if mark.name in names]


def _shown(mark: pytest.Mark) -> str:
    """Writes the mark as in Python."""
    words = [*map(repr, mark.args), *(f"{key}={value!r}" for key, value in mark.kwargs.items())]
    return one_line(f"`{mark.name}({', '.join(words)})`" if words else f"`{mark.name}`")
