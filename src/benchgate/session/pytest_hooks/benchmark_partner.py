"""Verified cells as entries of pytest-benchmark's session: its table, files and comparisons then have them.

Takes pytest's configuration and the view of a session that has ended; adds what benchmark.json has, with the
same names. pytest-benchmark has no public way to add rounds from outside: PARTS, SET_BY_INIT and
BenchmarkSource name each private thing that this module touches, and no other module touches one. Where it is
not installed, or is disabled, nothing happens. A version that lacks a part gets no entries, and one sentence
says so.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module, metadata
from typing import Any

import pytest

from benchgate.base.cells import Lane
from benchgate.render.files import benchmark_json
from benchgate.render.view import SessionView

SESSION = "_benchmarksession"
"""The attribute of pytest's configuration that holds its session."""
PARTS = (
    "pytest_benchmark.session:BenchmarkSession.finish",
    "pytest_benchmark.stats:Metadata",
    "pytest_benchmark.stats:Metadata.update",
)
"""Names that a module has. `finish` reads the list of entries, after it was filled here."""
SET_BY_INIT = ("benchmarks", "disabled", "skip", "columns")
"""Attributes that its session gets when it is made."""
ALL_COLUMNS = "min, max, mean, stddev, median, iqr, outliers, ops, rounds, iterations"
"""Its own choice of columns, which makes its tables 190 characters wide."""
COLUMNS = ("median", "min", "max", "rounds")
"""Those that say something of a cell."""


@dataclass(frozen=True, slots=True)
class BenchmarkSource:
    """What `Metadata` reads of the fixture `benchmark`, which a cell does not have."""

    name: str = ""
    fullname: str = ""
    group: str | None = None
    param: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    extra_info: Mapping[str, Any] = field(default_factory=dict)
    cprofile_stats: None = None
    has_error: bool = False


def add(config: pytest.Config, view: SessionView) -> str:
    """Adds the session's verified cells; gives a sentence if the installed version cannot take them."""
    session = getattr(config, SESSION, None)
    if session is None:
        return ""
    if lost := missing(session):
        version = metadata.version("pytest-benchmark")
        return (
            f"pytest-benchmark {version} has no {', '.join(lost)}, so its session has no cells of "
            "benchgate; benchmark.json in the session's folder has them"
        )
    if not (session.disabled or session.skip) and view.is_verified:
        entries = (entry for entry in benchmark_json.entries(view) if "stats" in entry)
        session.benchmarks.extend(map(_metadata, entries))
        if ", ".join(session.columns) == ALL_COLUMNS:
            session.columns = list(COLUMNS)
        config.pluginmanager.register(_GuestTime(), "benchgate-guest-time")
    return ""


class _GuestTime:
    """Its tables say `time in guest ms` of what the instruction clock measured."""

    @pytest.hookimpl(wrapper=True, optionalhook=True)
    def pytest_benchmark_scale_unit(
        self, unit: str, benchmarks: Sequence[Any]
    ) -> Generator[None, tuple[str, float], tuple[str, float]]:
        prefix, factor = yield
        counted = all(entry["extra_info"].get("lane") == Lane.INSN for entry in benchmarks)
        return (f"guest {prefix}" if unit == "seconds" and counted else prefix), factor


def missing(session: object) -> list[str]:
    """The private things that the installed version does not have."""
    lost = [part for part in PARTS if not _has(part)]
    lost += [f"BenchmarkSession.{name}" for name in SET_BY_INIT if not hasattr(session, name)]
    return lost or _unreadable()


def _has(part: str) -> bool:
    try:
        pkgutil.resolve_name(part)
    except (ImportError, AttributeError):
        return False
    return True


def _unreadable() -> list[str]:
    """Names what a version lacks that reads more of its fixture, or makes its entries in another way."""
    try:
        _metadata({**dict.fromkeys(_FIELDS, ""), "options": {}, "extra_info": {}, "stats": {"data": [1.0]}})
    except (AttributeError, TypeError) as error:
        return [f"entry that can be made from a cell ({error})"]
    return []


_FIELDS = ("name", "fullname", "group", "param", "params")


def _metadata(entry: Mapping[str, Any]) -> Any:
    made = import_module("pytest_benchmark.stats").Metadata(
        BenchmarkSource(**{name: entry[name] for name in _FIELDS}, extra_info=_extra(entry["extra_info"])),
        iterations=1,
        options=entry["options"],
    )
    for second in entry["stats"]["data"]:
        made.update(second)
    return made


def _extra(extra: Mapping[str, Any]) -> dict[str, Any]:
    """Adds what a second of this entry is."""
    is_exact = extra.get("lane") == Lane.INSN
    what = "guest time on the instruction clock: 1 instruction is 1 ns" if is_exact else "wall time"
    return {**extra, "seconds_are": what}
