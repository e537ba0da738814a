"""What several subcommands declare and print in the same way.

Takes a parser or its words; gives what the rooms need. A user's mistake is a UsageError.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchgate import hooks
from benchgate.base.text import visible

if TYPE_CHECKING:
    from benchgate.session.rejudging.trust import TrustedPrograms


def whole(low: int, high: int) -> Callable[[str], int]:
    """Makes a reader of whole numbers for argparse."""

    def read(word: str) -> int:
        if not (
            word.isascii() and word.isdecimal() and len(word) <= len(str(high)) and low <= int(word) <= high
        ):
            raise argparse.ArgumentTypeError(f"`{word:.40}` is not a whole number from {low} to {high}")
        return int(word)

    return read


def real(low: float, high: float, about: str) -> Callable[[str], float]:
    """Makes a reader of numbers for argparse. Its message says with `about` which one is expected."""

    def read(word: str) -> float:
        try:
            value = float(word)
        except ValueError:
            value = low - 1
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"`{word:.40}` is not {about}")
        return value

    return read


def declare_workload(parser: argparse.ArgumentParser) -> None:
    about = "the YAML file of your own workload, whose oracle you trust; repeatable"
    parser.add_argument("--workload", action="append", default=[], metavar="PATH", help=about)


def declare_trusted(parser: argparse.ArgumentParser) -> None:
    declare_workload(parser)
    for option, what in (("--gate", "kind of gate"), ("--extra-report", "report")):
        about = f"the Python file of your own {what}, which you trust; repeatable"
        parser.add_argument(option, action="append", default=[], metavar="PATH", help=about)


def declare_tests(parser: argparse.ArgumentParser) -> None:
    about = "tests to compare the session's thresholds with; they are imported, not run; repeatable"
    parser.add_argument("--tests", action="append", default=[], metavar="PATH", help=about)


def declare_makers(parser: argparse.ArgumentParser) -> None:
    """The options of those who make runs elsewhere."""
    for feature in hooks.features().values():
        if (maker := feature.maker) is None:
            continue
        for option in feature.options:
            about = maker.about if option.name == maker.option else "as for pytest"
            parser.add_argument(option.flag, metavar=option.metavar, help=about)


def declare_sources(parser: argparse.ArgumentParser) -> None:
    """The words that sessions which are no folders need."""
    for sessions in hooks.sessions():
        sessions.module().declare(parser)


def options_of_features(words: argparse.Namespace) -> dict[str, object]:
    """The values that the words of a command have for options of features."""
    values = hooks.values_of_options({name.replace("_", "-"): word for name, word in vars(words).items()})
    return {name: value for name, value in values.items() if value is not None}


def declare_jobs(parser: argparse.ArgumentParser) -> None:
    about = "runs at once (default: one for each CPU)"
    parser.add_argument("--jobs", type=whole(1, 1024), default=0, metavar="N", help=about)


def trusted(words: argparse.Namespace, folder: Path) -> TrustedPrograms:
    """The programs that the words name, and those that this user's own session or exploration in `folder`
    ran, if they are as they were."""
    from benchgate.session.rejudging import remembered, trust

    gates, reports = getattr(words, "gate", []), getattr(words, "extra_report", [])
    programs, notes = remembered.trusted_of(folder, trust.trusted(words.workload, gates, reports))
    for note in notes:
        say(visible(note))
    return programs


def say(line: str) -> None:
    print(f"benchgate: {line}", file=sys.stderr, flush=True)


def print_notes(lines: Sequence[str]) -> None:
    for line in lines:
        print(f"note: {visible(line)}")


def free_name(name: str, suffix: str = "") -> str:
    """The name, or NAME-2, NAME-3 ... if there is already such a file."""
    names = (
        f"{name}{suffix}" if number == 1 else f"{name}-{number}{suffix}" for number in itertools.count(1)
    )
    return next(text for text in names if not os.path.lexists(text))
