from __future__ import annotations

import ctypes

import pytest

from tests.unit.insn.native import as_shipped


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return as_shipped(tmp_path_factory.mktemp("lockstep"))
