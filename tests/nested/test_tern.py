"""tern and Linux under the nested machine's KVM."""

from __future__ import annotations

from pathlib import Path

from tests.line.sessions import run_pytest


def test_placeholder(tmp_path: Path) -> None:
    done = run_pytest(
        Path.cwd(),
        "tests/smp",
        "-k",
        "right",
        "-q",
        "--runs",
        "1",
        "--accel",
        "kvm",
        "--clock",
        "wall",
        "--smp",
        "1,2,4",
        "--system",
        "kernel",
        "--set",
        "primes.hi=1000000",
        f"--reports={tmp_path}/reports",
    )
    print(done.output)
    assert done.code == 5, done.output
