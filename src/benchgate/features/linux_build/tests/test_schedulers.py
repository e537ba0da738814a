"""What `python -m benchgate.features.linux_build.tools.schedulers` builds for a word, and what it refuses: an
unknown word, a program that has a path, and a host without the headers of a crate. That builds in two folders
are equal is shown in rows/."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from benchgate.base.errors import BuildError
from benchgate.build import toolchain
from benchgate.features.linux_build.tools import schedulers


@pytest.fixture(autouse=True)
def folders(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is built: a folder says what of."""
    monkeypatch.setattr(schedulers, "built", lambda word: Path("/linux", word))
    monkeypatch.setattr(schedulers, "crate", lambda word: Path("/crate", word))


@pytest.mark.parametrize(
    ("words", "folder"),
    [
        ([], "/linux/linux-source-6.12"),
        (["../linux@v6.14"], "/linux/../linux@v6.14"),
        (["scx_rusty"], "/crate/scx_rusty"),
    ],
)
def test_a_word_is_a_source_of_linux_or_a_crate(
    words: list[str], folder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert schedulers.main(words) == 0
    assert capsys.readouterr().out == f"{folder}\n"


def test_a_scheduler_that_is_no_crate_is_refused_with_what_there_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert schedulers.main(["scx_qmap"]) == 4
    said = capsys.readouterr().err
    assert "`scx_qmap` is none of the crates that are built here (scx_bpfland, scx_lavd, scx_rusty)" in said
    assert "built together, from a source such as linux-source-6.12" in said


def test_a_crate_names_the_headers_that_this_host_lacks_before_it_compiles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schedulers, "_HEADERS", {"no/such/header.h": "libelf-dev"})
    with pytest.raises(BuildError, match=r"^scx_rusty needs .*apt-get install libelf-dev \("):
        schedulers.build_crate("scx_rusty", tmp_path)
    assert not list(tmp_path.iterdir())


def test_help_says_what_it_does(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        schedulers.main(["--help"])
    assert ended.value.code == 0
    assert "Builds schedulers in BPF" in capsys.readouterr().out


def test_a_program_that_has_a_path_of_this_host_is_refused(tmp_path: Path) -> None:
    program = tmp_path / "scx_simple"
    program.write_bytes(b"\x7fELF\0/scx/tree/a.c\0")
    schedulers.require_no_path(program, ["/home/me", str(tmp_path)])
    program.write_bytes(b"\x7fELF\0" + str(tmp_path / "tree/a.c").encode() + b"\0rest")
    with pytest.raises(BuildError, match=r"scx_simple has a path of this host.*/tree/a\.c$"):
        schedulers.require_no_path(program, ["/home/me", str(tmp_path)])


ORDERED = """\
#include <stdint.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    (void)argv;
    void *first = malloc(100), *second = malloc(100);
    free(first);
    void *third = malloc(100u - (unsigned)argc);
    return (uintptr_t)first < (uintptr_t)second && (uintptr_t)second < (uintptr_t)third ? 0 : 1;
}
"""
"""glibc gives the third what it had given the first."""


def test_memory_that_is_taken_later_lies_higher(tmp_path: Path) -> None:
    library, source, program = schedulers.rising(tmp_path), tmp_path / "ordered.c", tmp_path / "ordered"
    source.write_text(ORDERED)
    subprocess.run([*toolchain.compiler().argv, "-O0", "-o", program, source], check=True)
    plain = subprocess.run([program], check=False)
    preloaded = subprocess.run([program], check=False, env=os.environ | {"LD_PRELOAD": str(library)})
    assert (plain.returncode, preloaded.returncode) == (1, 0)
