"""The native checks of tern (schedulers, ring, park, waits, faults, self-tests), sanitized; its build."""

from __future__ import annotations

import subprocess
from pathlib import Path

from benchgate.base.paths import data_root
from tests.machines import PATIENCE_S


def make(out: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", "-s", "-C", str(data_root() / "kernel"), f"OUT={out}", *words],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def test_native_checks_pass(tmp_path: Path) -> None:
    done = make(tmp_path, "host-test")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "29 passed, 0 failed"


def test_an_unknown_profile_is_refused(tmp_path: Path) -> None:
    done = make(tmp_path, "PROFILE=quick")
    assert done.returncode != 0
    assert "PROFILE=quick is not known: debug, hardened, balanced or fast" in done.stderr


def test_the_build_writes_below_out_only(tmp_path: Path) -> None:
    kernel = data_root() / "kernel"
    before = sorted(kernel.rglob("*"))
    assert make(tmp_path, "PROFILE=fast").returncode == 0
    assert (tmp_path / "tern.elf").read_bytes()[:4] == b"\x7fELF"
    assert sorted(kernel.rglob("*")) == before


def test_a_kernel_is_built_around_a_users_own_workload(tmp_path: Path) -> None:
    source = tmp_path / "their folder" / "x.c"
    source.parent.mkdir()
    source.write_text((data_root() / "guest/workloads/primes/primes.c").read_text())
    done = make(tmp_path / "out", "PROFILE=fast", "WORKLOAD=mine", f"SOURCE={source}")
    assert done.returncode == 0, done.stderr
    programs = sorted(path.name for path in (tmp_path / "out" / "programs").iterdir())
    assert programs == ["mine.elf", "selftest.elf"]
    assert b"\0mine\0" in (tmp_path / "out" / "tern.elf").read_bytes()
