"""The subcommands of `benchgate`, one module for each first word.

A module has NAME, ABOUT, `declare(parser)`, which declares its words, and `run(words)`, which gives the exit
status; one whose actions are parsers of their own sets `command` for each, and needs no `run`. MORE are its
commands of two words (cli.py). It imports the rooms inside `run`, because a usage message does not need them.
A user's mistake is a BenchgateError; the door (cli.py) prints it.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_ORDER = (
    *("doctor", "setup", "plan", "init", "new_system", "sign", "verify", "rejudge", "report", "compare"),
    *(
        "history",
        "baseline",
        "bisect",
        "explore",
        "mix",
        "replay",
        "timeline",
        "machine",
        "fleet",
        "cache",
        "completion",
    ),
)
"""The help lists the commands in this order."""


@dataclass(frozen=True, slots=True)
class Command:
    name: str
    about: str
    declare: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


def all_commands() -> Iterator[Command]:
    for name in _ORDER:
        module = importlib.import_module(f"{__name__}.{name}")
        yield Command(module.NAME, module.ABOUT, module.declare, getattr(module, "run", _no_action))
        yield from getattr(module, "MORE", ())


def _no_action(words: argparse.Namespace) -> int:
    raise AssertionError(f"an action is required, and argparse gave none: {words}")
