"""C files compiled for tests, each once per process: most variants of a program differ in one file.

Takes texts by the names of files; gives paths of objects, or a library or program of them. Fails with
CalledProcessError if the compiler refuses a text.
"""

from __future__ import annotations

import atexit
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from benchgate.build.toolchain import compiler
from tests.machines import PATIENCE_S

FLAGS = ("-std=c11", "-O1", "-fPIC")
Texts = Mapping[str, str]


def linked(made: Path, words: Sequence[str], sources: Texts, headers: Texts) -> Path:
    """`words` are for compiler and linker; the headers stand beside the sources."""
    objects = [_object(tuple(words), *source, tuple(headers.items())) for source in sources.items()]
    run([*words, *map(str, objects), "-o", str(made)])
    return made


def run(words: Sequence[str]) -> None:
    subprocess.run([*compiler().argv, *words], check=True, timeout=PATIENCE_S)


@cache
def _object(words: tuple[str, ...], name: str, text: str, headers: tuple[tuple[str, str], ...]) -> Path:
    folder = Path(tempfile.mkdtemp(dir=scratch()))
    for file, content in ((name, text), *headers):
        (folder / file).write_text(content, encoding="utf-8")
    made = folder / "made.o"
    run([*words, "-c", str(folder / name), "-o", str(made)])
    return made


@cache
def scratch() -> str:
    """A folder for this process, which is removed at its end."""
    folder = tempfile.mkdtemp(prefix="benchgate-objects-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
