"""Makes tests of scenarios: one for each file, or two if a gate has both bounds.

Takes paths of scenarios, or of folders that have some; gives functions by name, for a test module:

    globals().update(benchgate.scenario_tests("scenarios"))

Each test has the marks that one would write by hand, so planning, gates and evidence know nothing of this.
A file that is wrong, and two of one name, end the collection of that module, with file, line and key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import pytest

from benchgate.base.errors import BenchgateError, CatalogError, UsageError
from benchgate.base.gates import VERIFIED
from benchgate.features.scenarios.scenario import Scenario, ScenarioGate, scenario_of
from benchgate.plan import catalog
from benchgate.session.pytest_hooks.results import VerdictResult

SUFFIXES = (".yaml", ".yml", ".json")
BOUNDS = ("at_least", "at_most")
ScenarioTest = Callable[[VerdictResult], None]


def scenario_tests(*places: str | Path) -> Mapping[str, ScenarioTest]:
    """`places` are relative to the current folder. Without any: the shipped scenarios."""
    try:
        return _all_of(places)
    except BenchgateError as error:
        said = str(error)
    pytest.fail(said, pytrace=False)  # not in the handler: pytest would print the error twice


def _all_of(places: Iterable[str | Path]) -> Mapping[str, ScenarioTest]:
    places = tuple(places)
    words = [word for place in places for word in _files(Path(place))] if places else _shipped()
    result: dict[str, ScenarioTest] = {}
    for word in words:
        for name, test in _tests(word):
            if name in result:
                raise UsageError(f"{word}: another scenario is called so, too: give it another `name`")
            result[name] = test
    return result


def _shipped() -> list[str]:
    return [f"scenario-{name}" for name in catalog.names("scenario")]


def _files(place: Path) -> list[str]:
    if not place.exists() and not place.is_absolute():
        raise CatalogError(
            f"there is no scenario {place} in {Path.cwd()}: a path is relative to the folder in which pytest "
            f'is started; `Path(__file__).with_name("{place.name}")` is the one beside the test file'
        )
    if not place.is_dir():
        return [str(place.absolute())]
    paths = sorted(path for path in place.iterdir() if path.suffix in SUFFIXES)
    if not paths:
        raise CatalogError(f"{place} has no scenario: a file whose name ends with {', '.join(SUFFIXES)}")
    return [str(path.absolute()) for path in paths]


def _tests(word: str) -> Iterator[tuple[str, ScenarioTest]]:
    scenario = scenario_of(catalog.load_workload(word))
    if scenario is None:
        raise CatalogError(f"{word} is no scenario")
    if not scenario.gates:  # of rt-app
        yield f"test_{scenario.name}", _test(word, scenario, pytest.mark.gate(VERIFIED, cpus=scenario.cpus))
    for bound in BOUNDS:
        gates = [gate for gate in scenario.gates if _bound(gate, bound)]
        if gates:
            yield f"test_{scenario.name}_{bound}", _test(word, scenario, *_marks(scenario, gates, bound))


def _bound(gate: ScenarioGate, bound: str) -> bool:
    return getattr(gate, bound) is not None


def _marks(scenario: Scenario, gates: list[ScenarioGate], bound: str) -> Iterator[pytest.MarkDecorator]:
    for gate in gates:
        threshold = {bound: getattr(gate, bound)}
        yield pytest.mark.limit(cpus=scenario.cpus, metric=gate.name, **threshold)


def _test(word: str, scenario: Scenario, *marks: pytest.MarkDecorator) -> ScenarioTest:
    def test(verdict: VerdictResult) -> None:
        verdict.require_pass()

    test.__doc__ = f"Finds {scenario.finds}."
    marked = pytest.mark.workload(word)(test)
    for mark in marks:
        marked = mark(marked)
    return marked
