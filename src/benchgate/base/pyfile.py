"""Loads a Python file outside the package as a module: an oracle, a kind of gate, a report.

Takes a path and what the file is, for messages; gives the module. Built-in files and a user's own are loaded
in the same way. Fails with CatalogError if the file is not a readable regular file, or raises an exception.
"""

from __future__ import annotations

import importlib.util
import os
from functools import cache
from pathlib import Path
from types import ModuleType

from benchgate.base.errors import CatalogError
from benchgate.base.files import open_regular
from benchgate.base.text import one_line


def load_module(path: Path, what: str) -> ModuleType:
    """The file's module. It is loaded again only if the file has changed."""
    try:
        with open_regular(path) as stream:
            changed = os.fstat(stream.fileno()).st_mtime_ns
    except FileNotFoundError:
        raise CatalogError(f"there is no {what} file {path}") from None
    except OSError as error:
        raise CatalogError(f"{what} file {path} cannot be read: {error.strerror}") from None
    return _load(path.absolute(), changed, what)


@cache
def _load(path: Path, _changed: int, what: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"benchgate_{what}_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise CatalogError(f"{what} file {path}: the name must end with .py")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # a user's code may raise anything
        why = one_line(f"{type(error).__name__}: {error}", 300)
        raise CatalogError(f"{what} file {path} cannot be loaded: {why}") from error
    return module
