"""Pickles of a stranger make nothing but Dask's tasks, our two functions and errors."""

from __future__ import annotations

import os
import pickle
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from benchgate.base.errors import RefusedError
from benchgate.fleet.unpickling import ENTRIES, NAMES, loads


class Calls:
    """Pickles as a call of a function."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self.call = function, arguments

    def __reduce__(self) -> tuple[Any, ...]:
        return self.call


@pytest.mark.parametrize(
    "hostile",
    [
        Calls(os.system, "true"),
        Calls(eval, "1"),
        Calls(exec, ""),
        Calls(getattr, "", "format"),
        Calls(subprocess.run, ["true"]),
        Calls(__import__, "antigravity"),
        Calls(pickle.loads, b""),
        Calls(Calls, print),
        open,
        type,
    ],
)
def test_a_function_of_a_stranger_is_not_called(hostile: Any) -> None:
    data = pickle.dumps(hostile)
    with pytest.raises(
        pickle.UnpicklingError, match="a fleet of benchgate reads messages about attempts only"
    ):
        loads(data)


def test_an_attribute_of_an_allowed_class_is_not_reached() -> None:
    data = b"\x80\x04\x8c\x0fdask._task_spec\x8c\x14Task.__init__.__self\x93."
    with pytest.raises(pickle.UnpicklingError):
        loads(data)


def test_a_module_is_not_imported_for_its_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(pickle.UnpicklingError, match=r"dask.no_such.Error"):
        loads(b"\x80\x04\x8c\x0cdask.no_such\x8c\x05Error\x93.")


@pytest.mark.parametrize(
    "plain", [b"abc", {"a": (1, 2.5, None)}, [True, "x"], RuntimeError("why"), KeyError(1)]
)
def test_plain_data_and_errors_are_read(plain: Any) -> None:
    assert repr(loads(pickle.dumps(plain))) == repr(plain)


def test_our_own_errors_are_read() -> None:
    found = loads(pickle.dumps(RefusedError("not allowed")))
    assert isinstance(found, RefusedError)


def test_out_of_band_buffers_are_read() -> None:
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(pickle.PickleBuffer(b"abc"), protocol=5, buffer_callback=buffers.append)
    assert bytes(loads(data, buffers=buffers)) == b"abc"


def test_a_task_of_dask_with_our_function_is_read() -> None:
    spec = pytest.importorskip("dask._task_spec")
    from benchgate.fleet import work

    found = loads(pickle.dumps(spec.Task("key", work.carry_out, b"task")))
    assert found.func is work.carry_out
    assert found.args == (b"task",)


def test_a_task_of_dask_with_another_function_is_not() -> None:
    spec = pytest.importorskip("dask._task_spec")
    with pytest.raises(pickle.UnpicklingError, match=r"posix.system|nt.system"):
        loads(pickle.dumps(spec.Task("key", os.system, "true")))


def test_each_entry_is_a_function_of_ours() -> None:
    assert {module for module, _ in ENTRIES} == {"benchgate.fleet.work"}
    of_others = {module.partition(".")[0] for module, _ in NAMES - {("builtins", "bytes")}}
    assert of_others == {"benchgate", "dask", "distributed", "tblib"}
