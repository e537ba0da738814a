"""Kernel benchmarks as gated tests: the public names that tests, oracles, gates and reports may import.

Takes a name and gives the object from the module that defines it; features add some (hooks.Feature.exports).
That module is imported at the first use, so that `import benchgate` itself is cheap. Fails with
AttributeError for any other name.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str
    from benchgate.base.cells import Cell, Lane, ParamValue, Window
    from benchgate.base.errors import BenchgateError, VerifyError
    from benchgate.base.gates import Arm, Gate, GateInput, Policy, Ruling, Verdict, Word
    from benchgate.base.jsonfields import as_json
    from benchgate.base.paths import data_root
    from benchgate.base.runs import OracleRun, WorkerReport
    from benchgate.base.statistics.histogram import Histogram
    from benchgate.base.text import visible
    from benchgate.hooks import GateMark
    from benchgate.judge.gates.wording import verdict
    from benchgate.judge.oracles.answers import (
        FOLD,
        Words,
        add_up,
        after_turns,
        after_turns_from,
        all_in_one,
        equal_cost,
        equal_share,
        equal_width,
        expect,
        expect_histogram,
        expect_inside,
        expect_no_overlap,
        expect_some,
        folded,
        random_numbers,
        ranges,
        summed,
        together,
        total,
        whole,
    )
    from benchgate.render.figures import ArmFigures, ArmSeries, series_of
    from benchgate.render.view import SessionView
    from benchgate.run.guest import RunningGuest
    from benchgate.session.pytest_hooks.results import CellResult, VerdictResult

_NAMES_BY_MODULE = {
    "base.cells": ("Cell", "Lane", "ParamValue", "Window"),
    "base.errors": ("BenchgateError", "VerifyError"),
    "base.gates": ("Arm", "Gate", "GateInput", "Policy", "Ruling", "Verdict", "Word"),
    "base.statistics.histogram": ("Histogram",),
    "base.jsonfields": ("as_json",),
    "base.paths": ("data_root",),
    "base.runs": ("OracleRun", "WorkerReport"),
    "base.text": ("visible",),
    "hooks": ("GateMark",),
    "judge.oracles.answers": (
        "add_up",
        "all_in_one",
        "equal_cost",
        "equal_width",
        "expect",
        "expect_histogram",
        "expect_inside",
        "expect_some",
        "expect_no_overlap",
        "ranges",
        "summed",
        "together",
        "whole",
        "FOLD",
        "Words",
        "after_turns",
        "after_turns_from",
        "equal_share",
        "folded",
        "random_numbers",
        "total",
    ),
    "judge.gates.wording": ("verdict",),
    "render.figures": ("ArmFigures", "ArmSeries", "series_of"),
    "render.view": ("SessionView",),
    "run.guest": ("RunningGuest",),
    "session.pytest_hooks.results": ("CellResult", "VerdictResult"),
}
_MODULE_OF = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names}

__all__ = [
    "FOLD",
    "Arm",
    "ArmFigures",
    "ArmSeries",
    "BenchgateError",
    "Cell",
    "CellResult",
    "Gate",
    "GateInput",
    "GateMark",
    "Histogram",
    "Lane",
    "OracleRun",
    "ParamValue",
    "Policy",
    "Ruling",
    "RunningGuest",
    "SessionView",
    "Verdict",
    "VerdictResult",
    "VerifyError",
    "Window",
    "Word",
    "Words",
    "WorkerReport",
    "__version__",
    "add_up",
    "after_turns",
    "after_turns_from",
    "all_in_one",
    "as_json",
    "data_root",
    "equal_cost",
    "equal_share",
    "equal_width",
    "expect",
    "expect_histogram",
    "expect_inside",
    "expect_no_overlap",
    "expect_some",
    "folded",
    "random_numbers",
    "ranges",
    "series_of",
    "summed",
    "together",
    "total",
    "verdict",
    "visible",
    "whole",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("importlib.metadata").version("pytest-benchgate")
    if name in _MODULE_OF:
        return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    hooks = import_module(f"{__name__}.hooks")
    if not name.startswith("_") and (place := hooks.exports().get(name)):
        return hooks.object_at(place)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
