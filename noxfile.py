"""Every developer and CI command. `./run SESSION` makes the machine ready and then calls this."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import nox

nox.options.sessions = ["tests"]
nox.options.default_venv_backend = "none"
nox.options.error_on_missing_interpreters = False

HERE = Path(__file__).parent
SUITE = ("tests/smp", "tests/threads")
OWN = ("tests/unit", "tests/plugin", "tests/faults", "tests/line")
"""The tests of benchgate itself; the suite above is what benchgate is for."""


def _module(name: str, *args: str) -> None:
    """Runs a module of the environment that nox itself runs in, whatever PATH says. The exit code is the
    session's own: nox would make 1 of pytest's 5 (nothing was decided) and 75 (only INCONCLUSIVE)."""
    code = subprocess.call([sys.executable, "-m", name, *args], cwd=HERE)
    if code:
        raise SystemExit(code)


def _pytest(*args: str) -> None:
    _module("pytest", *args)


@nox.session
def gate(session: nox.Session) -> None:
    """The 1-to-2 gate: boot, measure, decide, report. `-- --quick` is short and decides nothing."""
    _pytest(*SUITE, "-m", "(smp or threads) and not history and not tern", "-q", *session.posargs)


@nox.session
def tern(session: nox.Session) -> None:
    """Our own kernel beside the Linux guest: the same rows, and those that compare its schedulers."""
    systems = ("--system", "kernel", "--system", "linux")
    _pytest(*SUITE, "-m", "(smp or threads) and not history", "-q", *systems, *session.posargs)


@nox.session
def tests(session: nox.Session) -> None:
    """The project's own test suite; boots real guests: fewer than 60 of Linux, and tern's short ones."""
    named = any(
        Path(word.partition("::")[0]).exists() for word in session.posargs if not word.startswith("-")
    )
    _pytest(*(() if named else OWN), *session.posargs)


@nox.session(name="linux-baseline")
def linux_baseline(session: nox.Session) -> None:
    """Linux guest and native Linux: same workloads, same pins, side by side."""
    systems = ("--system", "linux", "--system", "native")
    _pytest(*SUITE, "-m", "smp or threads", *systems, "--clock", "wall", *session.posargs)


@nox.session
def profiles(session: nox.Session) -> None:
    """What safety costs: tern's build profiles on one row, compared. `-- -k debug` runs one of them."""
    _pytest("tests/profiles", "-m", "profiles", "-q", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Style of Python and C."""
    _module("ruff", "check", ".")
    _module("ruff", "format", "--check", ".")
    sources = sorted(str(p) for root in ("guest", "kernel", "src") for p in (HERE / root).rglob("*.[ch]"))
    if clang_format := next((d for d in os.get_exec_path() if Path(d, "clang-format").is_file()), None):
        session.run(f"{clang_format}/clang-format", "--dry-run", "--Werror", *sources, external=True)
    else:
        session.warn("clang-format is not there: the style of the C was not looked at")


@nox.session
def types(session: nox.Session) -> None:
    """mypy, strict, on src, tests and this file."""
    _module("mypy", *session.posargs)


@nox.session
def soak(session: nox.Session) -> None:
    """Long repeats, for a night and not for CI."""
    _pytest("tests", "-m", "soak", *session.posargs)


@nox.session
def relock(session: nox.Session) -> None:
    """Renews fixtures/*.lock and the Python lock from what the package sources offer today."""
    _module("benchgate.fetch", "relock", *session.posargs)


@nox.session
def simulate(session: nox.Session) -> None:
    """The error rates of the decision rule, simulated with the shipped code (docs/read-a-verdict.md)."""
    _module("benchgate.simulation", *session.posargs)
