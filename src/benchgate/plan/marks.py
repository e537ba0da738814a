"""Reads the `workload`, `speedup`, `gate` and `system` marks of a test.

Takes the marks' arguments, gives a `Request`. Fails with UsageError, which names the mark and the argument,
and with CatalogError if a file that a mark names cannot be loaded. The plugin turns both into a collection
error of the test.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchgate.base.cells import Window
from benchgate.base.errors import UsageError
from benchgate.base.gates import VERIFIED
from benchgate.base.systems import MAX_CPUS
from benchgate.base.text import suggestion
from benchgate.base.tools import UNVERIFIED
from benchgate.plan import catalog
from benchgate.plan.planned import GateRequest, Request
from benchgate.plan.workloadfile import fill

GATE_ARGUMENTS = ("cpus", "at_least", "at_most", "insn", "window", "base")


@dataclass(frozen=True, slots=True)
class Mark:
    """A mark's arguments, independent of pytest's type."""

    args: tuple[object, ...]
    kwargs: Mapping[str, object]


def read(
    workload: Mark | None,
    gates: Mapping[str, Sequence[Mark]],
    systems: Iterable[Mark] = (),
    test: str = "",
) -> Request:
    """`gates`: the test's `speedup` and `gate` marks, by name. `test`: its node id."""
    if workload is None:
        raise UsageError('a test that uses `cell` or `verdict` needs @pytest.mark.workload("primes", ...)')
    if len(workload.args) != 1 or not isinstance(workload.args[0], str):
        raise UsageError(
            'mark workload: expected one name, such as @pytest.mark.workload("primes", hi=3_000_000)'
        )
    name = workload.args[0]
    found = catalog.load_workload(name)
    fill(found, workload.kwargs)
    requests = tuple(_gate(name, mark) for name, marks in gates.items() for mark in marks)
    if found.tool and not found.tool.verifies and any(one.kind != VERIFIED for one in requests):
        raise UsageError(
            f"workload {name} is {UNVERIFIED} (`verified: no` in its YAML), so its figures inform and no gate "
            "may use them: request the fixture `cell` instead of a gate"
        )
    keys = [(one.kind, one.cpus, one.base, one.window) for one in requests]
    if len(set(keys)) != len(keys):
        raise UsageError("two gates of one test have the same kind, cpus, base and window: remove one")
    return Request(
        name,
        dict(workload.kwargs),
        tuple(sorted(requests, key=lambda one: one.cpus)),
        _systems(systems),
        test,
    )


def _systems(marks: Iterable[Mark]) -> tuple[str, ...]:
    words: list[str] = []
    for mark in marks:
        if mark.kwargs or not mark.args or not all(isinstance(word, str) for word in mark.args):
            raise UsageError('mark system: expected names or paths, such as @pytest.mark.system("linux")')
        words.extend(str(word) for word in mark.args)
    return tuple(words)


def _gate(mark: str, given: Mark) -> GateRequest:
    for key in given.kwargs:
        if key not in GATE_ARGUMENTS:
            hint = suggestion(key, GATE_ARGUMENTS, f"it takes {', '.join(GATE_ARGUMENTS)}")
            raise UsageError(f"mark {mark}: no argument `{key}`; {hint}")
    at_least, at_most = (_ratio(mark, given, key) for key in ("at_least", "at_most"))
    kind, file = _kind(given) if mark == "gate" else _speedup_kind(given, at_least, at_most)
    if "cpus" not in given.kwargs:
        raise UsageError(f"mark {mark}: the argument `cpus` is missing")
    cpus, base = _count(mark, given, "cpus"), _base(mark, given)
    if base is not None and cpus <= base:
        raise UsageError(f"mark {mark}: cpus={cpus} is not above base={base}")
    insn = _ratio(mark, given, "insn")
    return GateRequest(kind, file, cpus, base, _window(mark, given), at_least, at_most, insn)


def _speedup_kind(given: Mark, at_least: float | None, at_most: float | None) -> tuple[str, str]:
    if given.args:
        raise UsageError(
            f"mark speedup: use keyword arguments, as in speedup(cpus=2, at_least=1.6), not {given.args[0]!r}"
        )
    if (at_least is None) == (at_most is None):
        raise UsageError("mark speedup: needs either `at_least` or `at_most`")
    return ("speedup" if at_most is None else "control"), ""


def _kind(given: Mark) -> tuple[str, str]:
    """The kind's name, and for a user's own kind the absolute path of its file."""
    if len(given.args) != 1 or not isinstance(given.args[0], str):
        raise UsageError(
            'mark gate: expected one kind or file, such as @pytest.mark.gate("verified", cpus=2)'
        )
    word = given.args[0]
    if not word.endswith(".py"):
        return word, ""
    path = Path(word).absolute()
    return catalog.gate_kind(path), str(path)


def _base(mark: str, given: Mark) -> int | None:
    """The base of a speedup is one CPU by default; other kinds have a base only if the mark names one."""
    if mark == "gate" and given.kwargs.get("base") is None:
        return None
    return _count(mark, given, "base", 1)


def _count(mark: str, given: Mark, key: str, default: int | None = None) -> int:
    value = given.kwargs.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MAX_CPUS:
        raise UsageError(f"mark {mark}: {key}={value!r} is not a CPU count from 1 to {MAX_CPUS}")
    return value


def _ratio(mark: str, given: Mark, key: str) -> float | None:
    value = given.kwargs.get(key)
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value <= MAX_CPUS:
        raise UsageError(f"mark {mark}: {key}={value!r} is not a ratio above 0 and up to {MAX_CPUS}")
    return float(value)


def _window(mark: str, given: Mark) -> Window:
    value = given.kwargs.get("window", Window.WORK)
    if value not in tuple(Window):
        raise UsageError(f"mark {mark}: window={value!r} is not {' or '.join(Window)}")
    return Window(str(value))
