"""Schedulers in BPF and kernels are the same bytes in any folder, and so are their guests."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from benchgate.features.linux_build import kernel
from benchgate.features.linux_build.tools.schedulers import (
    CRATES,
    FAULTY,
    SCHEDULERS,
    SOURCE,
    build_crate,
    build_for_kernel,
    built,
    crate,
    say,
)
from tests.machines import wait_until

pytestmark = pytest.mark.scx


def differing(one: Path, other: Path) -> list[str]:
    names = sorted(path.name for path in one.iterdir())
    assert names == sorted(path.name for path in other.iterdir())
    return [name for name in names if (one / name).read_bytes() != (other / name).read_bytes()]


def test_those_of_the_kernel_and_ours_are_equal_in_another_folder(tmp_path: Path) -> None:
    place = tmp_path / "a longer name of a folder".replace(" ", "-")
    place.mkdir()
    vmlinux = kernel.build(SOURCE, notice=say).folder / "vmlinux"
    build_for_kernel(SOURCE, vmlinux, place)
    assert differing(built(), place / "bin") == []
    assert {path.name for path in (place / "bin").iterdir()} == {*SCHEDULERS, FAULTY}


@pytest.mark.long
@pytest.mark.skipif(
    shutil.which("cargo") is None, reason="cargo, which builds schedulers in Rust, is missing"
)
@pytest.mark.parametrize("name", CRATES)
def test_those_in_rust_are_equal_in_another_folder(tmp_path: Path, name: str) -> None:
    build_crate(name, tmp_path)
    assert differing(crate(name), tmp_path / "bin") == []


def building(cache: Path, out: Path) -> subprocess.Popen[str]:
    """A build of the kernel in a cache of its own, so in another folder."""
    words = (sys.executable, "-m", "benchgate", "build-linux", SOURCE, "--out", str(out))
    return subprocess.Popen(words, env=os.environ | {"BENCHGATE_CACHE": str(cache)}, text=True)


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_kernel_whose_build_was_ended_half_way_has_the_bytes_of_a_whole_one(
    tmp_path: Path, number: signal.Signals
) -> None:
    """make goes on to `mm` after `arch` and `kernel`, and before file systems, drivers and the network."""
    cache, out = tmp_path / "cache", tmp_path / "out"
    half = building(cache, out)
    assert wait_until(lambda: half.poll() is not None or any(cache.glob(MIDDLE)), WHOLE_S)
    half.send_signal(number)
    assert half.wait(WHOLE_S) == (130 if number == signal.SIGINT else -number)
    assert (list(cache.glob(LAST)), out.exists()) == ([], False)
    assert building(cache, out).wait(WHOLE_S) == 0
    assert differing(kernel.build(SOURCE, notice=say).folder, out) == []


MIDDLE, LAST = (f"linux-work/*/tree/{name}" for name in ("mm/*.o", "vmlinux.o"))
WHOLE_S = 7200.0
