"""The actions of `benchgate fleet`, one module each, in the form of a subcommand (commands/__init__.py).

Takes nothing; gives the modules in the order of the help. Does not fail.
"""

from __future__ import annotations

import importlib
from types import ModuleType

_ORDER = ("scheduler", "worker", "certificates", "allow")
"""As the help lists them."""


def all_actions() -> tuple[ModuleType, ...]:
    return tuple(importlib.import_module(f"{__name__}.{name}") for name in _ORDER)
