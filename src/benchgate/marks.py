"""Reads the `workload` and `speedup` marks of a test into a plan's `Request`.

Takes the marks' arguments, gives a `Request`. Fails with UsageError that names the mark and the argument;
the plugin turns that into a collection error of the test that carries the mark.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from benchgate import catalog
from benchgate.errors import UsageError
from benchgate.model import Window
from benchgate.plan import Request, Threshold

SPEEDUP_ARGUMENTS = ("cpus", "at_least", "at_most", "insn", "window", "base")


@dataclass(frozen=True, slots=True)
class Mark:
    """A mark's arguments, apart from pytest's own type."""

    args: tuple[object, ...]
    kwargs: Mapping[str, object]


def read(workload: Mark | None, speedups: Iterable[Mark], systems: Iterable[Mark] = ()) -> Request:
    if workload is None:
        raise UsageError('a test of cells or verdicts needs @pytest.mark.workload("primes", ...)')
    if len(workload.args) != 1 or not isinstance(workload.args[0], str):
        raise UsageError(
            'mark workload: expected one name, such as @pytest.mark.workload("primes", hi=3_000_000)'
        )
    name = workload.args[0]
    catalog.fill(catalog.load_workload(name), workload.kwargs)
    thresholds = tuple(_threshold(mark) for mark in speedups)
    named = [(mark.cpus, mark.base, mark.window) for mark in thresholds]
    if len(set(named)) != len(named):
        raise UsageError("mark speedup: two marks of one test have the same cpus, base and window")
    return Request(
        name, dict(workload.kwargs), tuple(sorted(thresholds, key=lambda t: t.cpus)), _systems(systems)
    )


def _systems(marks: Iterable[Mark]) -> tuple[str, ...]:
    words: list[str] = []
    for mark in marks:
        if mark.kwargs or not mark.args or not all(isinstance(word, str) for word in mark.args):
            raise UsageError('mark system: expected names or paths, such as @pytest.mark.system("linux")')
        words.extend(str(word) for word in mark.args)
    return tuple(words)


def _threshold(mark: Mark) -> Threshold:
    if mark.args:
        raise UsageError(
            f"mark speedup: arguments have names: speedup(cpus=2, at_least=1.6), not {mark.args[0]!r}"
        )
    for key in mark.kwargs:
        if key not in SPEEDUP_ARGUMENTS:
            near = difflib.get_close_matches(key, SPEEDUP_ARGUMENTS, n=1)
            hint = f"did you mean `{near[0]}`?" if near else f"it takes {', '.join(SPEEDUP_ARGUMENTS)}"
            raise UsageError(f"mark speedup: no argument `{key}`; {hint}")
    if "cpus" not in mark.kwargs:
        raise UsageError("mark speedup: the argument `cpus` is missing")
    at_least, at_most = _ratio(mark, "at_least"), _ratio(mark, "at_most")
    if (at_least is None) == (at_most is None):
        raise UsageError("mark speedup: needs either `at_least` or `at_most`")
    cpus, base = _count(mark, "cpus", None), _count(mark, "base", 1)
    if cpus <= base:
        raise UsageError(f"mark speedup: cpus={cpus} is not above base={base}")
    return Threshold(cpus, base, _window(mark), at_least, at_most, _ratio(mark, "insn"))


def _count(mark: Mark, key: str, default: int | None) -> int:
    value = mark.kwargs.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= 64:
        raise UsageError(f"mark speedup: {key}={value!r} is not a CPU count from 1 to 64")
    return value


def _ratio(mark: Mark, key: str) -> float | None:
    value = mark.kwargs.get(key)
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value <= 64:
        raise UsageError(f"mark speedup: {key}={value!r} is not a ratio above 0")
    return float(value)


def _window(mark: Mark) -> Window:
    value = mark.kwargs.get("window", Window.WORK)
    if value not in tuple(Window):
        raise UsageError(f"mark speedup: window={value!r} is not {' or '.join(Window)}")
    return Window(str(value))
