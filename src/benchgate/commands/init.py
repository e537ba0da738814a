"""`benchgate init`: a small test file to start from. Never replaces a file.

Takes a folder; writes the file and prints its path. UsageError if it exists or cannot be written.
"""

from __future__ import annotations

import argparse
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
    print(f"wrote {path}; run: pytest {path}")
    return 0
