"""The program of one step of a bisect: pytest, and in a file how it ended; step.py starts it.

Takes the path of a file to write and the arguments of pytest. Gives a JSON object: pytest's exit status, and
if an error of benchgate ended it the error's class and sentence. All else is in the session's folder.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchgate.base.errors import BenchgateError


class _Watcher:
    """Sees the error because of which benchgate ends pytest."""

    def __init__(self) -> None:
        self.error: BenchgateError | None = None

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        found = excinfo.value.__context__
        if isinstance(found, BenchgateError):
            self.error = found


def main(out: Path, arguments: Sequence[str]) -> int:
    watcher = _Watcher()
    status = int(pytest.main([*arguments], plugins=[watcher]))
    error = watcher.error
    kind, text = ("", "") if error is None else (type(error).__name__, str(error))
    out.write_text(json.dumps({"status": status, "error": kind, "text": text}), encoding="utf-8")
    return status


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
