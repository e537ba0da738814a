"""Finds what makes the kernel of a system whose `boot` has a `source`: a feature does (hooks.py).

Takes the system; gives a function that makes its LinuxKernel. Fails with BuildError if no feature does.
"""

from __future__ import annotations

from collections.abc import Callable

from benchgate import hooks
from benchgate.base.errors import BuildError
from benchgate.base.system.systems import System
from benchgate.build.fetch.inputs import LinuxKernel

KEY = "source"


def maker_of(system: System) -> Callable[..., LinuxKernel]:
    make = hooks.kernel_maker(KEY)
    if make is None:
        raise BuildError(
            f"{system.file}: boot.{KEY}: the kernel is made of {system.boot.source}, and this benchgate has "
            "no feature that does that: install it, or choose a kernel that is a file (`boot.kernel`)"
        )
    return make
