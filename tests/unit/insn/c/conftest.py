"""The library of lockstep.c, compiled once."""

from __future__ import annotations

import ctypes

import pytest

from tests.unit.insn.c.native import load


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return load(tmp_path_factory.mktemp("lockstep"))
