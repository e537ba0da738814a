"""What this host lacks for a build of Linux is named, and what is built has no path of it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from benchgate.base.errors import BuildError
from benchgate.build import toolchain
from benchgate.features.linux_build import host_tools


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHGATE_CACHE", str(tmp_path / "cache"))


def test_a_program_that_is_stripped_is_the_same_in_any_folder(tmp_path: Path) -> None:
    """Debug information has the folder, and the build ID is a digest of that, too."""
    programs = [tmp_path / name / "program" for name in ("one", "another")]
    for program in programs:
        program.parent.mkdir()
        (program.parent / "main.c").write_text("int main(void) { return 0; }\n")
        argv = (*toolchain.compiler().argv, "-g", "-Wl,--build-id", "-o", program.name, "main.c")
        subprocess.run(argv, cwd=program.parent, check=True)
    assert len({program.read_bytes() for program in programs}) == 2
    host_tools.strip(programs, tmp_path, "program", 300.0)
    assert len({program.read_bytes() for program in programs}) == 1
    assert subprocess.run([programs[0]], check=False).returncode == 0


def test_what_this_host_lacks_is_named_by_its_packages() -> None:
    tools, headers = {"sh": "dash"}, {"stdio.h": "libc6-dev"}
    host_tools.require("a build", tools, headers)
    with pytest.raises(BuildError) as caught:
        host_tools.require(
            "a build", {"no-such-tool": "one", **tools}, {"no/such/header.h": "two", **headers}
        )
    assert str(caught.value) == (
        "a build needs what this host does not have; as root: apt-get install one two (elsewhere the "
        "packages that have no/such/header.h)"
    )
