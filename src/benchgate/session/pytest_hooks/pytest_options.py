"""Reads the options of pytest: flags on the command line, keys in the ini or TOML file.

Takes pytest's configuration; gives an `Options`. Fails with UsageError that names the option.
"""

from __future__ import annotations

import pytest

from benchgate.base.errors import OptionError, UsageError
from benchgate.hooks import Option
from benchgate.plan import catalog, options, planner
from benchgate.plan.options import Options, is_path


def read(config: pytest.Config) -> Options:
    in_ini: dict[str, str] = {}
    """The ini key of each option whose value is from there."""

    def lookup(option: Option) -> object:
        given = config.getoption(option.key, None)
        if given == "" or (isinstance(given, list) and "" in given):
            raise OptionError(option.name, " is empty; give it a value or leave it out")
        if given is not None:
            return given
        in_ini[option.name] = option.key
        return _ini(config, option)

    try:
        result = options.read(lookup)
    except OptionError as wrong:
        if wrong.option not in in_ini:
            raise
        raise UsageError(f"{_origin(config, in_ini[wrong.option])}{wrong.what}") from None
    if result.sets or result.systems != Options().systems:
        planner.check_words(result)
    return result


def _origin(config: pytest.Config, key: str) -> str:
    """Names where pytest has the value of an ini key from."""
    replaced = any(word.partition("=")[0] == key for word in config.getoption("override_ini", None) or ())
    return f"-o {key}" if replaced else f"{config.inipath}: {key}"


def _ini(config: pytest.Config, option: Option) -> object:
    """A path in an ini file is relative to that file, not to the current folder."""
    value = config.getini(option.key)
    home = config.inipath.parent if config.inipath else config.invocation_params.dir

    def placed(word: str) -> str:
        if option.name == "system":
            return ",".join(catalog.placed(piece, home) for piece in word.split(","))
        return str(home / word) if option.is_path or is_path(word) else word

    if not (option.is_path or option.may_be_path) or not value:
        return value
    return [placed(word) for word in value] if isinstance(value, list) else placed(str(value))
