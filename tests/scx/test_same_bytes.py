"""Schedulers in BPF are the same bytes in whichever folder they are built, and so are their guests."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from benchgate.build import linux_build
from tools.scx_schedulers import (
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

pytestmark = pytest.mark.scx


def differing(one: Path, other: Path) -> list[str]:
    names = sorted(path.name for path in one.iterdir())
    assert names == sorted(path.name for path in other.iterdir())
    return [name for name in names if (one / name).read_bytes() != (other / name).read_bytes()]


def test_those_of_the_kernel_and_ours_are_equal_in_another_folder(tmp_path: Path) -> None:
    place = tmp_path / "a longer name of a folder".replace(" ", "-")
    place.mkdir()
    kernel = linux_build.build(SOURCE, notice=say).folder / "vmlinux"
    build_for_kernel(SOURCE, kernel, place)
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
