"""The libraries that a program needs, compared with readelf."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchgate.base.errors import FetchError
from benchgate.build.fetch import elf

SHELL = Path(shutil.which("sh") or "/bin/sh").resolve()


def by_readelf(path: Path) -> set[str]:
    done = subprocess.run(["readelf", "-d", path], capture_output=True, text=True, check=True)
    return set(re.findall(r"\(NEEDED\).*\[(.*)\]", done.stdout))


@pytest.mark.parametrize("program", ["sh", "readelf", "make"])
def test_agrees_with_readelf(program: str) -> None:
    path = Path(shutil.which(program) or program).resolve()
    assert elf.needed(path) == by_readelf(path)
    assert "libc.so.6" in elf.needed(path)


def test_a_script_is_refused(tmp_path: Path) -> None:
    (tmp_path / "script").write_text("#!/bin/sh\n")
    with pytest.raises(FetchError, match="is not a 64-bit ELF file"):
        elf.needed(tmp_path / "script")


@pytest.mark.parametrize("length", [8, 64, 500])
def test_a_truncated_file_is_refused(tmp_path: Path, length: int) -> None:
    (tmp_path / "truncated").write_bytes(SHELL.read_bytes()[:length])
    with pytest.raises(FetchError, match="is a damaged ELF file"):
        elf.needed(tmp_path / "truncated")


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(places=st.lists(st.tuples(st.integers(6, 1500), st.binary(min_size=1, max_size=8)), max_size=6))
def test_any_bytes_give_an_answer_or_a_fetch_error(tmp_path: Path, places: list[tuple[int, bytes]]) -> None:
    content = bytearray(SHELL.read_bytes())
    for at, change in places:
        content[at : at + len(change)] = change
    (tmp_path / "changed").write_bytes(content)
    try:
        elf.needed(tmp_path / "changed")
    except FetchError as error:
        assert "damaged ELF" in str(error)  # noqa: PT017 - it may also succeed


def test_only_x86_64_libraries_are_read_from_ldconfig() -> None:
    text = (
        "2 libs found in cache `/etc/ld.so.cache'\n"
        "\tlibz.so.1 (libc6,x86-64) => /lib/x86_64-linux-gnu/libz.so.1\n"
        "\tliba.so.1 (libc6) => /lib/i386-linux-gnu/liba.so.1\n"
        "\tlibm.so.6 (libc6,x86-64, OS ABI: Linux 3.2.0) => /lib/x86_64-linux-gnu/libm.so.6\n"
    )
    assert elf.parse_present(text) == {"libz.so.1", "libm.so.6"}


def test_this_system_has_a_c_library() -> None:
    assert "libc.so.6" in elf.present()
