"""A pytest that benchgate itself starts, in a process that has not imported benchgate.

Takes the name of a plugin, which is one of our modules, and pytest's words; gives what the plugin answered,
in a file. pytest rewrites the assertions of installed plugins while they are imported: one that was imported
before is a warning, which many projects turn into an error. Fails with UsageError if pytest cannot collect
the tests.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchgate.base.errors import UsageError
from benchgate.base.text import one_line

if TYPE_CHECKING:
    import pytest

_ANSWER = "benchgate_answer"
_QUIET = ("--collect-only", "-q")
_COLLECTED = (0, 5)
"""The exit statuses of pytest with which it has collected: OK, and no test found."""
_LONGEST = 600


def argv(plugin: str, answer: Path, words: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "pytest", "-p", plugin, f"--{_ANSWER.replace('_', '-')}={answer}", *words]


def collected(plugin: str, paths: Sequence[str], words: Sequence[str] = ()) -> bytes:
    """What the plugin says of the tests below these paths. They are imported, not run."""
    with tempfile.TemporaryDirectory(prefix="benchgate-") as folder:
        answer = Path(folder) / "answer"
        done = subprocess.run(
            argv(plugin, answer, [*_QUIET, *words, *paths]),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        if done.returncode not in _COLLECTED or not answer.exists():
            said = one_line(done.stdout.decode("utf-8", "replace")[-_LONGEST:], _LONGEST)
            advice = f"{said}; next: pytest --collect-only {' '.join(paths)}"
            raise UsageError(f"pytest cannot collect {' '.join(paths)} (status {done.returncode}): {advice}")
        return answer.read_bytes()


# ---- in the inner process


def declare(parser: pytest.Parser) -> None:
    about = "the file into which a command of benchgate lets its own pytest write"
    parser.addoption(f"--{_ANSWER.replace('_', '-')}", dest=_ANSWER, metavar="FILE", help=about)


def answer(config: pytest.Config, text: bytes) -> None:
    Path(config.getoption(_ANSWER)).write_bytes(text)


def leave_the_cache(config: pytest.Config) -> None:
    """What a user's own pytest has kept neither selects tests here nor is changed. `-p no:cacheprovider`
    would make ini keys and options of the cache unknown."""
    for name in ("lfplugin", "nfplugin"):
        if config.pluginmanager.has_plugin(name):
            config.pluginmanager.unregister(name=name)
    if (cache := getattr(config, "cache", None)) is not None:
        cache._cachedir = Path(config.getoption(_ANSWER)).with_name("cache")
