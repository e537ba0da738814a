"""Registers and reads the options of pytest: flags on the command line, keys in the ini or TOML file.

Takes pytest's parser, later its configuration; gives an `Options`. Fails with UsageError that names the
option.
"""

from __future__ import annotations

from typing import Any

import pytest

from benchgate.base.errors import UsageError
from benchgate.plan import options, planner
from benchgate.plan.options import Option, Options


def register(parser: pytest.Parser) -> None:
    group = parser.getgroup("benchgate", "benchgate: kernel benchmarks as gated tests")
    for option in options.TABLE:
        group.addoption(option.flag, help=option.about, default=None, dest=option.key, **_how(option))
        parser.addini(option.key, f"as {option.flag}: {option.about}", default=None, type=_ini_type(option))


def read(config: pytest.Config) -> Options:
    def lookup(option: Option) -> object:
        given = config.getoption(option.key, None)
        if given == "" or (isinstance(given, list) and "" in given):
            raise UsageError(f"{option.flag} is empty; give it a value or leave it out")
        return _ini(config, option) if given is None else given

    found = options.read(lookup)
    if found.sets or found.systems != Options().systems:
        planner.check_words(found)
    return found


def _how(option: Option) -> dict[str, Any]:
    if option.kind == "flag":
        return {"action": "store_true"}
    how: dict[str, Any] = {"action": "append"} if option.kind == "list" else {}
    if option.choices:
        how["choices"] = option.choices
    return {**how, "metavar": option.metavar} if option.metavar else how


def _ini_type(option: Option) -> Any:
    return {"flag": "bool", "list": "args"}.get(option.kind, "string")


def _ini(config: pytest.Config, option: Option) -> object:
    """A path in an ini file is relative to that file, not to the current folder."""
    value = config.getini(option.key)
    home = config.inipath.parent if config.inipath else config.invocation_params.dir

    def placed(word: str) -> str:
        return str(home / word) if option.name in options.PATHS or options.is_path(word) else word

    if option.name not in (*options.PATHS, "system", "policy") or not value:
        return value
    return [placed(word) for word in value] if isinstance(value, list) else placed(str(value))
