"""What a build of Linux needs of this host, and how its programs are stripped.

Takes names of programs and headers, or files. Fails with BuildError, which names the packages to install, or
has the lines of strip.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchgate.base.errors import BuildError
from benchgate.base.process import capture
from benchgate.build.toolchain import compiler, environment, run_all

_ASK_S = 30.0


def require(what: str, tools: Mapping[str, str], headers: Mapping[str, str]) -> None:
    """Names the packages of the programs and of the C headers that this host does not have."""
    absent = [header for header in headers if not _has_header(header)]
    lacks = [package for tool, package in tools.items() if shutil.which(tool) is None]
    if lacks := [*lacks, *(headers[header] for header in absent)]:
        elsewhere = f" (elsewhere the packages that have {', '.join(absent)})" if absent else ""
        advice = f"as root: apt-get install {' '.join(lacks)}{elsewhere}"
        raise BuildError(f"{what} needs what this host does not have; {advice}")


def _has_header(name: str) -> bool:
    argv = (*compiler().argv, "-E", "-include", name, "-x", "c", os.devnull)
    return capture(argv, _ASK_S, environment()).returncode == 0


def strip(programs: Sequence[Path], folder: Path, name: str, timeout_s: float) -> None:
    """Leaves what is loaded. Symbols and debug information have paths of the build, and the build ID is a
    digest of them, too."""
    sections = ("-R", ".comment", "-R", ".note.gnu.build-id")
    run_all([("strip", "-s", *sections, *map(str, programs))], folder, name, timeout_s)
