"""The interface between the core and its features: everything that the core asks of one.

A feature is a folder of features/ with a module `feature.py`, which has a FEATURE. Features import the core;
the core imports none, but reads their tables, and imports a module that one names when it is needed. Every
run of pytest and every usage message reads the tables: a `feature.py` imports this module and nothing else
of benchgate. Who deletes the folder of a feature has a benchgate without it.

Somebody else's feature is an installed distribution with an entry point in GROUP, which names a module with
a FEATURE. Its code is loaded where its commands, options or marks are needed; what judges a session again
needs none of them.

An installed feature that cannot be used is a FeatureError; what our own fail with is a bug, and not caught.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, NoReturn

from benchgate.base import entry_points
from benchgate.base.entry_points import InstalledName

GROUP = "benchgate.features"
INTERFACE = 1
"""Of this module. It grows when what a feature may rely on goes or changes its meaning."""


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
        return module_at(self.place or f"benchgate.commands.{first}")

    def declare(self, parser: argparse.ArgumentParser) -> None:
        module, ending = self.module(), f"_{self.second}" if self.second else ""
        parser.set_defaults(command=getattr(module, f"run{ending}", _no_action))
        with told_of(module.__name__):
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
class Option:
    """One option of pytest. Its `kind` is value, flag or list (repeatable)."""

    name: str
    about: str
    kind: str = "value"
    metavar: str = ""
    choices: tuple[str, ...] = ()

    @property
    def flag(self) -> str:
        return f"--{self.name}"

    @property
    def field(self) -> str:
        """Its name among the values of a session's options."""
        return self.name.replace("-", "_")

    @property
    def key(self) -> str:
        """Its ini/TOML key. The prefix distinguishes it from the keys of other plugins."""
        return f"benchgate_{self.field}"

    @property
    def is_path(self) -> bool:
        return self.metavar in ("DIR", "PATH")

    @property
    def may_be_path(self) -> bool:
        return "PATH" in self.metavar.split("|")


@dataclass(frozen=True, slots=True)
class SessionSource:
    """Sessions that are no folders: NAME:WORD is a side of `compare`, and `report` makes a page of NAME or
    NAME:WORD, unless there is a file of this name."""

    name: str
    side: str
    """How a side is written, for the help of `compare`."""
    page: str
    """What a page is of, for the help of `report`."""
    place: str
    """Its module, which has `declare(parser)` for words that both commands need, `side(word, words)`, which
    gives a ComparisonSide, and `write_page(word, out, words)`, which gives the file that it wrote. Both fail
    with a BenchgateError."""

    def module(self) -> ModuleType:
        return module_at(self.place)


@dataclass(frozen=True, slots=True)
class RunMaker:
    """Makes the runs of a session elsewhere, if the session has a value for an option."""

    option: str
    """Its name."""
    about: str
    """What it means in commands that make runs; all options of the feature are theirs, too."""
    who: str
    """Who makes runs, in the plural, for sentences."""
    place: str
    """Its module. `host_of(options, note)` gives the MeasuringHost of wall time, or None for this machine,
    `runner_of(options, note)` the Runner, and `require_makeable(options, cells)` fails with UsageError that
    names a cell of which it can make no run. The others fail as Runner and MeasuringHost do."""

    def module(self) -> ModuleType:
        return module_at(self.place)


@dataclass(frozen=True, slots=True)
class Feature:
    """What one feature adds. A place is written as `package.module:NAME`."""

    interface: int = 0
    """The INTERFACE that an installed feature was made for."""
    commands: tuple[Command, ...] = ()
    marks: tuple[PlainMark, ...] = ()
    fixtures: str = ""
    """The module that declares the fixtures of its marks, which every run of pytest imports."""
    options: tuple[Option, ...] = ()
    read_options: str = ""
    """The place of a function that is called if one of these options is given. It takes the words of all
    options by name, or those of a command that makes runs, and gives the values of its own by `Option.field`,
    for `Options.of_features` and session.json. It fails with UsageError. Without a word the value is None."""
    at_end: str = ""
    """The place of a function that is called at the end of a session for which an option of the feature has a
    value. It takes the session's folder, which is sealed, its Options and its TrustedPrograms, and gives a
    sentence for the user. It does not fail, because no verdict depends on it."""
    sessions: tuple[SessionSource, ...] = ()
    maker: RunMaker | None = None
    values: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    """For the reference: by the fixture, the place of the class of its value, and of classes in that."""
    files: tuple[str, ...] = ()
    """The places of its kinds of YAML files (base.yaml.keys.YamlFile), for the schemas."""
    describes_kernels: str = ""
    """Its command that boots a kernel and writes the YAML, as `benchgate NAME KERNEL --out FILE`."""

    def __post_init__(self) -> None:
        if self.options and not self.read_options:
            raise ValueError("a feature with options needs read_options")
        if any(mark.fixture for mark in self.marks) and not self.fixtures:
            raise ValueError("a feature whose mark has a fixture needs the module of its fixtures")


FOLDER = Path(__file__).parent / "features"


@dataclass(frozen=True, slots=True)
class InstalledFeature:
    """Somebody else's feature."""

    named: InstalledName
    feature: Feature

    def __str__(self) -> str:
        return _told(self.named)

    def words(self, kind: str) -> list[str]:
        """The names of what it adds: of a kind, each is there once."""
        of = self.feature
        kinds: Mapping[str, Sequence[Command | Option | PlainMark]] = {
            "command": of.commands,
            "option": of.options,
            "mark": of.marks,
        }
        return [one.name for one in kinds[kind]]

    @property
    def home(self) -> Path:
        """The folder of its package, or its file if it is one module."""
        file = Path(str(sys.modules[self.named.place].__file__))
        return file.parent if "." in self.named.place else file


@cache
def shipped() -> Mapping[str, Feature]:
    """Every feature in benchgate's own folder, by its folder's name, in the order of names."""
    names = sorted(path.parent.name for path in FOLDER.glob("*/feature.py"))
    return {name: importlib.import_module(f"benchgate.features.{name}.feature").FEATURE for name in names}


@cache
def installed() -> Mapping[str, InstalledFeature]:
    """Every feature of an installed distribution, by the name of its entry point, in the order of names."""
    result: dict[str, InstalledFeature] = {}
    for one in _names():
        if one.name in shipped() or one.name in result:
            other = result.get(one.name, "a feature of benchgate")
            _refuse(
                f"{_told(one)} has the same name as {other}", f"uninstall {one.distribution}, or the other"
            )
        result[one.name] = InstalledFeature(one, _loaded(one))
    return result


@cache
def features() -> Mapping[str, Feature]:
    """Those of benchgate, then installed ones."""
    return {**shipped(), **{name: one.feature for name, one in installed().items()}}


def _names() -> tuple[InstalledName, ...]:
    try:
        return entry_points.of_group(GROUP)
    except ValueError as error:
        _refuse(f"an {entry_points.FILE} of an installed distribution cannot be read: {error}", "repair it")


def _loaded(one: InstalledName) -> Feature:
    with _told_as(_told(one), one):
        feature = importlib.import_module(one.place).FEATURE
    if not isinstance(feature, Feature):
        what = f"{one.place}.FEATURE is of type {type(feature).__name__}, not benchgate.hooks.Feature"
        _refuse(f"{_told(one)} cannot be used: {what}", _other(one))
    if feature.interface != INTERFACE:
        made = f"was made for interface {feature.interface}, and this benchgate has {INTERFACE}"
        _refuse(f"{_told(one)} {made}", _other(one))
    return feature


def _told(one: InstalledName) -> str:
    return f"feature {one.name} of {one.distribution} {one.version}"


def _other(one: InstalledName) -> str:
    return f"install another version of {one.distribution}, or uninstall it"


def _refuse(what: str, advice: str) -> NoReturn:
    from benchgate.base.errors import FeatureError  # noqa: PLC0415 - who has no broken feature needs none

    raise FeatureError(f"{what}; next: {advice}")


@contextmanager
def told_of(place: str) -> Iterator[None]:
    """What the code at a place fails with: a sentence, if it is that of an installed feature."""
    package = place.partition(":")[0].partition(".")[0]
    owners = () if package == __package__ else installed().values()
    one = next((one.named for one in owners if one.named.place.partition(".")[0] == package), None)
    if one is None:
        yield
        return
    with _told_as(f"{place}, of {_told(one)},", one):
        yield


@contextmanager
def _told_as(what: str, one: InstalledName) -> Iterator[None]:
    from benchgate.base.errors import BenchgateError  # noqa: PLC0415 - who has no such feature needs none

    try:
        yield
    except BenchgateError:
        raise
    except (Exception, SystemExit) as error:
        _refuse(f"{what} failed: {type(error).__name__}: {error}", _other(one))


def module_at(place: str) -> ModuleType:
    """A module that a feature named."""
    with told_of(place):
        return importlib.import_module(place)


def object_at(place: str) -> Any:
    """What a feature named by its place."""
    module, _, name = place.partition(":")
    with told_of(module):
        return getattr(importlib.import_module(module), name)


def added(kind: str, taken: Iterable[str]) -> Mapping[str, Feature]:
    """The installed features. FeatureError if one adds a word of this kind that is taken."""
    owners = dict.fromkeys(taken, "benchgate")
    for one in installed().values():
        for word in one.words(kind):
            if word in owners:
                _refuse(f"{one} adds the {kind} {word}, which {owners[word]} has already", _other(one.named))
            owners[word] = str(one)
    return {name: one.feature for name, one in installed().items()}


def commands(of: Mapping[str, Feature]) -> Iterator[Command]:
    for feature in of.values():
        yield from feature.commands


def options(of: Mapping[str, Feature]) -> Iterator[Option]:
    for feature in of.values():
        yield from feature.options


def marks(of: Mapping[str, Feature]) -> Iterator[PlainMark]:
    for feature in of.values():
        yield from feature.marks


def fixture_modules(of: Mapping[str, Feature]) -> Iterator[str]:
    yield from filter(None, (feature.fixtures for feature in of.values()))


def values_of_options(given: Mapping[str, object]) -> dict[str, object]:
    result: dict[str, object] = {option.field: None for option in options(features())}
    for feature in features().values():
        if any(given.get(option.name) for option in feature.options):
            with told_of(feature.read_options):
                result |= _values(feature, given)
    return result


def _values(feature: Feature, given: Mapping[str, object]) -> Mapping[str, object]:
    """A session records them, beside the values of other options."""
    values: Mapping[str, object] = object_at(feature.read_options)(given)
    if strange := values.keys() - {option.field for option in feature.options}:
        raise ValueError(f"{min(strange)} is no option of it")
    for name, value in values.items():
        if not isinstance(value, str | int | float | Path | None):
            raise TypeError(f"{name} is of type {type(value).__name__}, which a session cannot record")
    return values


def maker_of(values: Mapping[str, object]) -> RunMaker | None:
    """Who makes the runs of a session with these values of features' options; None: this machine."""
    makers = (feature.maker for feature in features().values() if feature.maker)
    return next((one for one in makers if values.get(one.option.replace("-", "_"))), None)


def endings(values: Mapping[str, object]) -> Iterator[Callable[..., str]]:
    """What must be called at the end of a session with these values of features' options."""
    for feature in features().values():
        if feature.at_end and _is_asked(feature, values):
            yield partial(_at_end, feature.at_end)


def _at_end(place: str, *session: object) -> str:
    """The session is sealed, so what somebody else's code fails with is a sentence in its place."""
    from benchgate.base.errors import FeatureError  # noqa: PLC0415 - most sessions have no such end

    try:
        with told_of(place):
            return str(object_at(place)(*session))
    except FeatureError as error:
        return str(error)


def asked(values: Mapping[str, object]) -> tuple[InstalledFeature, ...]:
    """The installed features for which a session has a value of an option."""
    return tuple(one for one in installed().values() if _is_asked(one.feature, values))


def _is_asked(feature: Feature, values: Mapping[str, object]) -> bool:
    return any(values.get(option.field) is not None for option in feature.options)


def sessions() -> Iterator[SessionSource]:
    for feature in features().values():
        yield from feature.sessions


def sessions_named(word: str) -> SessionSource | None:
    """Those that a word of `compare` or `report` names."""
    name = word.partition(":")[0]
    return next((one for one in sessions() if one.name == name and not Path(word).exists()), None)


def describes_kernels() -> list[str]:
    """The commands to advise for a kernel that nobody described."""
    return [name for feature in features().values() if (name := feature.describes_kernels)]
