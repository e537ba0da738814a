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
from typing import Any, Literal, NoReturn

from benchgate.base import entry_points
from benchgate.base.entry_points import InstalledName

GROUP = "benchgate.features"
ONLY_SHIPPED = (
    *("terms", "gates", "kept", "workloads", "checks", "exports"),
    *("kernels", "locks", "programs", "cached"),
)
"""What no installed feature may have: what judges must be trusted by its digest, as users' gates are."""
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
class GlossaryTerm:
    word: str
    meaning: str
    """One sentence."""
    page: str
    """The page of `benchgate docs` that says more."""
    forms: tuple[str, ...] = ()
    """Other forms of the word, as texts have them."""

    @property
    def id(self) -> str:
        """For links within a page."""
        return f"word-{self.word.replace(' ', '-')}"


BOUNDS = ("at_least", "at_most")
THRESHOLDS = (*BOUNDS, "insn")
SHARED = ("cpus", *THRESHOLDS, "metric", "base", "to")
"""The arguments that plan/marks.py reads. Every other one names a file (GateFile), or is a word that only the
kind knows (Gate.settings)."""
GATE = "gate"
"""The mark that names a kind of gate as its first argument."""
Good = Literal["never", "always", "at_least", "better"]
"""When a gate holds only for a good metric, never for a bad one: `at_least` means with this argument,
`better` with the bound on the metric's better side."""


@dataclass(frozen=True, slots=True)
class GateFile:
    """A kind of file with which gates compare. An argument of their marks names one, and a session keeps a
    copy of it, from which it is judged again."""

    name: str
    """The argument, and the file's name in sentences. No other one has it."""
    default: str
    """The path if a mark names none. Each has its suffix."""
    folder: str
    """The folder of the copies in a session's, and the key of session.json with their digests by the words of
    the marks."""
    largest: int
    """The most bytes of a file."""
    ratio_is: str
    """The word behind a ratio to it: `worse`."""
    place: str
    """Its module. `parse(text, where)` gives what a file holds, and fails with EvidenceError.
    `for_gates(facts, where, files)` gives what a gate's rule finds in `measured.against` by `name`, from the
    facts of session.json and what each file holds by the mark's word."""

    @property
    def suffix(self) -> str:
        return Path(self.default).suffix

    def module(self) -> ModuleType:
        return importlib.import_module(self.place)


@dataclass(frozen=True, slots=True)
class GateMark:
    """The mark of a kind of gate, which has the kind's name."""

    name: str
    about: str
    """The meaning of the figure, as the rest of a sentence."""
    example: str
    """Its arguments, as a test writes them."""
    takes: tuple[str, ...]
    needs: tuple[str, ...] = ("cpus",)
    """The arguments in `takes` that a test must give. If `cpus` is not among them, a mark without it holds at
    each CPU count that the session measures."""
    base: int | None = None
    """The CPU count of the base, unless the mark names one; None if the gate has no such base."""
    is_of_several: bool = False
    """Whether `cpus` may be a list, whose first count is the base and whose last one is the cell."""
    is_ratio: bool = False
    """Whether a threshold is a ratio, and not a figure in the metric's unit."""
    metric: str = "work"
    """The metric of its gates, unless the mark takes `metric`."""
    lengths: tuple[str, ...] = ()
    """The settings that are lengths of time, written as `1ms`."""
    shares: tuple[str, ...] = ()
    """Those that are shares, written as `10%` or 0.1."""
    has_own_figure: bool = False
    """Whether the figure is neither the metric itself nor a ratio of two arms."""
    good: Good = "never"
    at_most_kind: str = ""
    """The kind of the gate if the mark has `at_most`; empty for the mark's own kind."""
    is_in_id: bool = True
    """Whether the name is a part of the gate's id."""
    file: str = ""
    """The Python file of a user's own kind."""
    place: str = ""
    """The module of a feature's kind. `judge(gate, measured)` gives its Ruling. It may have `check(gate,
    metric, policy)`, which refuses with DecideError what the kind can never decide, and
    `completed(verdicts)`, which words the kind's verdicts anew when it knows all of a session."""
    before: str = ""
    """The mark before which a feature's stands wherever all are listed; empty: the last."""
    is_common_word: bool = False
    """Whether many suites mark tests with this word alone. Without arguments it is then no gate's."""

    def __post_init__(self) -> None:
        if unknown := set(self.needs) - set(self.takes):
            raise ValueError(f"mark {self.name}: needs {', '.join(sorted(unknown))}, which it does not take")

    @property
    def takes_either(self) -> bool:
        """Whether a test must give exactly one of both bounds. The mark `gate` leaves that to the kind, and
        one that needs both holds for a range."""
        return self.name != GATE and set(BOUNDS) <= set(self.takes) and not set(BOUNDS) <= set(self.needs)

    @property
    def kinds(self) -> tuple[str, ...]:
        return (self.name, *filter(None, (self.at_most_kind,)))

    @property
    def shown(self) -> str:
        return f"{self.name}({self.example})"

    @property
    def settings(self) -> tuple[str, ...]:
        """The arguments that only the kind knows, which checks them."""
        named = {file.name for file in kept_files()}
        return tuple(take for take in self.takes if take not in SHARED and take not in named)

    @property
    def signature(self) -> str:
        return f"{self.name}({', '.join([*(['kind'] if self.name == GATE else []), *self.needs, *self.may])})"

    @property
    def may(self) -> Iterator[str]:
        """The arguments that a test may leave out, with their defaults."""
        defaults = {"metric": "'work'", "base": "" if self.base is None else str(self.base)}
        for take in self.takes:
            if self.takes_either and take in BOUNDS:
                yield from ("at_least=|at_most=",) if take == BOUNDS[0] else ()
            elif take not in self.needs:
                yield f"{take}={defaults.get(take, '')}"


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
class WorkloadKind:
    """A kind of file that is a workload: one of the core's carries out what the file says."""

    name: str
    """That of the core's workload. Shipped files are the workloads `NAME-FILE`."""
    files: str
    """Where those are; `*` is the file's name."""
    place: str
    """Its module. `is_one(path)` says whether a user's file is of this kind; `load(path, base)` gives its
    Workload, which differs from `base`, the core's. Both fail with CatalogError."""

    def module(self) -> ModuleType:
        return importlib.import_module(self.place)


@dataclass(frozen=True, slots=True)
class RunCheck:
    """What is asked of a run whose answers and records are right, before its promises are, and what that adds
    to it."""

    place: str
    """Its function. It takes the VerifiedRun, the RunFiles and the Workload, and gives the VerifiedRun. It
    fails with VerifyError."""
    workload: str = ""
    """The kind of workload (WorkloadKind) whose runs are asked; empty: all runs are."""


@dataclass(frozen=True, slots=True)
class KernelMaker:
    """Makes the kernel of a system whose `boot` has a value for a key."""

    key: str
    place: str
    """Its function. It takes the System, `locked` and `notice`, and gives the LinuxKernel. It fails with
    BuildError, FetchError or UsageError."""


@dataclass(frozen=True, slots=True)
class Feature:
    """What one feature adds. A place is written as `package.module:NAME`."""

    interface: int = 0
    """The INTERFACE that an installed feature was made for."""
    commands: tuple[Command, ...] = ()
    terms: tuple[GlossaryTerm, ...] = ()
    """Words of its own that users meet."""
    gates: tuple[GateMark, ...] = ()
    """Its kinds of gate, each with the mark of this name."""
    kept: tuple[GateFile, ...] = ()
    """What its gates compare with, and users' own gates, if their marks take the argument."""
    workloads: tuple[WorkloadKind, ...] = ()
    checks: tuple[RunCheck, ...] = ()
    exports: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """What it adds to the names that a user's tests may import from `benchgate`, and the place of each."""
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
    kernels: KernelMaker | None = None
    locks: str = ""
    """The place of a function that takes apt's client and the release, and gives for each of its files
    fixtures/KIND.lock the kind and the newest PinnedSet, for `nox -s relock`."""
    programs: tuple[str, ...] = ()
    """The packages of fixtures/tools.lock that it needs."""
    cached: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """What its folders of the cache are, by kind, for `benchgate cache` (build/cache_trim.py)."""
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
    if own := [name for name in ONLY_SHIPPED if getattr(feature, name)]:
        _refuse(f"{_told(one)} has `{own[0]}`, which only features of benchgate may have", _other(one))
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


def terms() -> Iterator[GlossaryTerm]:
    for feature in shipped().values():
        yield from feature.terms


def gates() -> Iterator[GateMark]:
    for feature in shipped().values():
        yield from feature.gates


def gate_of(kind: str) -> GateMark | None:
    """The mark of a feature's kind of gate; None for any other kind."""
    return next((row for row in gates() if row.name == kind), None)


def kept_files() -> Iterator[GateFile]:
    for feature in shipped().values():
        yield from feature.kept


def kept_by(kind: str) -> GateFile | None:
    """What the file is that a gate of this kind compares with. A user's own kind is in no table: the file of
    its gates is of the first kind there is."""
    row, files = gate_of(kind), [*kept_files()]
    return next((file for file in files if row is None or file.name in row.takes), None)


def kept_name(kind: str) -> str:
    """The file's name in sentences."""
    file = kept_by(kind)
    return file.name if file else "file"


def workload_kinds() -> Mapping[str, WorkloadKind]:
    """By the name of the workload that carries them out."""
    return {kind.name: kind for feature in shipped().values() for kind in feature.workloads}


def run_checks(workload: str) -> Iterator[Callable[..., Any]]:
    """What is asked of the runs of a workload that this program carries out."""
    for feature in shipped().values():
        for check in feature.checks:
            if check.workload in ("", workload):
                yield object_at(check.place)


def exports() -> Mapping[str, str]:
    return {name: place for feature in shipped().values() for name, place in feature.exports.items()}


def kernel_maker(key: str) -> Callable[..., Any] | None:
    """What makes the kernel of a system whose `boot` has this key; None if no feature does."""
    makers = (feature.kernels for feature in shipped().values() if feature.kernels)
    return next((object_at(one.place) for one in makers if one.key == key), None)


def newest_locks(client: object, release: object) -> Iterator[tuple[str, Any]]:
    for feature in shipped().values():
        if feature.locks:
            yield from object_at(feature.locks)(client, release)


def programs() -> Iterator[str]:
    for feature in shipped().values():
        yield from feature.programs


def cached() -> dict[str, str]:
    return {kind: about for feature in shipped().values() for kind, about in feature.cached.items()}


def describes_kernels() -> list[str]:
    """The commands to advise for a kernel that nobody described."""
    return [name for feature in features().values() if (name := feature.describes_kernels)]
