"""Noise on a nested, very slow host: no row of the baseline is INVALID by it, and a task that takes a CPU in
the guest is still refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from contrib.nested_kvm.inside.kit import ON_KVM, linux, measured, rows
from tests.line.sessions import REPO, run_pytest

ROWS = "(smp or threads) and not history and not tern"
"""The rows of `nox -s linux-baseline`."""


@pytest.mark.parametrize("name", ["primes", "checksum"])
def test_the_baselines_rows_are_not_invalid_by_noise(tmp_path: Path, name: str) -> None:
    suite = REPO / "tests" / ("smp" if name == "primes" else "threads") / f"test_{name}.py"
    systems = ("--system", linux(tmp_path), "--system", "native")
    words = (*ON_KVM, "-m", ROWS, "-k", "right or one", *systems, "--smp=1,2", "--runs=5", "--max-runs=5")
    session = run_pytest(tmp_path, suite, *words)
    print(session.output)
    assert session.code in (0, 75), session.output
    assert {verdict["outcome"] for verdict in session.verdicts} <= {"PASS", "SKIP", "INCONCLUSIVE"}


def test_a_busy_task_in_the_guest_is_refused(tmp_path: Path) -> None:
    rows(tmp_path)
    busy = linux(tmp_path, "bench.busy=1")
    session = measured(tmp_path, "--smp=1", "--runs=1", f"--system={busy}")
    print(session.output)
    assert session.code != 0
    assert not [row for row in session.rows if row["outcome"] == "ok"]
    assert "tasks other than the workers used" in " ".join(session.output.split())
