"""Writes requirements.lock for `./run setup`: every Python package of the project and its tools, with hashes.

Takes the checkout, asks pip what it would install on each supported Python, writes one file for all of them.
Fails with FetchError, which contains pip's message.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchgate.base.errors import FetchError
from benchgate.build import cache
from benchgate.build.cache_storage import Notice

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
_PIP_S = 900.0
_HEAD = (
    "# What ./run setup installs into .venv: CPython 3.11 to 3.14, x86-64 Linux. Made by `nox -s relock`.\n"
)

Chosen = dict[str, tuple[str, set[str]]]
"""Package name -> its version and the SHA-256 digests of its files."""


def relock(checkout: Path, notice: Notice) -> None:
    wanted = requirements(tomllib.loads((checkout / "pyproject.toml").read_text()))
    chosen: Chosen = {}
    with cache.scratch("pip") as folder:
        for python in PYTHONS:
            notice(f"asking pip what it would install on Python {python} ...")
            merge(chosen, _ask(python, wanted, chosen, folder), python)
    (checkout / "requirements.lock").write_text(write(chosen))
    notice(f"wrote {checkout / 'requirements.lock'}")


def requirements(project: dict[str, Any]) -> list[str]:
    """The requirements of the package, its developers and its build. `pip install -e` needs editables."""
    words = project["project"]
    dev = words["optional-dependencies"]["dev"]
    return sorted({*words["dependencies"], *dev, *project["build-system"]["requires"], "editables>=0.5"})


def merge(chosen: Chosen, report: dict[str, Any], python: str) -> None:
    for item in report["install"]:
        name = re.sub(r"[-_.]+", "-", item["metadata"]["name"]).lower()
        version = item["metadata"]["version"]
        digest = item["download_info"]["archive_info"]["hashes"]["sha256"]
        known, digests = chosen.setdefault(name, (version, set()))
        if known != version:
            raise FetchError(
                f"{name} would be version {known}, but {version} on Python {python}: pin it in pyproject.toml"
            )
        digests.add(digest)


def write(chosen: Chosen) -> str:
    return _HEAD + "".join(_line(name, *chosen[name]) for name in sorted(chosen))


def _line(name: str, version: str, digests: Iterable[str]) -> str:
    return (
        " \\\n".join([f"{name}=={version}", *(f"    --hash=sha256:{digest}" for digest in sorted(digests))])
        + "\n"
    )


def _ask(python: str, wanted: list[str], chosen: Chosen, folder: Path) -> dict[str, Any]:
    constraints = folder / "constraints.txt"
    constraints.write_text("".join(f"{name}=={version}\n" for name, (version, _) in chosen.items()))
    report = folder / f"report-{python}.json"
    argv = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
    argv += ["--only-binary=:all:", f"--python-version={python}", f"--target={folder / 'target'}"]
    argv += [f"--report={report}", f"--constraint={constraints}", *wanted]
    # Wheels from a local folder would have digests that no other host can reproduce.
    environment = {name: value for name, value in os.environ.items() if name != "PIP_FIND_LINKS"}
    try:
        done = subprocess.run(
            argv,
            env=environment,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PIP_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise FetchError(f"pip did not end within {_PIP_S:.0f} s: run this again") from error
    if done.returncode:
        raise FetchError(
            f"pip could not resolve the requirements for Python {python}: {done.stderr.strip()[-500:]}"
        )
    result: dict[str, Any] = json.loads(report.read_text())
    return result
