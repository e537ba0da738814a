"""Reads the `workload` and `system` marks of a test, and its marks of gates (ARGUMENTS).

Takes the marks' arguments, gives a `Request`. Fails with UsageError, which names the mark and the argument,
and with CatalogError if a file that a mark names cannot be loaded. The plugin turns both into a collection
error of the test.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchgate.base.baselines import DEFAULT_FILE
from benchgate.base.cells import Params, Window
from benchgate.base.errors import UsageError
from benchgate.base.gates import VERIFIED
from benchgate.base.jsonfields import MOST
from benchgate.base.metrics import WINDOWS, Metric, with_windows
from benchgate.base.systems import MAX_CPUS, SELFTEST
from benchgate.base.text import suggestion
from benchgate.base.workloads import UNVERIFIED, Workload
from benchgate.plan import catalog
from benchgate.plan.planned import GateRequest, Request
from benchgate.plan.workloadfile import fill

_THRESHOLDS = ("at_least", "at_most", "insn")
ARGUMENTS = {
    "speedup": ("cpus", *_THRESHOLDS, "metric", "base"),
    "limit": ("cpus", "metric", *_THRESHOLDS),
    "ratio": ("to", "cpus", "metric", *_THRESHOLDS),
    "regression": ("at_most", "insn", "cpus", "metric", "baseline"),
    "efficiency": ("cpus", *_THRESHOLDS, "metric", "base"),
    "weak": ("cpus", *_THRESHOLDS, "metric", "base", "grows"),
    "overhead": ("cpus", *_THRESHOLDS),
    "scaling": ("model", "cpus", "parameter", *_THRESHOLDS, "metric"),
    "gate": ("cpus", *_THRESHOLDS, "metric", "base"),
}
"""The marks of gates, with their keyword arguments."""
RENAMED = {"compare": "ratio"}
"""Marks of earlier versions, which are refused with the word of today."""
_EXAMPLES = {
    "speedup": "speedup(cpus=2, at_least=1.6)",
    "limit": 'limit(cpus=2, metric="total", at_most=2_000_000)',
    "ratio": 'ratio(to="linux", cpus=2, at_least=1.0)',
    "regression": "regression(at_most=1.02)",
    "efficiency": "efficiency(cpus=4, at_least=0.8)",
    "weak": 'weak(cpus=4, grows="blocks", at_least=0.9)',
    "overhead": "overhead(cpus=4, at_most=1.1)",
    "scaling": 'scaling(model="amdahl", cpus=(1, 2, 4), at_most=0.05)',
}
EACH_COUNT = 0
_SETTINGS = {"scaling": ("model", "parameter"), "weak": ("grows",)}
"""The arguments that only the kind of gate knows, which checks them."""
_FROM_ONE_CPU = ("speedup", "efficiency", "weak")
"""Their base is one CPU by default."""
_OF_SEVERAL_ARMS = ("scaling", "gate")
"""`cpus` may be a list: the first count is the base, the last one the cell."""
MOST_RATIO = 1e6
"""Of a metric that CPUs can improve without a limit, or of two systems."""


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
    machine: Mark | None = None,
) -> Request:
    """`gates`: the test's marks of gates (ARGUMENTS), by name. `test`: its node id. `machine`: the mark
    nearest to the test."""
    if workload is None:
        raise UsageError('a test that uses `cell` or `verdict` needs @pytest.mark.workload("primes", ...)')
    if len(workload.args) != 1 or not isinstance(workload.args[0], str):
        raise UsageError(
            'mark workload: expected one name, such as @pytest.mark.workload("primes", hi=3_000_000)'
        )
    name = workload.args[0]
    found = catalog.load_workload(name)
    fill(found, workload.kwargs)
    known = with_windows(found.metrics)
    if name == SELFTEST:
        known = {**known, **_of_systems(_systems(systems))}
    for mark, now in RENAMED.items():
        if gates.get(mark):
            raise UsageError(f"mark {mark} is now `{now}`, with the same arguments: write that")
    requests = tuple(_gate(mark, one, found.name, known) for mark, marks in gates.items() for one in marks)
    keys = [
        (one.kind, one.cpus, one.base, one.metric, one.to, one.baseline, one.more, one.settings)
        for one in requests
    ]
    _refuse_unverified(found, requests)
    if len(set(keys)) != len(keys):
        raise UsageError("two gates of one test have the same kind, cpus, base and metric: remove one")
    return Request(
        name,
        dict(workload.kwargs),
        tuple(sorted(requests, key=lambda one: one.cpus)),
        _systems(systems),
        test,
        _machine(machine),
    )


def _refuse_unverified(workload: Workload, requests: Sequence[GateRequest]) -> None:
    tool = workload.tool
    if tool and not tool.verifies and any(one.kind != VERIFIED for one in requests):
        raise UsageError(
            f"workload {workload.name} is {UNVERIFIED} (`verified: no` in its YAML), so its figures are for "
            "information and no gate may use them: request the fixture `cell` instead"
        )


def _of_systems(words: Iterable[str]) -> Mapping[str, Metric]:
    """The metrics of the self-tests of these systems."""
    return {name: one for word in words for name, one in catalog.load_system(word).metrics.items()}


def _systems(marks: Iterable[Mark]) -> tuple[str, ...]:
    words: list[str] = []
    for mark in marks:
        if mark.kwargs or not mark.args or not all(isinstance(word, str) for word in mark.args):
            raise UsageError('mark system: expected names or paths, such as @pytest.mark.system("linux")')
        words.extend(str(word) for word in mark.args)
    return tuple(words)


def _machine(mark: Mark | None) -> str:
    if mark is None:
        return ""
    if mark.kwargs or len(mark.args) != 1 or not isinstance(mark.args[0], str):
        raise UsageError('mark machine: expected one name or path, such as @pytest.mark.machine("desktop8")')
    catalog.load_machine(mark.args[0])
    return mark.args[0]


def _gate(mark: str, given: Mark, workload: str, known: Mapping[str, Metric]) -> GateRequest:
    _check_arguments(mark, given)
    metric = _metric(mark, given, workload, known)
    at_least, at_most, insn = (_threshold(mark, given, key, metric) for key in _THRESHOLDS)
    kind, file = _kind(given) if mark == "gate" else _shipped_kind(mark, at_least, at_most)
    base, more, cpus = _counts(mark, given)
    return GateRequest(
        kind,
        file,
        cpus,
        base,
        metric.name,
        at_least,
        at_most,
        insn,
        _to(mark, given),
        more,
        _settings(mark, given),
        _baseline(mark, given),
    )


def _check_arguments(mark: str, given: Mark) -> None:
    takes = ARGUMENTS[mark]
    if given.args and mark != "gate":
        raise UsageError(
            f"mark {mark}: use keyword arguments, as in {_EXAMPLES[mark]}, not {given.args[0]!r}"
        )
    for key, value in given.kwargs.items():
        if key == "window":
            raise UsageError(f"mark {mark}: `window` is now `metric`: write metric={value!r}")
        if key not in takes:
            hint = suggestion(key, takes, f"it takes {', '.join(takes)}")
            raise UsageError(f"mark {mark}: no argument `{key}`; {hint}")
    needs = {
        "limit": ("cpus", "metric"),
        "ratio": ("to", "cpus"),
        "scaling": ("model", "cpus"),
        "regression": ("at_most",),
    }
    needed = needs.get(mark, ("cpus",))
    for key in needed:
        if key not in given.kwargs:
            raise UsageError(f"mark {mark}: the argument `{key}` is missing")


def _shipped_kind(mark: str, at_least: float | None, at_most: float | None) -> tuple[str, str]:
    if (at_least is None) == (at_most is None):
        raise UsageError(f"mark {mark}: needs either `at_least` or `at_most`")
    return ("control" if mark == "speedup" and at_least is None else mark), ""


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
    """A `gate` has a base only if the mark names one."""
    if mark not in _FROM_ONE_CPU and given.kwargs.get("base") is None:
        return None
    return _count(mark, "base", given.kwargs.get("base", 1))


def _counts(mark: str, given: Mark) -> tuple[int | None, tuple[int, ...], int]:
    """The CPU counts of base, further arms and cell. A gate over one arm has no base."""
    value, base = given.kwargs.get("cpus"), _base(mark, given)
    if value is None:  # of a regression: each CPU count that the session measures
        return None, (), EACH_COUNT
    if mark in _OF_SEVERAL_ARMS and isinstance(value, list | tuple):
        counts = tuple(_count(mark, "cpus", one) for one in value)
        if len(counts) < 2 or list(counts) != sorted(set(counts)) or base is not None:
            raise UsageError(
                f"mark {mark}: cpus={value!r} must be two or more CPU counts in ascending order, of which "
                "the first one is the base"
            )
        return counts[0], counts[1:-1], counts[-1]
    cpus = _count(mark, "cpus", value)
    if base is not None and cpus <= base:
        raise UsageError(f"mark {mark}: cpus={cpus} is not above base={base}")
    if mark == "weak" and base is not None and cpus % base:
        raise UsageError(f"mark {mark}: cpus={cpus} is no multiple of base={base}")
    return base, (), cpus


def _settings(mark: str, given: Mark) -> Params:
    """Those that are given, as plain words, because they become part of the gate's id."""
    words = {key: given.kwargs[key] for key in _SETTINGS.get(mark, ()) if key in given.kwargs}
    for key, word in words.items():
        if not isinstance(word, str) or not word.isidentifier():
            raise UsageError(f"mark {mark}: {key}={word!r} is not a word, as in {_EXAMPLES[mark]}")
    return tuple((key, str(word)) for key, word in words.items())


def _count(mark: str, key: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MAX_CPUS:
        raise UsageError(f"mark {mark}: {key}={value!r} is not a CPU count from 1 to {MAX_CPUS}")
    return value


def _threshold(mark: str, given: Mark, key: str, metric: Metric) -> float | None:
    value = given.kwargs.get(key)
    if value is None:
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if mark == "limit":
        if not is_number or not 0 <= value <= MOST:  # type: ignore[operator]
            raise UsageError(f"mark {mark}: {key}={value!r} is not a number from 0 to {MOST:g}")
        return float(value)  # type: ignore[arg-type]
    is_bounded = mark not in ("ratio", "regression", "scaling") and metric.name in WINDOWS
    most = MAX_CPUS if is_bounded else MOST_RATIO
    if not is_number or not 0 < value <= most:  # type: ignore[operator]
        raise UsageError(f"mark {mark}: {key}={value!r} is not a ratio above 0 and up to {most:g}")
    return float(value)  # type: ignore[arg-type]


def _metric(mark: str, given: Mark, workload: str, known: Mapping[str, Metric]) -> Metric:
    value = given.kwargs.get("metric", str(Window.WORK))
    if not isinstance(value, str) or value not in known:
        near = suggestion(value, known) if isinstance(value, str) else ""
        raise UsageError(
            f"mark {mark}: metric={value!r} is not one of the metrics of workload {workload}: "
            f"{', '.join(known)}" + (f"; {near}" if near else "")
        )
    return known[value]


def _to(mark: str, given: Mark) -> str:
    """The system to compare with: its name or path, or the letter of one of --system."""
    value = given.kwargs.get("to", "")
    if mark == "ratio" and (not isinstance(value, str) or not value):
        raise UsageError(f"mark ratio: to={value!r} is not a system's name or path, or a letter such as A")
    return str(value)


def _baseline(mark: str, given: Mark) -> str:
    """The path of the baseline's file; only a regression has one."""
    if mark != "regression":
        return ""
    value = given.kwargs.get("baseline", DEFAULT_FILE)
    if not isinstance(value, str) or not value.endswith(".json") or not value.isprintable():
        raise UsageError(
            f'mark regression: baseline={value!r} is not the path of a file such as "{DEFAULT_FILE}"'
        )
    return value
