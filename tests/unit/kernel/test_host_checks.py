"""The native checks of tern (schedulers, ring, park, waits, faults, self-tests), sanitized; its build."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

import pytest

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


def segments(image: Path) -> dict[int, bytes]:
    """What an ELF64 loads, by address."""
    data = image.read_bytes()
    (table,), (count,) = struct.unpack_from("<Q", data, 32), struct.unpack_from("<H", data, 56)
    found = {}
    for place in range(table, table + 56 * count, 56):
        kind, _, offset, address, _, size = struct.unpack_from("<IIQQQQ", data, place)
        if kind == 1:
            found[address] = data[offset : offset + size]
    return found


def symbols(image: Path) -> list[tuple[str, str]]:
    """Kind and name, and address."""
    lines = subprocess.run(["nm", str(image)], capture_output=True, text=True, check=True).stdout.splitlines()
    return [(kind_and_name, address) for address, _, kind_and_name in (line.partition(" ") for line in lines)]


MOST_CHANGED = 32
"""Bytes of the distance of one call, and of the addresses in the table of programs."""


@pytest.mark.parametrize("profile", ["debug", "hardened", "balanced", "fast"])
def test_the_kernel_that_waits_is_the_other_one_with_one_call_changed(tmp_path: Path, profile: str) -> None:
    """All code and data are at the same addresses, so a warm start executes what a cold one does."""
    source = data_root() / "guest/workloads/primes/primes.c"
    done = make(tmp_path, f"PROFILE={profile}", "WORKLOAD=primes", f"SOURCE={source}")
    assert done.returncode == 0, done.stderr
    cold, warm = (segments(tmp_path / name) for name in ("tern.elf", "warm.elf"))
    boot, text, constants, values = sorted(cold)
    assert sorted(warm) == sorted(cold)
    assert (warm[boot], warm[values]) == (cold[boot], cold[values])
    changed = [at for at, byte in enumerate(cold[text]) if warm[text][at] != byte]
    assert 0 < len(changed) <= MOST_CHANGED
    was, now = symbols(tmp_path / "tern.elf"), symbols(tmp_path / "warm.elf")
    assert {one for one in was if one[0][0] in "tTdDbB"} <= {*now}
    programs = cold[constants].index(b"\x7fELF")
    assert warm[constants][:programs] == cold[constants][:programs]
    assert b"benchwaits" not in (tmp_path / "tern.elf").read_bytes()
