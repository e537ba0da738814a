"""requirements.lock: one version of each package for all Pythons, and every requirement of pyproject.toml."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from benchgate.base.errors import FetchError
from tools import python_lock

ROOT = Path(__file__).parents[3]


def report(*items: tuple[str, str, str]) -> dict[str, Any]:
    return {
        "install": [
            {
                "metadata": {"name": name, "version": version},
                "download_info": {"archive_info": {"hashes": {"sha256": digest}}},
            }
            for name, version, digest in items
        ]
    }


def test_digests_of_all_pythons_are_listed_under_one_version() -> None:
    chosen: python_lock.Chosen = {}
    python_lock.merge(chosen, report(("numpy", "2.0", "b"), ("Qemu.QMP", "0.1", "c")), "3.11")
    python_lock.merge(chosen, report(("numpy", "2.0", "a")), "3.12")
    assert python_lock.write(chosen).splitlines()[1:] == [
        "numpy==2.0 \\",
        "    --hash=sha256:a \\",
        "    --hash=sha256:b",
        "qemu-qmp==0.1 \\",
        "    --hash=sha256:c",
    ]


def test_two_versions_of_one_package_are_refused() -> None:
    chosen: python_lock.Chosen = {}
    python_lock.merge(chosen, report(("numpy", "2.0", "a")), "3.11")
    with pytest.raises(FetchError, match=r"numpy would be version 2\.0, but 2\.1 on Python 3\.12"):
        python_lock.merge(chosen, report(("numpy", "2.1", "b")), "3.12")


def test_the_shipped_lock_has_every_direct_requirement_and_names_no_host() -> None:
    text = (ROOT / "requirements.lock").read_text()
    assert "://" not in text
    locked = set(re.findall(r"^([a-z0-9-]+)==", text, flags=re.MULTILINE))
    wanted = python_lock.requirements(tomllib.loads((ROOT / "pyproject.toml").read_text()))
    names = {re.sub(r"[-_.]+", "-", re.split(r"[<>=!~ ;\[]", word)[0]).lower() for word in wanted}
    assert {"numpy", "pytest", "nox", "hatchling", "editables"} <= names
    assert names - locked == set()
