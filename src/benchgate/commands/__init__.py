"""The subcommands of `benchgate`, one module each.

A module has NAME, ABOUT, `declare(parser)`, which declares its words, and `run(words)`, which gives the exit
status. It imports the rooms inside `run`, because a usage message does not need them. A user's mistake is a
BenchgateError; the door (cli.py) prints it.
"""

from __future__ import annotations

import importlib
from types import ModuleType

_ORDER = (
    "doctor",
    "setup",
    "plan",
    "init",
    "new_system",
    "sign",
    "verify",
    "rejudge",
    "report",
    "compare",
    "history",
    "baseline",
    "bisect",
    "explore",
    "explore_replay",
    "explore_small",
    "mix",
    "history_import",
    "replay",
    "timeline",
    "machine",
    "fleet",
    "cache",
)
"""As the help lists them."""


def all_commands() -> tuple[ModuleType, ...]:
    return tuple(importlib.import_module(f"{__name__}.{name}") for name in _ORDER)
