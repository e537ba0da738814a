"""The kinds of gate, one file each. A file here that has KIND and judge() is a kind; nothing else is edited.

Takes a gate and the evidence, gives its Ruling. Fails with DecideError for a kind that no file defines.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable, Mapping
from types import MappingProxyType

from benchgate.errors import DecideError
from benchgate.gates.base import Evidence, Gate, Ruling

Judge = Callable[[Gate, Evidence], Ruling]


@functools.cache
def kinds() -> Mapping[str, Judge]:
    """Every kind by its name."""
    found: dict[str, Judge] = {}
    for module_info in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{module_info.name}")
        kind = getattr(module, "KIND", None)
        if kind is not None:
            found[kind] = module.judge
    return MappingProxyType(found)


def judge(gate: Gate, evidence: Evidence) -> Ruling:
    try:
        rule = kinds()[gate.kind]
    except KeyError:
        known = ", ".join(sorted(kinds()))
        raise DecideError(f"{gate.id}: no gate of kind {gate.kind!r}; there are: {known}") from None
    return rule(gate, evidence)
