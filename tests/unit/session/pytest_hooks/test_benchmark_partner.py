"""pytest-benchmark has every private part, and only cells whose runs are all verified become entries."""

from __future__ import annotations

import re
from dataclasses import replace
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

import benchgate
from benchgate.base.cells import Lane
from benchgate.base.runs import Outcome
from benchgate.session.pytest_hooks import benchmark_partner
from tests.unit.factories import cell, rows, view

pytest.importorskip("pytest_benchmark", reason="pytest-benchmark is not installed")


def own_session(config: pytest.Config) -> Any:
    """The one of the pytest that runs this test, made by pytest-benchmark itself."""
    return getattr(config, benchmark_partner.SESSION)


def empty(**words: Any) -> Any:
    return SimpleNamespace(
        **{"benchmarks": [], "disabled": False, "skip": False, "columns": ["min"], **words}
    )


def added(session: Any, *given: Any) -> list[Any]:
    config = cast(
        pytest.Config,
        SimpleNamespace(
            **{benchmark_partner.SESSION: session, "pluginmanager": pytest.PytestPluginManager()}
        ),
    )
    assert benchmark_partner.add(config, view(*given)) == ""
    return list(session.benchmarks)


def test_the_installed_version_has_every_part(pytestconfig: pytest.Config) -> None:
    """If not, find out what took its place."""
    assert benchmark_partner.missing(own_session(pytestconfig)) == []


@pytest.mark.parametrize("part", benchmark_partner.PARTS)
def test_a_part_that_is_gone_is_named(monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    module, _, names = part.partition(":")
    *of, name = names.split(".")
    monkeypatch.delattr(
        attrgetter(".".join(of))(import_module(module)) if of else import_module(module), name
    )
    assert part in benchmark_partner.missing(empty())


@pytest.mark.parametrize("name", benchmark_partner.SET_BY_INIT)
def test_an_attribute_that_is_gone_is_named(name: str) -> None:
    session = empty()
    delattr(session, name)
    assert benchmark_partner.missing(session) == [f"BenchmarkSession.{name}"]


def test_a_version_that_reads_more_of_its_fixture_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    class Later:
        def __init__(self, fixture: Any, **_: Any) -> None:
            self.rounds = fixture.rounds

        def update(self, second: float) -> None: ...

    monkeypatch.setattr("pytest_benchmark.stats.Metadata", Later)
    assert "no attribute 'rounds'" in benchmark_partner.missing(empty())[0]


def test_every_attribute_of_a_source_is_read() -> None:
    """A private thing that it does not need any more is removed from the list."""
    text = Path(str(import_module("pytest_benchmark.stats").__file__)).read_text()
    read = set(re.findall(r"fixture\.(\w+)", text))
    assert read == set(benchmark_partner.BenchmarkSource.__dataclass_fields__)


def test_no_other_module_touches_what_is_private() -> None:
    private = re.compile(rf"\b({benchmark_partner.SESSION}|pytest_benchmark)\b")
    sources = Path(benchgate.__file__).parent.rglob("*.py")
    assert [path.name for path in sources if private.search(path.read_text())] == ["benchmark_partner.py"]


def test_only_cells_whose_runs_are_all_verified_are_entries() -> None:
    good, bad = rows(cell(1), [20, 21]), rows(cell(2), [10, 11])
    bad = (*bad, replace(rows(cell(2), [9])[0], outcome=Outcome.INVALID, verified=False))
    assert {one.params["cpus"] for one in added(empty(), *good, *bad)} == {1}
    assert {one.params["cpus"] for one in added(empty(), *good, *bad[:-1])} == {1, 2}


def test_a_second_of_the_instruction_clock_is_guest_time() -> None:
    (work, _) = added(empty(), *rows(cell(2), [1000, 2000], lane=Lane.INSN, unit="insn"))
    result = work.as_dict()
    assert result["stats"]["data"] == [pytest.approx(1e-6), pytest.approx(2e-6)]
    assert "1 instruction is 1 ns" in result["extra_info"]["seconds_are"]
    assert result["extra_info"]["unit"] == "insn"
    assert "-insn[" in result["name"]
