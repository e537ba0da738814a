"""The interface between the core and its features: everything that the core asks of one.

A feature is a folder of features/ with a module `feature.py`, which has a FEATURE. Features import the core;
the core imports none, but reads their tables, and imports a module that one names when it is needed. Every
run of pytest and every usage message reads the tables: a `feature.py` imports this module and nothing else
of benchgate. Who deletes the folder of a feature has a benchgate without it.

Fails with what the import of a feature fails with.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any


@dataclass(frozen=True, slots=True)
class Command:
    """A command of `benchgate`."""

    name: str
    """Of a command of two words, both, joined by `-`."""
    about: str
    second: str = ""
    """The second word of a command of two."""
    has_pytest_words: bool = False
    """Whether words may follow behind `--`, for pytest."""
    place: str = ""
    """Its module, which has `declare` and `run`; empty: that of commands/ with its first word."""

    def module(self) -> ModuleType:
        """Imported now, so that a command does not pay for the others."""
        first = self.name.removesuffix(f"-{self.second}").replace("-", "_")
        return importlib.import_module(self.place or f"benchgate.commands.{first}")

    def declare(self, parser: argparse.ArgumentParser) -> None:
        module, ending = self.module(), f"_{self.second}" if self.second else ""
        parser.set_defaults(command=getattr(module, f"run{ending}", _no_action))
        getattr(module, f"declare{ending}")(parser)


def _no_action(words: argparse.Namespace) -> int:
    raise AssertionError(f"an action is required, and argparse gave none: {words}")


@dataclass(frozen=True, slots=True)
class PlainMark:
    """A mark that is no gate."""

    name: str
    about: str
    arguments: str = ""
    example: str = ""
    fixture: str = ""
    """The fixture that does what the mark asks for; without it the mark has no effect."""

    @property
    def shown(self) -> str:
        return f"@pytest.mark.{self.name}({self.example})"

    @property
    def signature(self) -> str:
        return f"{self.name}({self.arguments})" if self.arguments else self.name


@dataclass(frozen=True, slots=True)
class Feature:
    """What one feature adds. A place is written as `package.module:NAME`."""

    commands: tuple[Command, ...] = ()
    marks: tuple[PlainMark, ...] = ()
    fixtures: str = ""
    """The module that declares the fixtures of its marks, which every run of pytest imports."""
    values: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    """For the reference: by the fixture, the place of the class of its value, and of classes in that."""
    files: tuple[str, ...] = ()
    """The places of its kinds of YAML files (base.yaml.keys.YamlFile), for the schemas."""
    describes_kernels: str = ""
    """Its command that boots a kernel and writes the YAML, as `benchgate NAME KERNEL --out FILE`."""


FOLDER = Path(__file__).parent / "features"


@cache
def features() -> Mapping[str, Feature]:
    """Every feature that is there, by its folder's name, in the order of names."""
    names = sorted(path.parent.name for path in FOLDER.glob("*/feature.py"))
    return {name: importlib.import_module(f"benchgate.features.{name}.feature").FEATURE for name in names}


def object_at(place: str) -> Any:
    """What a feature named by its place."""
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)


def commands() -> Iterator[Command]:
    for feature in features().values():
        yield from feature.commands


def marks() -> Iterator[PlainMark]:
    for feature in features().values():
        yield from feature.marks


def fixture_modules() -> Iterator[str]:
    yield from filter(None, (feature.fixtures for feature in features().values()))


def describes_kernels() -> list[str]:
    """The commands to advise for a kernel that nobody described."""
    return [name for feature in features().values() if (name := feature.describes_kernels)]
