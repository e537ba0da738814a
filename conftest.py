"""This repository's pytest plugins. Nothing of benchgate is imported, so `-p no:benchgate` works here."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]
TESTS = Path(__file__).parent / "tests"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """`-m smp` imports no module that has no such mark: eleven thousand tests have none. So it is for each
    mark with a folder of tests; tests/conftest.py gives others to modules that do not name them."""
    mark = config.option.markexpr
    if collection_path.suffix != ".py" or not mark.isidentifier() or not (TESTS / mark).is_dir():
        return None
    named = (config.invocation_params.dir / word.partition("::")[0] for word in config.args)
    has_mark = f"mark.{mark}" in collection_path.read_text(encoding="utf-8")
    return None if has_mark or collection_path in named else True
