"""Keeps the recorded sessions of tests/golden: `python -m tools.golden [FOLDER ...]`.

Takes folders of finished sessions, packs each as NAME.tar.xz, and writes beside every archive what commands
say of it today; without a folder it writes the texts only. Record in a folder such as /home/user/benchgate:
its paths are in the archive. Fails with OSError if a folder cannot be read.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from benchgate import cli

FOLDER = Path(__file__).parents[1] / "tests" / "golden" / "sessions"
ENDING = ".tar.xz"
COMMANDS = ("rejudge", "threads")
"""Their texts are kept. What `verify` says needs no file: it compares with the reports of the session."""


@dataclass(frozen=True, slots=True)
class Recorded:
    name: str
    folder: Path

    def text(self, command: str) -> str:
        return _file(self.name, command).read_text(encoding="utf-8")


def names() -> list[str]:
    return sorted(path.name.removesuffix(ENDING) for path in FOLDER.glob(f"*{ENDING}"))


def unpacked(name: str, place: Path) -> Recorded:
    with tarfile.open(FOLDER / f"{name}{ENDING}") as archive:
        # As filter="data", which Debian 12's Python does not know.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(place)
    return Recorded(name, place / name)


def commands(folder: Path) -> list[str]:
    """Those that have something to say of a session."""
    return [name for name in COMMANDS if name != "threads" or any(folder.glob("runs/*/threads.txt*"))]


def said(command: str, folder: Path) -> str:
    """What a command prints of a session. Its status is the verdict's, and in the text."""
    text = io.StringIO()
    with contextlib.ExitStack() as stack:  # no path of the place and no width of the terminal is in a text
        stack.enter_context(contextlib.chdir(folder.parent))
        stack.enter_context(mock.patch.dict(os.environ, COLUMNS="100"))
        stack.enter_context(contextlib.redirect_stdout(text))
        stack.enter_context(contextlib.redirect_stderr(text))
        cli.main([command, folder.name])
    return text.getvalue().replace(f"{folder.parent}/", "")


def pack(folder: Path) -> None:
    with tarfile.open(FOLDER / f"{folder.name}{ENDING}", "w:xz", preset=9) as archive:
        archive.add(folder, folder.name)


def write_texts(name: str) -> None:
    with tempfile.TemporaryDirectory() as place:
        recorded = unpacked(name, Path(place))
        for command in commands(recorded.folder):
            _file(name, command).write_text(said(command, recorded.folder), encoding="utf-8")


def _file(name: str, command: str) -> Path:
    return FOLDER / f"{name}.{command}.txt"


def main(words: Sequence[str]) -> int:
    FOLDER.mkdir(exist_ok=True)
    for word in words:
        pack(Path(word))
    for name in names():
        write_texts(name)
        print(name)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
