"""Makes pytest's items from the marks and fixtures of a test function, and reads them back.

Takes pytest's metafuncs and items; gives planned cells, gates and images. A mistake in a mark is returned as
one sentence, which the hook reports.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pytest

from benchgate.base.errors import BenchgateError
from benchgate.base.gates import Word
from benchgate.base.workload.metrics import every_metric
from benchgate.evidence import kept_files
from benchgate.judge.gates import check, find
from benchgate.plan import catalog, choice, marks, planner
from benchgate.plan.marks import MarkArguments
from benchgate.plan.planned import MarkRequest, PlannedCell, PlannedGate
from benchgate.session.pytest_hooks import pytest_marks
from benchgate.session.pytest_hooks.pytest_marks import GATES, gate_marks
from benchgate.session.pytest_hooks.pytest_session import PytestSession
from benchgate.session.pytest_hooks.pytest_use import requests

FIXTURES = ("cell", "verdict", "image")


@dataclass(frozen=True, slots=True)
class Nowhere:
    """The parameter of a test that runs on none of the session's systems."""

    why: str


def plan_items(metafunc: pytest.Metafunc, state: PytestSession) -> str:
    """Makes the items of one test function; gives the error in its marks, or an empty string."""
    names = [name for name in FIXTURES if requests(metafunc, name)]
    workload = _mark(metafunc.definition.get_closest_marker("workload"))
    if not names or (workload is None and names == ["image"]):
        return ""
    if wrong := pytest_marks.misspelt(metafunc.definition, is_ours=True):
        return wrong
    try:
        request = request_of(metafunc.definition)
        if "verdict" in names and not request.gates:
            first, *others = metafunc.config.stash[GATES].values()
            more = ", ".join(f"`{other.name}`" for other in others)
            return f"a test of verdicts needs @pytest.mark.{first.shown}, or another mark of a gate: {more}"
        for gate in request.gates:
            find(gate.kind, gate.file)
            if gate.against:  # a file that is none is refused before anything runs
                kept_files.find(gate.kind, gate.against)
        state.collected.add(catalog.load_workload(request.workload).name)
        for name in names:
            _parametrize(metafunc, name, request, state)
        pytest_marks.remember(metafunc.definition, names)
    except BenchgateError as error:
        return str(error)
    return ""


def request_of(function: pytest.Item) -> MarkRequest:
    """What a test function, or one of its items, requests with its marks."""
    return marks.read(
        _mark(function.get_closest_marker("workload")),
        {name: _marks(function, name) for name in gate_marks(function)},
        _marks(function, "system"),
        _function_id(function),
        _mark(function.get_closest_marker("machine")),
        function.config.stash[GATES],
    )


def _function_id(item: pytest.Item) -> str:
    """The node id without the parameters of one item."""
    spec = getattr(item, "callspec", None)
    return item.nodeid if spec is None else item.nodeid.removesuffix(f"[{spec.id}]")


def cells(items: Sequence[pytest.Item]) -> list[PlannedCell]:
    return [value for value in _params(items, "cell") if isinstance(value, PlannedCell)]


def gates(items: Sequence[pytest.Item]) -> list[PlannedGate]:
    return [value for value in _params(items, "verdict") if isinstance(value, PlannedGate)]


def nowhere(items: Sequence[pytest.Item]) -> dict[str, str]:
    """Why tests run on no system of this session, by their node ids."""
    return {_function_id(item): one.why for item in items for one in _nowhere(item)}


def _nowhere(item: pytest.Item) -> list[Nowhere]:
    spec = getattr(item, "callspec", None)
    return [] if spec is None else [one for one in spec.params.values() if isinstance(one, Nowhere)]


def images(items: Sequence[pytest.Item]) -> tuple[PlannedCell, ...]:
    """The images of their `image` fixtures, without duplicates."""
    planned = [value for value in _params(items, "image") if isinstance(value, PlannedCell)]
    return tuple({cell.cell.row: cell for cell in planned}.values())


def _marks(function: pytest.Item, name: str) -> list[MarkArguments]:
    return [MarkArguments(marker.args, marker.kwargs) for marker in function.iter_markers(name)]


def _mark(mark: pytest.Mark | None) -> MarkArguments | None:
    return None if mark is None else MarkArguments(mark.args, mark.kwargs)


def _parametrize(metafunc: pytest.Metafunc, name: str, request: MarkRequest, state: PytestSession) -> None:
    ground, options = state.ground, state.options
    if why := choice.why_nowhere(request, options):
        nowhere = pytest.param(Nowhere(why), marks=pytest.mark.skip(reason=f"{Word.SKIP}: {why}"))
        metafunc.parametrize(name, [nowhere], ids=["no-system"], indirect=True)
    elif name == "cell":
        cells = planner.with_smt_row(planner.plan_cells(request, options, ground), ground, options)
        metafunc.parametrize("cell", cells, ids=[cell.test_cell.id for cell in cells], indirect=True)
    elif name == "verdict":
        gates = planner.plan_gates(request, options, ground)
        for gate in gates:
            known = every_metric(gate.arm.workload.metrics)
            check(gate.gate, known[gate.gate.metric], catalog.load_policy(options.policy))
        metafunc.parametrize("verdict", gates, ids=[planned_gate.id for planned_gate in gates], indirect=True)
    else:
        systems = choice.systems_of(request, options)
        planned_cells = [planner.plan_cell(request, system, 1, ground, options) for system in systems]
        ids = [cell.test_cell.row for cell in planned_cells]
        metafunc.parametrize("image", planned_cells, ids=ids, indirect=True)


def _params(items: Iterable[pytest.Item], name: str) -> Iterator[object]:
    specs = (getattr(item, "callspec", None) for item in items)
    return (spec.params.get(name) for spec in specs if spec is not None)
