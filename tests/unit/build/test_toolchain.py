"""A build that fails says why: the first lines of its output, or that a disk is full."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections import namedtuple
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchgate.base.errors import BuildError
from benchgate.build import cache_storage, toolchain

SAYS_FULL = "echo 'write error: No space left on device'; exit 2"
Usage = namedtuple("Usage", "total used free")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BENCHGATE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def build(folder: Path, program: str) -> str:
    with pytest.raises(BuildError) as caught:
        toolchain.run_all([["sh", "-c", program]], folder, "kernel", 300.0)
    return str(caught.value)


def test_a_program_that_says_that_the_disk_is_full(tmp_path: Path) -> None:
    """It may have deleted its files since, so that there is space again. The words need not come first."""
    said = build(tmp_path, f"yes line | head -n 5000; {SAYS_FULL}")
    assert said.startswith("building kernel: `sh` failed with status 2, and the disk of ")
    assert f"{tmp_path} or " in said
    assert "is full: free some space, or set BENCHGATE_CACHE" in said


def test_a_disk_that_is_full_though_the_program_does_not_say_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda place: Usage(1, 1, 0 if place == tmp_path else 10**9))
    assert f"failed with status 1, and the disk of {tmp_path} is full: free" in build(tmp_path, "exit 1")


def test_any_other_failure_is_not_the_disks(tmp_path: Path) -> None:
    said = build(tmp_path, "echo 'main.c:1: error: no'; exit 1")
    assert "full" not in said
    assert "  main.c:1: error: no\n" in said


def test_steps_of_linux_make_are_not_among_the_first_lines(tmp_path: Path) -> None:
    said = build(tmp_path, "echo '  CC      a.o'; echo 'ln -sf ../a b//'; echo 'fair.c:1: error: no'; exit 2")
    assert "status 2:\n  fair.c:1: error: no\n(complete log" in said


CALLS = "for n in $(seq 50); do echo cc -Werror -c $n.c; done"


@pytest.mark.parametrize(
    ("prints", "first"),
    [
        ("echo 'main.c:1: error: no'; echo 'make: *** [a.o] Error 1'", "main.c:1: error: no"),
        ("echo 'a.c:2: fatal error: x.h: No such file'", "a.c:2: fatal error: x.h: No such file"),
        ("echo 'a.o: undefined reference to g'", "a.o: undefined reference to g"),
    ],
)
def test_commands_that_make_prints_do_not_hide_the_error(tmp_path: Path, prints: str, first: str) -> None:
    """A workload that did not compile was told as twelve lines of `cc -std=c11 ...` and nothing else."""
    assert f"status 2:\n  {first}\n" in build(tmp_path, f"{CALLS}; {prints}; exit 2")


def test_what_only_make_calls_an_error_is_shown_with_what_stands_before_it(tmp_path: Path) -> None:
    said = build(tmp_path, f"{CALLS}; echo 'gen: no such table'; echo 'make[1]: *** [t.h] Error 1'; exit 2")
    assert "  gen: no such table\n  make[1]: *** [t.h] Error 1\n(complete log" in said


@pytest.fixture
def tiny(tmp_path: Path) -> Iterator[Path]:
    """A disk of 128 KiB."""
    place = tmp_path / "tiny"
    place.mkdir()
    if (
        os.geteuid()
        or subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(place)], check=False, capture_output=True
        ).returncode
    ):
        pytest.skip("this needs a user who may mount a tmpfs")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_build_on_a_full_disk(tiny: Path) -> None:
    said = build(tiny, "dd if=/dev/zero of=object bs=1k count=999 2>&1 || exit 2")
    assert f"failed with status 2, and the disk of {tiny} is full: free" in said
    assert cache_storage.full_disk(tiny.parent, "") == ""
