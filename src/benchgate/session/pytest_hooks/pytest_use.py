"""Whether a run of pytest uses benchgate: by an option, by a fixture, or by a mark that must not be ignored.

Takes pytest's configuration, functions and items; gives bools. Does not fail once pytest_plugin.py has asked
for installed features. Every run of pytest beside benchgate imports this module, so it imports the two tables
and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import pytest

from benchgate import hooks
from benchgate.plan import option_table
from benchgate.plan.mark_table import RENAMED, SHIPPED, WORKLOAD

SESSION = "benchgate-session"
"""The name under which a session's hooks are registered."""
COMPLAINT = "benchgate_complaint"
"""The key under which an xdist worker reports to the controller why its tests cannot be run."""


@cache
def plugins() -> tuple[str, ...]:
    """The modules that declare fixtures of ours."""
    return ("benchgate.pytest_plugin", *hooks.fixture_modules(hooks.features()))


@cache
def of_marks() -> Mapping[str, str]:
    """The fixtures of features, by the mark that each carries out."""
    return {mark.name: mark.fixture for mark in hooks.marks(hooks.features()) if mark.fixture}


@cache
def fixtures() -> tuple[str, ...]:
    return ("cell", "verdict", "image", "boot", *of_marks().values())


@cache
def _marks() -> frozenset[str]:
    """The marks that alone have a meaning. `system` and `machine` only change what others measure."""
    return frozenset({*SHIPPED, *RENAMED, WORKLOAD.name, *of_marks()})


def is_configured(config: pytest.Config) -> bool:
    """True if the command line or the ini file has an option of ours."""
    known = option_table.known()
    values = ((config.getoption(option.key, None), config.getini(option.key)) for option in known)
    return any(value != (None, None) for value in values)


def has_begun(config: pytest.Config) -> bool:
    """True if a first use has begun a session (pytest_run.py)."""
    return config.pluginmanager.has_plugin(SESSION)


def is_planned(metafunc: pytest.Metafunc) -> bool:
    """True if a test function has a fixture of ours, or a mark."""
    return any(requests(metafunc, name) for name in fixtures()) or is_marked(metafunc.definition)


def requests(metafunc: pytest.Metafunc, name: str) -> bool:
    """True if a test function has this fixture of ours, and not an argument that the user parametrizes."""
    if name not in metafunc.fixturenames or not is_ours(metafunc._arg2fixturedefs, name):
        return False
    given = [mark.args[0] for mark in metafunc.definition.iter_markers("parametrize") if mark.args]
    words = {word.strip() for one in given for word in (one.split(",") if isinstance(one, str) else one)}
    return name not in words


def is_marked(item: pytest.Item) -> bool:
    return any(mark.name in _marks() and not is_label(mark) for mark in item.iter_markers())


def is_label(mark: pytest.Mark) -> bool:
    """True if a mark that suites use as a mere word is no gate."""
    row = SHIPPED.get(mark.name)
    return row is not None and row.is_common_word and not mark.args and not mark.kwargs


def is_ours(layers: Mapping[str, Sequence[Any]], name: str) -> bool:
    """True if the fixture of this name is ours. A user may have another one; one that overrides ours and
    requests it counts as ours. `layers`: pytest's fixtures of each name."""
    for layer in reversed(layers.get(name, ())):
        if layer.func.__module__ in plugins():
            return True
        if name not in layer.argnames:
            return False
    return False
