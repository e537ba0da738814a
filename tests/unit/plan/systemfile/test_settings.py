"""Settings that are files and git revisions: what they replace, and what they add to the name."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.base.errors import CatalogError, UsageError
from benchgate.plan import systemfile

YAML = """\
version: 1
name: mine
kind: qemu
settings:
  kernel: {file: build/mine.elf}
  initrd: {file: ""}
  table: {file: small.txt}
  rev: {revision: worktree}
  mode: {default: slow, choices: [slow, fast]}
build: {commands: [[make, "TABLE={table}", "{rev}"]]}
boot: {kernel: "{kernel}", initrd: "{initrd}", append: "mode={mode}"}
"""
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def test_defaults_change_no_name(tmp_path: Path) -> None:
    found = systemfile.parse(YAML, tmp_path / "mine.yaml", {})
    assert (found.name, found.boot.kernel, found.boot.initrd) == ("mine", "build/mine.elf", "")
    assert found.build is not None
    assert (found.build.revision, found.build.files) == ("", ())


def test_a_file_is_named_by_its_base_name_and_a_commit_by_its_first_digits(tmp_path: Path) -> None:
    chosen = {"kernel": "/a b/bz Image!", "rev": COMMIT, "mode": "fast"}
    found = systemfile.parse(YAML, tmp_path / "mine.yaml", chosen)
    assert found.name == "mine.kernel-bz_Image_.rev-0123456789.mode-fast"
    assert (found.boot.kernel, found.boot.append) == ("/a b/bz Image!", "mode=fast")
    assert found.build is not None
    assert found.build.revision == COMMIT
    assert found.build.commands == (("make", "TABLE=small.txt", COMMIT),)
    other = systemfile.parse(YAML, tmp_path / "mine.yaml", {"table": "/t/big.txt"}).build
    assert other is not None
    assert (other.commands, other.files) == (
        (("make", "TABLE=/t/big.txt", "worktree"),),
        (Path("/t/big.txt"),),
    )


def test_a_long_name_is_cut(tmp_path: Path) -> None:
    found = systemfile.parse(YAML, tmp_path / "mine.yaml", {"kernel": "/" + "k" * 200})
    assert found.name == "mine.kernel-" + "k" * 24


def test_only_a_kernel_in_the_place_of_the_fetched_one_is_linux(tmp_path: Path) -> None:
    text = YAML.replace("build/mine.elf", "fetch:linux")
    for chosen in ({}, {"kernel": "/k/bzImage"}):
        assert systemfile.parse(text, tmp_path / "mine.yaml", chosen).boot.is_linux
        assert not systemfile.parse(YAML, tmp_path / "mine.yaml", chosen).boot.is_linux


@pytest.mark.parametrize("word", ["--upload-pack=x", "a b", "HEAD;ls", "$(ls)", "a" * 300, "\nHEAD"])
def test_a_word_that_is_no_revision_is_refused(word: str) -> None:
    with pytest.raises(UsageError, match=r"setting rev: .* is not a git revision such as HEAD~1"):
        systemfile.parse(YAML, Path("mine.yaml"), {"rev": word})


def test_a_path_with_control_characters_is_refused() -> None:
    with pytest.raises(UsageError, match=r"setting kernel: .* is not the path of a file"):
        systemfile.parse(YAML, Path("mine.yaml"), {"kernel": "a\x1b[2Jb"})


def test_a_revision_needs_a_build_and_is_only_one() -> None:
    two = YAML.replace("  rev:", "  old: {revision: HEAD}\n  rev:")
    without = "\n".join(line for line in YAML.splitlines() if not line.startswith("build"))
    for text in (two, without):
        with pytest.raises(CatalogError, match="is for a system with `build`, and only once"):
            systemfile.parse(text, Path("mine.yaml"), {})


def test_what_builds_a_kernel_for_mixes(tmp_path: Path) -> None:
    both = YAML.replace("build: {", 'build: {part: [[cc, "{source}", "{mode}"]], mix: [[ld, "{mode}"]], ')
    found = systemfile.parse(both, tmp_path / "mine.yaml", {"mode": "fast"}).build
    assert found is not None
    assert (found.part, found.mix) == ((("cc", "{source}", "fast"),), (("ld", "fast"),))
    one = YAML.replace("build: {", "build: {mix: [[ld]], ")
    with pytest.raises(CatalogError, match=r"build\.mix: a mix needs both: `part` for each program"):
        systemfile.parse(one, tmp_path / "mine.yaml", {})
