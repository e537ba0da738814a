"""Dask's reader of pickles, limited to a list of names: bytes from a stranger make no other object here.

Dask sends everything that is not plain data as pickles, and reads them before it looks at what was asked.
Takes pickles; gives what they say if they name only Dask's own form of a task and the functions of ENTRIES.
Fails with UnpicklingError otherwise. dask_private.py puts this reader in the place of Dask's.
"""

from __future__ import annotations

import io
import pickle
import sys
from collections.abc import Iterable
from typing import Any

ENTRIES = (
    ("benchgate.fleet.work", "carry_out"),
    ("benchgate.fleet.work", "put_input"),
    ("benchgate.fleet.work", "tell"),
    ("benchgate.fleet.work", "hold"),
)
"""What a task may call. Each takes bytes, gives bytes, and trusts none of them."""
_TASKS = (
    ("dask._expr", "Expr._reconstruct"),
    ("dask._expr", "LLGExpr"),
    ("dask._task_spec", "Task"),
    ("distributed.client", "SourceCode"),
    ("builtins", "bytes"),  # what each answer is
)
_REPORTS = (
    ("tblib.pickling_support", "unpickle_exception_with_attrs"),
    ("tblib.pickling_support", "unpickle_exception"),
    ("tblib.pickling_support", "unpickle_traceback"),
    *(("tblib", name) for name in ("Traceback", "Frame", "Code")),
)
"""How Dask sends an error with its traceback. They set attributes of what was made from names allowed here,
and run one fixed statement, which raises."""
NAMES = frozenset({*ENTRIES, *_TASKS, *_REPORTS})
_ERRORS = ("builtins", "asyncio.exceptions", "distributed", "dask", "benchgate.base.errors")
"""Dask may send classes of errors from these modules in the place of a result."""


class _LimitedUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in NAMES or _is_error(module, name):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(
            f"a message names {module}.{name}; a fleet of benchgate reads messages about attempts only"
        )


def loads(data: bytes, *, buffers: Iterable[Any] = ()) -> Any:
    """Takes the place of distributed.protocol.pickle.loads."""
    return _LimitedUnpickler(io.BytesIO(data), buffers=buffers).load()


def _is_error(module: str, name: str) -> bool:
    """The error's module is loaded already, so making the error has no other effect."""
    if not any(module == one or module.startswith(f"{one}.") for one in _ERRORS):
        return False
    found = getattr(sys.modules.get(module), name, None)
    return isinstance(found, type) and issubclass(found, BaseException)
