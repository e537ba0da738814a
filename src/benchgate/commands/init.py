"""`benchgate init`: a small test file to start from. Never replaces a file.

Takes a folder; writes the file and, if there is none, a .gitignore; prints their paths. UsageError if the
test file exists or one cannot be written.
"""

from __future__ import annotations

import argparse
import contextlib
from pathlib import Path

from benchgate.base.errors import UsageError

TEMPLATE = """\
import pytest

pytestmark = pytest.mark.smp


@pytest.mark.workload("primes")
@pytest.mark.speedup(cpus=2, at_least=1.6, insn=1.9)
def test_scales(verdict):
    verdict.require_pass()
"""
IGNORED = """\
__pycache__/
.pytest_cache/
/reports/runs/
/reports/latest
"""
"""What a session writes; baselines and figures that are kept are files of their own."""


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", nargs="?", default=".", help="where (default: here)")


def run(words: argparse.Namespace) -> int:
    folder = Path(words.folder)
    path = folder / "test_scaling.py"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as stream:
            stream.write(TEMPLATE)
    except FileExistsError as error:
        raise UsageError(f"{error.filename} already exists; it was not changed") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error
    ignored = folder / ".gitignore"
    with contextlib.suppress(FileExistsError), ignored.open("x", encoding="utf-8") as stream:
        stream.write(IGNORED)
        print(f"wrote {ignored}")
    print(f"wrote {path}; run: pytest {path}")
    return 0
