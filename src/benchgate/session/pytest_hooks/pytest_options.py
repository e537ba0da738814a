"""Registers and reads the options of pytest: flags on the command line, keys in the ini or TOML file.

Takes pytest's parser, later its configuration; gives an `Options`. Fails with UsageError that names the
option.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import pytest
from _pytest.config import findpaths

from benchgate.base.errors import OptionError, UsageError
from benchgate.plan import catalog, options, planner
from benchgate.plan.option_table import PATHS, TABLE, Option
from benchgate.plan.option_words import is_path
from benchgate.plan.options import Options


def register(parser: pytest.Parser) -> None:
    group = parser.getgroup("benchgate", "benchgate: kernel benchmarks as gated tests")
    for option in TABLE:
        group.addoption(option.flag, help=option.about, default=None, dest=option.key, **_how(option))
        parser.addini(option.key, f"as {option.flag}: {option.about}", default=None, type=_ini_type(option))


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
        found = options.read(lookup)
    except OptionError as wrong:
        if wrong.option not in in_ini:
            raise
        raise UsageError(f"{_origin(config, in_ini[wrong.option])}{wrong.what}") from None
    if found.sets or found.systems != Options().systems:
        planner.check_words(found)
    return found


def _origin(config: pytest.Config, key: str) -> str:
    """Names where pytest has the value of an ini key from."""
    replaced = any(word.partition("=")[0] == key for word in config.getoption("override_ini", None) or ())
    return f"-o {key}" if replaced else f"{config.inipath}: {key}"


def choose_root_again(early_config: pytest.Config, parser: pytest.Parser, args: Sequence[str]) -> None:
    """pytest chooses its root folder and ini file before it knows our options. It then takes the value in
    `--qemu VALUE` for the path of a test, and would use and write to the folder of that program. Now that the
    options are known, the root is chosen again; an ini file that was read or missed cannot be replaced."""
    flags = [option.flag for option in TABLE if option.kind != "flag" and option.flag in args]
    if not flags:
        return
    words = early_config.known_args_namespace
    known = {
        "inifile": words.inifilename,
        "override_ini": words.override_ini,
        "args": words.file_or_dir,
        "rootdir_cmd_arg": words.rootdir or None,
        "invocation_dir": early_config.invocation_params.dir,
    }
    takes = inspect.signature(findpaths.determine_setup).parameters  # pytest 8 has no `override_ini`
    found = findpaths.determine_setup(**{name: value for name, value in known.items() if name in takes})
    root, ini = found[0], found[1]
    if ini != early_config.inipath:
        raise UsageError(
            f"pytest took the value of {flags[0]} for the path of a test, and so used the ini file "
            f"{early_config.inipath or '(none)'} and not {ini or '(none)'}: write {flags[0]}=VALUE"
        )
    if words.confcutdir == str(early_config.rootpath):
        words.confcutdir = str(root)
    early_config._rootpath = root
    parser.extra_info["rootdir"] = str(root)


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
        if option.name == "system":
            return ",".join(catalog.placed(one, home) for one in word.split(","))
        return str(home / word) if option.name in PATHS or is_path(word) else word

    if option.name not in (*PATHS, "system", "policy", "machine", "history") or not value:
        return value
    return [placed(word) for word in value] if isinstance(value, list) else placed(str(value))
