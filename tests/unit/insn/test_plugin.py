"""Which version of the plugin interface the clock asks of a QEMU."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.base.system.qemu import Qemu
from benchgate.insn.plugin import api_of


@pytest.mark.parametrize(
    ("version", "api"),
    [((7, 2, 22), 1), ((9, 0, 4), 2), ((9, 1, 0), 3), ((10, 0, 2), 3), ((11, 0, 3), 3), ((11, 1, 3), 7)],
)
def test_each_qemu_is_asked_for_an_interface_that_it_has(version: tuple[int, int, int], api: int) -> None:
    """QEMU 11.1 refuses a plugin that asks for less than 7, and 11.0 has no 7 (its include/plugins)."""
    assert api_of(Qemu(Path("qemu"), {}, (), version, "digest")) == api
