"""Loads and calls a Python file outside the package: an oracle, a kind of gate, a report.

Takes a path and what the file is, for messages; gives the module. Built-in files and a user's own are loaded
in the same way. Fails with CatalogError if the file is not a readable regular file, or raises anything.
`contained` is for the calls of its functions; only an oracle has a process of its own
(judge/oracles/oracle.py).
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import pkgutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType

from benchgate.base.cpu_limit import CpuLimitExceeded
from benchgate.base.errors import BenchgateError, CatalogError
from benchgate.base.files import open_regular
from benchgate.base.text import one_line


def modules_of(package: ModuleType) -> list[ModuleType]:
    """The modules of a package of ours, which are found by being in its folder; by name."""
    names = (f"{package.__name__}.{info.name}" for info in pkgutil.iter_modules(package.__path__))
    return list(map(importlib.import_module, names))


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
    with contained(CatalogError, f"{what} file {path} cannot be loaded:"):
        return executed(path, what)


def executed(path: Path, what: str) -> ModuleType:
    """Executes the file as a module. Whatever its code raises passes through."""
    spec = importlib.util.spec_from_file_location(f"benchgate_{what}_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise CatalogError(f"{what} file {path}: the name must end with .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up while it is executed
    spec.loader.exec_module(module)
    return module


@contextmanager
def contained(kind: type[BenchgateError], what: str) -> Iterator[None]:
    """Turns whatever a user's code raises, also SystemExit and pytest's skip, into a `kind` that begins with
    `what`. Only benchgate's own errors, Ctrl-C and the limit of CPU time pass."""
    try:
        yield
    except (BenchgateError, CpuLimitExceeded, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise kind(f"{what} {described(error)}") from error


def described(error: BaseException) -> str:
    try:
        text = str(error)
        return one_line(f"{type(error).__name__}: {text}" if text else type(error).__name__, 300)
    except BaseException:  # its __str__ is the user's, too
        return f"{type(error).__name__}, whose text cannot be shown"
