"""Renders the reports of a session.

A report is a Python file with NAME, the name of the report's file, and `render(view)`, which gives its text,
or None for no report. Ours are in render/files; a user's own are named by path. Takes a SessionView; gives
texts by file name: a session writes them, and `benchgate verify` renders them again and compares. A user's
report that is not one, that raises, or whose file another one writes, is an error beside the texts of all
others.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType, ModuleType

from benchgate.base.errors import BenchgateError, CatalogError, RenderError
from benchgate.base.pyfile import contained, described, load_module, modules_of
from benchgate.evidence.files import is_safe_name
from benchgate.evidence.session_folder import OWN
from benchgate.render import files
from benchgate.render.view import SessionView

Renderer = Callable[[SessionView], str | None]


@functools.cache
def ours() -> Mapping[str, Renderer]:
    return MappingProxyType(dict(map(_report, modules_of(files))))


@dataclass(frozen=True, slots=True)
class RenderedReports:
    texts: Mapping[str, str]
    """The texts by file name."""
    errors: tuple[BenchgateError, ...] = ()
    """One for each report of the user that has no text because it failed; each names the report."""


def rendered(view: SessionView, more: Sequence[Path] = ()) -> RenderedReports:
    texts = {name: render(view) for name, render in ours().items()}
    errors: list[BenchgateError] = []
    for path in more:
        try:
            name, render = _of_user(path, texts)
            texts[name] = _called(path, render, view)
        except BenchgateError as error:
            errors.append(error)
    return RenderedReports({name: text for name, text in texts.items() if text is not None}, tuple(errors))


def all_of(errors: Sequence[BenchgateError]) -> BenchgateError:
    """Joins the errors to one of the first one's kind, which says what each of them says."""
    return errors[0] if len(errors) == 1 else type(errors[0])("; ".join(map(str, errors)))


def by_name(more: Sequence[Path]) -> Mapping[str, Path]:
    """The user's reports by the names of their files. The first that cannot be one is an error."""
    result: dict[str, Path] = {}
    for path in more:
        result[_of_user(path, {*ours(), *result})[0]] = path
    return result


def _of_user(path: Path, taken: Container[str]) -> tuple[str, Renderer]:
    name, render = _report(load_module(path, "report"))
    if name in OWN or name in taken:
        writer = "the session itself" if name in OWN else "another report"
        raise CatalogError(f"report {path}: {writer} writes {name}; give NAME another file name")
    return name, render


def _report(module: ModuleType) -> tuple[str, Renderer]:
    name, render = getattr(module, "NAME", None), getattr(module, "render", None)
    if not isinstance(name, str) or not is_safe_name(name) or "/" in name or not callable(render):
        raise CatalogError(
            f"{module.__file__}: a report must define NAME (a plain file name) and render(view); "
            "`benchgate docs extend` has one"
        )
    return name, render


def _called(path: Path, render: Renderer, view: SessionView) -> str | None:
    try:
        with contained(RenderError, f"report {path}: render() raised"):
            text = render(view)
    except RenderError:
        raise
    except BenchgateError as error:  # one of ours, from the user's code
        raise RenderError(f"report {path}: render() raised {described(error)}") from error
    if text is not None and not isinstance(text, str):
        raise RenderError(f"report {path}: render() returned {type(text).__name__}, not str or None")
    return text
