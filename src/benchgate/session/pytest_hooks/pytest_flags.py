"""Registers the options with pytest, and lets pytest choose its root folder with them.

Takes pytest's parser and its first configuration. Fails with pytest.UsageError if pytest has read the wrong
ini file. Every run of pytest beside benchgate imports this module; pytest_options.py reads the values.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import pytest
from _pytest.config import findpaths

from benchgate.plan.option_table import TABLE, Option


def register(parser: pytest.Parser) -> None:
    group = parser.getgroup("benchgate", "benchgate: kernel benchmarks as gated tests")
    for option in TABLE:
        group.addoption(option.flag, help=option.about, default=None, dest=option.key, **_how(option))
        parser.addini(option.key, f"as {option.flag}: {option.about}", default=None, type=_ini_type(option))


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
        raise pytest.UsageError(
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
