"""Loads an oracle: a Python file beside the workload that computes the right answers independently.

The file defines

    def check(params, reports, result) -> None      # the type `Check` below

It raises VerifyError, with a reason that names the worker, if anything that a run reported is wrong. It
checks each worker's values for its task, that the tasks cover the work exactly, that they have equal cost
where this is required, and the result. answers.py has helpers for these checks.

Takes the file's path; gives the check. Fails with CatalogError if the file is not an oracle.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from benchgate.base.cells import ParamValue
from benchgate.base.errors import CatalogError
from benchgate.base.pyfile import load_module
from benchgate.base.runs import WorkerReport

Check = Callable[[Mapping[str, ParamValue], Sequence[WorkerReport], Mapping[str, int]], None]


def load(path: Path) -> Check:
    check: Check | None = getattr(load_module(path, "oracle"), "check", None)
    if not callable(check):
        raise CatalogError(f"oracle {path} defines no function check(params, reports, result)")
    return check
