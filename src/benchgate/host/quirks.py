"""What an old QEMU gets wrong, so that no guest meets it. Pure.

Takes what `-cpu` is to say, the accelerator and QEMU's version; gives what to say instead. Does not fail.

QEMU before 8.0 emulates `cmpxchg16b` from flags that it has not brought up to date (`gen_helper_cmpxchg16b`
is called without `gen_update_cc_op`), so EFLAGS may hold garbage after one, its trap flag too. Linux's
allocator uses that instruction all the time: of 216 boots of Linux 6.12 on QEMU 7.2.22 at 2 CPUs eight
panicked, in the allocator or by a debug trap; without it none of 180. A kernel that is not told of it does
without.
"""

from __future__ import annotations

from benchgate.model import Accel

_DEFAULT_MODEL = "qemu64"
_FIXED_IN = (8, 0, 0)


def cpu_words(model: str, accel: Accel, version: tuple[int, int, int]) -> str:
    """A model that speaks of cx16 itself is left alone."""
    if accel is not Accel.TCG or version >= _FIXED_IN or "cx16" in model:
        return model
    return f"{model or _DEFAULT_MODEL},-cx16"
