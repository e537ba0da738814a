"""`extends: linux`: a shipped system with a few keys changed. A session records it as a file of its own."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.errors import CatalogError
from benchgate.base.paths import data_root
from benchgate.base.system.systems import System
from benchgate.evidence import provenance
from benchgate.plan import catalog, systemfile
from benchgate.plan.system_keys import EXTENDED
from benchgate.plan.systemfile import extends

SHIPPED = data_root() / "fixtures" / "systems"
MINE = """\
version: 1
name: mine
extends: linux
qemu: {memory: 1G}
deadlines:
  run_s: 300
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_what_it_does_not_say_is_as_in_the_shipped_system(tmp_path: Path) -> None:
    mine, linux = systemfile.load(written(tmp_path, MINE)), catalog.load_system("linux")
    assert (mine.name, mine.qemu.memory, mine.deadlines.run_s) == ("mine", "1G", 300)
    assert (mine.qemu.machine, mine.deadlines.boot_s) == (linux.qemu.machine, 60)
    assert mine.result.system == "linux"
    assert replace(
        mine, name="linux", file=linux.file, qemu=linux.qemu, result=linux.result, deadlines=linux.deadlines
    ) == replace(linux, settings=mine.settings)


def test_its_settings_and_architectures_are_those_of_the_shipped_system(tmp_path: Path) -> None:
    path = written(tmp_path, MINE)
    mine = catalog.load_system(f"{path}:preempt=full:arch=riscv64")
    assert mine.name == "mine.arch-riscv64.preempt-full" or "preempt=full" in mine.boot.append
    assert "preempt=full" in mine.boot.append
    assert str(mine.arch) == "riscv64"


def test_tern_is_built_from_its_own_folder(tmp_path: Path) -> None:
    mine = systemfile.load(written(tmp_path, "version: 1\nname: mine\nextends: kernel\nqemu: {memory: 1G}\n"))
    tern = catalog.load_system("kernel")
    assert mine.build is not None
    assert tern.build is not None
    assert mine.build.folder.resolve() == tern.build.folder.resolve()
    assert [path.resolve() for path in mine.build.sources] == [path.resolve() for path in tern.build.sources]
    assert mine.result.system == "tern"


@pytest.mark.parametrize("base", EXTENDED)
def test_a_session_records_a_file_that_needs_no_other(tmp_path: Path, base: str) -> None:
    path = written(tmp_path, MINE.replace("extends: linux", f"extends: {base}"))
    text = extends.text_for(path)
    assert "extends" not in text
    assert systemfile.parse(text, path, {}) == systemfile.load(path)
    assert provenance._text(path) == text
    assert extends.text_for(SHIPPED / f"{base}.yaml") == (SHIPPED / f"{base}.yaml").read_text(
        encoding="utf-8"
    )


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("extends: linux", "extends: native", ":3: extends: expected linux or kernel, a shipped system"),
        ("extends: linux", "extends: [linux]", ":3: extends: expected linux or kernel"),
        ("extends: linux", "extends: ./other.yaml", ":3: extends: expected linux or kernel"),
        ("name: mine\n", "", ":2: extends: `name` is missing"),
        ("version: 1\n", "", ":2: extends: `version` is missing"),
        ("memory: 1G", "memry: 1G", ":4: qemu.memry: "),
        ("run_s: 300", "run_s: soon", ":6: deadlines.run_s: "),
    ],
)
def test_a_mistake_is_named_in_the_own_file(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in MINE
    with pytest.raises(CatalogError, match=re.escape(said)):
        systemfile.load(written(tmp_path, MINE.replace(old, new)))


COPY = (SHIPPED / "linux.yaml").read_text(encoding="utf-8").replace("name: linux\n", "name: mine\n", 1)


def test_a_copy_of_linux_says_at_once_what_it_lacks(tmp_path: Path) -> None:
    """Its PID 1 is ours, and says `linux`: each boot would be INVALID."""
    with pytest.raises(
        CatalogError, match=r"result\.system: our own PID 1 .* write `result: \{system: linux\}`"
    ):
        systemfile.load(written(tmp_path, COPY))


def loads(folder: Path, text: str) -> System:
    return systemfile.load(written(folder, text))


def test_a_copy_with_that_key_loads_and_an_old_session_is_read_as_it_was(tmp_path: Path) -> None:
    assert loads(tmp_path, f"{COPY}\nresult: {{system: linux}}\n").name == "mine"
    assert systemfile.parse(COPY, tmp_path / "mine.yaml", {}).name == "mine"
