"""The commands of `benchgate`, one module for each: `doctor` is in doctor.py. Features add theirs.

A module has `declare(parser)`, which declares its words, and `run(words)`, which gives the exit status; one
whose actions are parsers of their own sets `command` for each, and needs no `run`. A command of two words,
such as `explore small`, is in the module of its first word, as `declare_small` and `run_small`. A module
imports the rooms inside `run`, because a usage message does not need them. A user's mistake is a
BenchgateError; the door (cli.py) prints it. `known` fails with FeatureError.
"""

from __future__ import annotations

from collections.abc import Iterable

from benchgate import hooks
from benchgate.hooks import Command

TABLE: tuple[Command, ...] = (
    Command("doctor", "show what this host can be used for"),
    Command("setup", "fetch QEMU and the Linux image; afterwards sessions with them need no network"),
    Command("plan", "show what pytest would measure; boots nothing (pytest --plan)"),
    Command("init", "write files to start from: a test, a workload, or the YAML of a kernel"),
    Command("sign", "sign a session with an SSH key, for `verify --signers`"),
    Command("verify", "check a session folder: signature, hashes, verifiers, statistics, verdicts"),
    Command("rejudge", "decide the verdicts again from the files; boots nothing"),
    Command("report", "make the HTML page of a session again from its files; boots nothing"),
    Command("compare", "print the figures of two sessions or programs side by side"),
    Command("replay", "repeat a run of the instruction clock exactly"),
    Command("timeline", "write what each CPU and worker of a run did, as a trace for Perfetto's viewer"),
    Command(
        "threads", "show who ran and waited in a run, which CPUs idled meanwhile, and why threads were late"
    ),
    Command("machine", "show or check a machine with a memory system"),
    Command("cache", "list the cache: QEMU, Linux image, built programs"),
    Command("completion", "print a script that completes commands and options in a shell"),
    Command("docs", "print a page of the documentation"),
    *hooks.commands(hooks.shipped()),
)
"""The help lists the commands in this order."""


def known(first: str = "") -> tuple[Command, ...]:
    """With those of installed features, unless the first word of a command line is one of ours."""
    ours = [one.name for one in TABLE]
    if first in ours or first == "--version":
        return TABLE
    return (*TABLE, *hooks.commands(hooks.added("command", ours)))


def two_words(table: Iterable[Command]) -> set[tuple[str, str]]:
    """The commands of two words."""
    return {(one.name.removesuffix(f"-{one.second}"), one.second) for one in table if one.second}
