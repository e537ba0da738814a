"""The right answers, computed apart from the code that is timed: one module per workload.

A module of this package is an oracle; its name is what a workload's YAML says under `oracle`. A workload of
a user's own names the path of a Python file instead. Each defines

    def check(params, reports, result) -> None      # the type `Check` below

which raises VerifyError with the reason, naming the worker, where anything a run reported is not right: each
worker's values for its own task, that the tasks together are the whole work and no more, that they are of
equal cost where they must be, and the result.

Takes a name or a path, gives the check. Fails with CatalogError where there is no such oracle. The helpers
below are for the modules.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchgate.errors import CatalogError, VerifyError
from benchgate.model import ParamValue, WorkerReport

Check = Callable[[Mapping[str, ParamValue], Sequence[WorkerReport], Mapping[str, int]], None]

BALANCE = 0.02
"""How far a worker's share of an equal-cost split may be from the mean."""


def names() -> tuple[str, ...]:
    return tuple(sorted(module.name for module in pkgutil.iter_modules(__path__)))


def load(oracle: str, beside: Path | None = None) -> Check:
    """The check of an oracle: one of `names()`, or a .py file, relative to the folder `beside`."""
    if oracle.endswith(".py"):
        module = _from_file((beside or Path()) / oracle)
    elif oracle in names():
        module = importlib.import_module(f"{__name__}.{oracle}")
    else:
        known = ", ".join(names())
        raise CatalogError(
            f"there is no oracle `{oracle}`; there are {known}, or give the path of a .py file"
        )
    check = getattr(module, "check", None)
    if not callable(check):
        raise CatalogError(f"oracle `{oracle}` defines no function check(params, reports, result)")
    found: Check = check
    return found


def _from_file(path: Path) -> Any:
    if not path.is_file():
        raise CatalogError(f"there is no oracle file {path}")
    spec = importlib.util.spec_from_file_location(f"benchgate_oracle_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # whatever a user's program can do wrong
        raise CatalogError(f"oracle file {path} cannot be loaded: {type(error).__name__}: {error}") from error
    return module


# ---- for the modules


def whole(params: Mapping[str, ParamValue], key: str) -> int:
    value = params[key]
    if not isinstance(value, int):
        raise VerifyError(f"parameter {key}={value} is not a number")
    return value


def expect(who: str, reported: Mapping[str, int], right: Mapping[str, int]) -> None:
    """Exactly these values and no others. `who` is the subject of the reason: `worker 1`, `the result`."""
    if set(reported) != set(right):
        raise VerifyError(f"{who} reported {sorted(reported)}, but its workload has {sorted(right)}")
    for key, value in right.items():
        if reported[key] != value:
            raise VerifyError(f"wrong answer: {who} reported {key}={reported[key]}, right is {key}={value}")


def ranges(reports: Sequence[WorkerReport], first: int, end: int) -> list[tuple[int, int]]:
    """Each worker's task `lo`, `hi` (hi not in it), if they follow each other from first to end."""
    found = []
    at = first
    for report in reports:
        values = report.values
        if "lo" not in values or "hi" not in values:
            raise VerifyError(f"worker {report.id} did not report its range")
        lo, hi = values["lo"], values["hi"]
        if lo != at or not lo <= hi <= end:
            raise VerifyError(
                f"wrong task: worker {report.id} had {lo}..{hi} where its range starts at {at} within ..{end}"
            )
        found.append((lo, hi))
        at = hi
    if at != end:
        raise VerifyError(f"wrong task: the workers' ranges end at {at}, the work ends at {end}")
    return found


def all_in_one(reports: Sequence[WorkerReport]) -> None:
    """The first worker had all of the work, as `split=one` wants it."""
    for report in reports[1:]:
        lo, hi = report.values["lo"], report.values["hi"]
        if lo != hi:
            raise VerifyError(
                f"wrong split: worker {report.id} had {lo}..{hi} where the first one has all of the work"
            )


def equal_width(reports: Sequence[WorkerReport], first: int, end: int) -> None:
    """Every worker had as many items as the others, but for one."""
    width = (end - first) / len(reports)
    for report in reports:
        had = report.values["hi"] - report.values["lo"]
        if abs(had - width) >= 1:
            raise VerifyError(f"wrong split: worker {report.id} had {had} items where each has {width:.1f}")


def equal_cost(reports: Sequence[WorkerReport], key: str, grain: int) -> None:
    """Every worker's `key` is within BALANCE of the mean, or within one item of cost `grain`."""
    mean = sum(report.values[key] for report in reports) / len(reports)
    allowed = max(BALANCE * mean, grain)
    for report in reports:
        if abs(report.values[key] - mean) > allowed:
            raise VerifyError(
                f"unequal split: worker {report.id} had {key}={report.values[key]}, more than "
                f"{BALANCE:.0%} from the mean {mean:.0f}"
            )
