"""Renders the reports of a session.

A report is a Python file with NAME, the name of the report's file, and `render(view)`, which gives its text,
or None for no report. Ours are in render/files; a user's own are named by path. Takes a SessionView; gives
texts by file name: a session writes them, and `benchgate verify` renders them again and compares. Fails with
CatalogError if a user's file is not a report, and with RenderError if its `render` raises.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, ModuleType

from benchgate.base.errors import CatalogError, RenderError
from benchgate.base.pyfile import contained, load_module
from benchgate.evidence.files import is_safe_name
from benchgate.render import files
from benchgate.render.view import SessionView

Renderer = Callable[[SessionView], str | None]


@functools.cache
def ours() -> Mapping[str, Renderer]:
    names = (f"{files.__name__}.{info.name}" for info in pkgutil.iter_modules(files.__path__))
    return MappingProxyType(dict(map(_report, map(importlib.import_module, names))))


def all_reports(more: Sequence[Path] = ()) -> Mapping[str, Renderer]:
    """The renderers by file name. CatalogError if a user's report has the name of another one."""
    found = dict(ours())
    for path in more:
        name, render = _report(load_module(path, "report"))
        if name in found:
            raise CatalogError(f"report {path}: another report has the name {name}; change its NAME")
        found[name] = _guarded(path, render)
    return found


def rendered(view: SessionView, more: Sequence[Path] = ()) -> dict[str, str]:
    texts = {name: render(view) for name, render in all_reports(more).items()}
    return {name: text for name, text in texts.items() if text is not None}


def name_of(path: Path) -> str:
    """The name of the file that a user's report makes."""
    return _report(load_module(path, "report"))[0]


def _report(module: ModuleType) -> tuple[str, Renderer]:
    name, render = getattr(module, "NAME", None), getattr(module, "render", None)
    if not isinstance(name, str) or not is_safe_name(name) or "/" in name or not callable(render):
        raise CatalogError(
            f"{module.__file__}: a report must define NAME (a plain file name) and render(view)"
        )
    return name, render


def _guarded(path: Path, render: Renderer) -> Renderer:
    def run(view: SessionView) -> str | None:
        with contained(RenderError, f"report {path}: render() raised"):
            text = render(view)
        if text is not None and not isinstance(text, str):
            raise RenderError(f"report {path}: render() returned {type(text).__name__}, not str or None")
        return text

    return run
