"""A user's Linux image becomes a copy of the built-in system."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.arch import ARCHITECTURES
from benchgate.base.paths import data_root
from benchgate.plan import systemfile
from benchgate.session.first_contact.linux import linux_text

BUILT_IN = data_root() / "fixtures" / "systems" / "linux.yaml"


@pytest.mark.parametrize("arch", ARCHITECTURES.values(), ids=str)
def test_only_its_image_and_its_name_differ(arch: object) -> None:
    text = linux_text(BUILT_IN.read_text(), "rt", "it's/bzImage", arch)  # type: ignore[arg-type]
    found = systemfile.parse(text, Path("/bench/rt.yaml"), {})
    model = systemfile.load(BUILT_IN, {"arch": str(arch)})
    assert (found.name, found.boot.kernel, found.arch, found.result.system) == (
        "rt",
        "it's/bzImage",
        arch,
        "linux",
    )
    same = replace(found, name=model.name, file=model.file, about=model.about, boot=model.boot)
    assert replace(same, result=model.result, settings=model.settings) == model
    assert replace(found.boot, kernel=model.boot.kernel) == model.boot
