"""The plugin's C has layers: no unit includes one that includes it.

A unit is all files whose names begin alike up to the first `_`, such as clock.h, clock_state.h and
clock_vcpu.c. Only plugin.c and outer.c stand above all: outer.h declares what lower units call, and outer.c
passes it on.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from benchgate.insn.plugin import SOURCE, c_file

TOP = {"plugin.c", "outer.c"}
INCLUDED = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def unit_of(name: str) -> str:
    return "the top" if name in TOP else Path(name).stem.partition("_")[0]


def units(files: Mapping[str, str]) -> dict[str, set[str]]:
    """By unit, the units that it includes."""
    found: dict[str, set[str]] = {}
    for name, text in files.items():
        of = found.setdefault(unit_of(name), set())
        of.update(unit_of(other) for other in INCLUDED.findall(text) if other in files)
    return {unit: others - {unit} for unit, others in found.items()}


def in_circles(includes: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    """What is left when all units that include nothing else are taken away, again and again."""
    left = {unit: set(others) for unit, others in includes.items()}
    while lowest := [unit for unit, others in left.items() if not others & left.keys()]:
        for unit in lowest:
            del left[unit]
    return {unit: sorted(others & left.keys()) for unit, others in left.items()}


def sources() -> dict[str, str]:
    return {path.name: path.read_text() for path in SOURCE.rglob("*") if path.suffix in {".c", ".h"}}


def test_no_unit_includes_one_that_includes_it() -> None:
    files = sources()
    assert len(files) > 100
    assert in_circles(units(files)) == {}


def test_a_circle_is_found() -> None:
    files = sources() | {"clock_time.c": c_file("clock_time.c").read_text() + '#include "threads.h"\n'}
    assert {"clock", "threads"} <= in_circles(units(files)).keys()


def test_nothing_includes_the_top() -> None:
    assert not [unit for unit, others in units(sources()).items() if "the top" in others]
