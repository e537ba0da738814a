"""Reads the values of single options from the words that users gave for them.

Each takes a word, or None if the option is unset, and gives its value. An invalid word fails with
OptionError, which knows the option.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from benchgate.base.errors import OptionError
from benchgate.base.gates import MOST_RUNS, check_first_look
from benchgate.base.system.systems import MAX_CPUS
from benchgate.plan.option_table import TABLE

MOST_CPUS = 4096
"""No list of CPUs is longer."""
_NUMBER = re.compile(r"[0-9]{1,9}")
"""Python's int() would also accept digits of other scripts and numbers of any length."""


def is_path(word: str) -> bool:
    """Whether a system, a policy, a machine or a history is given by path and not by name."""
    name = word.partition(":")[0]
    return ("://" not in word and "/" in name) or name.endswith((".yaml", ".yml"))


def cpu_list(name: str, value: object) -> tuple[int, ...] | None:
    """Reads `0,2-3` as (0, 2, 3), in the given order; None if unset."""
    text = str(value or "").replace(" ", "")
    if not text:
        return None
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if not _NUMBER.fullmatch(first) or (dash and not _NUMBER.fullmatch(last)):
            raise OptionError(name, f" {text}: `{part}` is not a number or a range such as 0-3")
        low, high = int(first), int(last or first)
        if high < low or len(found) + high - low >= MOST_CPUS:
            raise OptionError(
                name,
                f" {text:.80}: `{part}` is not an ascending range, or more than {MOST_CPUS} CPUs are named",
            )
        found.extend(range(low, high + 1))
    if len(set(found)) != len(found):
        raise OptionError(name, f" {text}: contains a duplicate number")
    return tuple(found)


def smp(value: object) -> tuple[int, ...] | None:
    counts = cpu_list("smp", value)
    if counts is not None and not all(1 <= count <= MAX_CPUS for count in counts):
        raise OptionError("smp", f" {value}: a CPU count must be from 1 to {MAX_CPUS}")
    return None if counts is None else tuple(sorted(counts))


def runs(name: str, value: object, default: int) -> int:
    count = whole(name, value, default, low=1, high=MOST_RUNS)
    check_first_look(name, count)
    return count


def whole(name: str, value: object, default: int, *, low: int, high: int = 10**9 - 1) -> int:
    text = str("" if value is None else value).strip()
    if not text:
        return default
    if not _NUMBER.fullmatch(text) or not low <= int(text) <= high:
        raise OptionError(name, f" {text:.80}: expected a whole number from {low} to {high}")
    return int(text)


def choice(got: Mapping[str, object], name: str, default: str) -> str:
    option = next(option for option in TABLE if option.name == name)
    word = str(got[name] or default)
    if word not in option.choices:
        raise OptionError(name, f" {word}: expected one of {', '.join(option.choices)}")
    return word


def words(value: object) -> tuple[str, ...]:
    if not value:
        return ()
    texts = value if isinstance(value, list | tuple) else str(value).split()
    return tuple(word for text in texts for word in str(text).split(",") if word)


def setting(word: str) -> tuple[str, str, str]:
    target, equals, value = word.partition("=")
    workload, dot, key = target.partition(".")
    if not (equals and dot and workload and key and value):
        raise OptionError("set", f" {word}: expected WORKLOAD.KEY=VALUE, such as primes.hi=300000")
    return workload, key, value


def history(value: object) -> str | None:
    word = str(value or "off")
    if word in ("on", "off"):
        return "" if word == "on" else None
    if "://" not in word:
        return str(Path(word).absolute())
    if "@" in word and ":" in word.partition("://")[2].rpartition("@")[0]:
        raise OptionError(
            "history",
            ": a session records its options, so give no password there; set the whole URL in "
            "BENCHGATE_HISTORY and use --history on, or keep the password in ~/.pgpass",
        )
    return word


def path(value: object) -> Path | None:
    return Path(str(value)).absolute() if value else None
