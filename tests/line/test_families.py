"""`pytest -m smp` at the top of the repository finds the gates of that family and nothing else."""

from __future__ import annotations

import pytest

from tests.forked import pytest_in
from tests.line.sessions import REPO


@pytest.mark.parametrize("family", ["smp", "threads"])
def test_a_family_is_found_from_the_top(family: str) -> None:
    status, said = pytest_in(REPO, ["-m", family, "--collect-only", "-q", "-p", "no:cacheprovider"], 600.0)
    tests = [line for line in said.splitlines() if "::" in line]
    assert status == 0, said
    assert tests
    assert [line for line in tests if not line.startswith(f"tests/{family}/")] == []


def test_a_mark_that_only_a_conftest_gives_is_found() -> None:
    words = ["-m", "alone", "tests/faults", "--collect-only", "-q", "-p", "no:cacheprovider"]
    status, said = pytest_in(REPO, words, 600.0)
    assert status == 0, said
    assert "tests/faults/test_host_lock.py::" in said
