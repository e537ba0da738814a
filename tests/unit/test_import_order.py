"""Imports go one way: a module imports only what stands above it in ORDER (design.md, section 3)."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

import benchgate

ROOT = Path(benchgate.__file__).parent

# A package stands for all of its modules, but for those that the list names apart: `gates.base` holds the
# words in which a plan speaks of gates, and evidence keeps results.csv, whose format is a renderer.
LIST = """
    errors model files allowance data shelf cache trim toolchain yamlfile plaintext
    host gates.base systems systemfile policies catalog oracle wire stats
    options plan outline marks
    fetch build images insn lanes machine boot choice run together
    selftest verify smoke repeat measure gates decide sweep attribution
    render.escape render.model render.results_csv
    bundle evidence retention provenance render formats report rejudge replay publish
    progress interruptions workshop bench doctor simulation
    flags items pytest_plugin cli
"""
ORDER = LIST.split()


def modules() -> Mapping[str, Path]:
    """Every module by its name below `benchgate`; a package by its folder's name."""
    names = {}
    for path in ROOT.rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return {name: path for name, path in sorted(names.items()) if name}


def imported(source: str, names: Mapping[str, object]) -> Iterator[tuple[int, str]]:
    """Line and name of each of our modules that a source imports, inside functions too."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            whole = [f"{node.module}.{alias.name}" for alias in node.names]
            found = [one if one.removeprefix("benchgate.") in names else str(node.module) for one in whole]
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, "(relative)"
            continue
        else:
            continue
        for one in found:
            if one.startswith("benchgate."):
                yield node.lineno, one.removeprefix("benchgate.")


def place(name: str) -> int:
    """Where the list puts a module: by its own name, or by the nearest package that holds it."""
    word = name
    while word not in ORDER:
        if "." not in word:
            raise LookupError(f"{name} is not in ORDER of {Path(__file__).name}: say where it belongs")
        word = word.rpartition(".")[0]
    return ORDER.index(word)


def wrong_ways(name: str, source: str, names: Mapping[str, object]) -> list[str]:
    own = place(name)
    return [
        f"{name}:{line} imports {other}, which stands below it"
        for line, other in imported(source, names)
        if other == "(relative)" or place(other) > own
    ]


@pytest.mark.parametrize("name", modules())
def test_a_module_imports_only_what_stands_above_it(name: str) -> None:
    assert wrong_ways(name, modules()[name].read_text(encoding="utf-8"), modules()) == []


def test_the_list_names_nothing_twice_and_nothing_that_is_not_there() -> None:
    assert len(set(ORDER)) == len(ORDER)
    assert set(ORDER) <= set(modules())


def test_no_module_comes_back_to_itself() -> None:
    """Inside a package, which has one place in the list, imports form no circle either."""
    names = modules()
    graph = {
        name: {other for _, other in imported(path.read_text(encoding="utf-8"), names)}
        for name, path in names.items()
    }

    @cache
    def reached(name: str, depth: int = len(names)) -> frozenset[str]:
        nexts = graph.get(name, set())
        return frozenset(nexts).union(*(reached(one, depth - 1) for one in nexts if depth))

    assert [name for name in names if name in reached(name)] == []


@pytest.mark.parametrize(
    ("name", "source", "said"),
    [
        ("stats", "from benchgate import plan", "stats:1 imports plan"),
        ("wire", "import benchgate.verify", "wire:1 imports verify"),
        ("plan", "\ndef late():\n    from benchgate.sweep import judge", "plan:3 imports sweep"),
        ("plan", "from benchgate.gates.speedup import rule", r"plan:1 imports gates.speedup"),
        ("machine.qmp", "from benchgate.run import load", "machine.qmp:1 imports run"),
        ("stats", "from .plan import order", "stats:1 imports (relative)"),
    ],
)
def test_an_import_that_goes_up_is_seen(name: str, source: str, said: str) -> None:
    (complaint,) = wrong_ways(name, source, modules())
    assert complaint.startswith(said)


def test_a_new_module_must_be_placed() -> None:
    with pytest.raises(LookupError, match="newcomer is not in ORDER"):
        place("newcomer")
