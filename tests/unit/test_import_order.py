"""Imports go one way: a room imports only itself and the rooms before it (ARCHITECTURE.md)."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import benchgate

ROOT = Path(benchgate.__file__).parent
ROOMS = [
    "base",
    "hooks",
    "build",
    "host",
    "plan",
    "insn",
    "run",
    "judge",
    "evidence",
    "render",
    "session",
]
DOORS = ("pytest_plugin", "cli", "commands", "__main__")
"""Modules at the root, which may import every room; `benchgate` itself exports the public names lazily."""
FEATURES = "features"
"""Above the doors: a feature may import every room, and no room imports a feature."""


@cache
def modules() -> Mapping[str, Path]:
    """Every module by its name below `benchgate`; a package has the name of its folder."""
    names = {}
    for path in ROOT.rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if parts[0] != FEATURES or not {"tests", "tools"} & {*parts}:
            names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return {name: path for name, path in sorted(names.items()) if name}


def imported(source: str, names: Mapping[str, object]) -> Iterator[tuple[int, str]]:
    """Line and name of each benchgate module that a source imports, also inside functions."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            result = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            full = [f"{node.module}.{alias.name}" for alias in node.names]
            result = [text if text.removeprefix("benchgate.") in names else str(node.module) for text in full]
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, "(relative)"
            continue
        else:
            continue
        for text in result:
            if text.startswith("benchgate."):
                yield node.lineno, text.removeprefix("benchgate.")


def place(name: str) -> int:
    room = name.partition(".")[0]
    if room in (*DOORS, FEATURES):
        return len(ROOMS) + (room == FEATURES)
    if room not in ROOMS:
        raise LookupError(f"{name} is in none of the rooms {', '.join(ROOMS)}")
    return ROOMS.index(room)


def late_imports(name: str, source: str, names: Mapping[str, object]) -> list[str]:
    return [
        f"{name}:{line} imports {other}, of a later room"
        for line, other in imported(source, names)
        if other == "(relative)" or place(other) > place(name)
    ]


@pytest.mark.parametrize("name", modules())
def test_a_module_imports_only_earlier_rooms(name: str) -> None:
    assert late_imports(name, modules()[name].read_text(encoding="utf-8"), modules()) == []


def test_the_document_lists_the_rooms_in_this_order() -> None:
    text = (ROOT.parents[1] / "ARCHITECTURE.md").read_text(encoding="utf-8")
    section = text.partition("## Rooms")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == ROOMS


def test_every_room_exists() -> None:
    assert {name.partition(".")[0] for name in modules()} == {*ROOMS, *DOORS, FEATURES}


def of_another_feature(name: str, source: str, names: Mapping[str, object]) -> list[str]:
    feature = name.split(".")[1:2]
    others = ((line, other) for line, other in imported(source, names) if place(other) > len(ROOMS))
    return [f"{name}:{line} imports {other}" for line, other in others if other.split(".")[1:2] != feature]


@pytest.mark.parametrize("name", [name for name in modules() if name.startswith(f"{FEATURES}.")])
def test_a_feature_imports_no_other_feature(name: str) -> None:
    assert of_another_feature(name, modules()[name].read_text(encoding="utf-8"), modules()) == []


def test_an_import_of_another_feature_is_found() -> None:
    source = "from benchgate.features.other import thing\nfrom benchgate.features.one import files\n"
    (message,) = of_another_feature("features.one.study", source, modules())
    assert message == "features.one.study:1 imports features.other"


def test_what_the_core_is_told_of_a_feature_costs_nothing() -> None:
    """Each run of pytest, and each usage message, reads the tables of all features."""
    for path in (ROOT / FEATURES).glob("*/feature.py"):
        names = {other for _, other in imported(path.read_text(encoding="utf-8"), modules())}
        assert names <= {"hooks"}, path


def test_there_are_no_import_cycles() -> None:
    """Neither between rooms nor inside one."""
    names = modules()
    graph = {
        name: {other for _, other in imported(path.read_text(encoding="utf-8"), names)}
        for name, path in names.items()
    }
    TopologicalSorter(graph).prepare()  # raises CycleError with the modules of a cycle


@pytest.mark.parametrize(
    ("name", "source", "expected"),
    [
        ("base.statistics.stats", "from benchgate import plan", "base.statistics.stats:1 imports plan"),
        ("judge.wire", "import benchgate.render.view", "judge.wire:1 imports render.view"),
        (
            "plan.seats",
            "\ndef late():\n    from benchgate.session.sweep import judge",
            "plan.seats:3 imports",
        ),
        ("run.qmp", "from benchgate.evidence.files import read_text", "run.qmp:1 imports evidence.files"),
        ("base.statistics.stats", "from .plan import order", "base.statistics.stats:1 imports (relative)"),
        (
            "cli",
            "from benchgate.features.one import command",
            "cli:1 imports features.one, of a later",
        ),
    ],
)
def test_an_import_of_a_later_room_is_found(name: str, source: str, expected: str) -> None:
    (message,) = late_imports(name, source, modules())
    assert message.startswith(expected)


def test_a_module_outside_the_rooms_is_refused() -> None:
    with pytest.raises(LookupError, match="newcomer is in none of the rooms"):
        place("newcomer")


ORACLES = sorted((ROOT.parents[1] / "guest" / "workloads").glob("*/oracle.py"))


def private_imports(source: str) -> list[str]:
    """The modules below `benchgate` that a file imports, which knows the public names only."""
    return [name for _, name in imported(source, modules())]


@pytest.mark.parametrize("path", ORACLES, ids=lambda path: path.parent.name)
def test_an_oracle_imports_public_names_only(path: Path) -> None:
    assert private_imports(path.read_text(encoding="utf-8")) == []


def test_a_private_import_of_an_oracle_is_found() -> None:
    assert private_imports("from benchgate import FOLD\n") == []
    assert private_imports("from benchgate.judge.oracles.answers import FOLD\n") == ["judge.oracles.answers"]
    assert private_imports("from benchgate.judge.oracles import answers\n") == ["judge.oracles.answers"]


def loaded_by(module: str) -> set[str]:
    code = f"import sys, {module}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_rejudge_imports_no_measuring() -> None:
    """rejudge needs neither a console nor a compiler. `measuring` imports both, so this test can fail."""
    measuring = {
        "pexpect",
        "benchgate.run.qmp",
        "benchgate.run.guest",
        "benchgate.build.images",
        "benchgate.host.probe",
    }
    assert loaded_by("benchgate.session.rejudging.rejudge") & measuring == set()
    assert loaded_by("benchgate.session.measuring") >= measuring
