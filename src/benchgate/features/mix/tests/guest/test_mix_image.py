"""The empty file system: the checker of e2fsprogs finds nothing wrong with it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from benchgate.features.mix.guest import mix_image
from tests import optional


def written(path: Path, size: int) -> Path:
    with path.open("wb") as stream:
        stream.truncate(size)
        for place, piece in mix_image.empty_ext2(size).items():
            stream.seek(place)
            stream.write(piece)
    return path


@optional.needs("e2fsck")
class TestTheChecker:
    @pytest.mark.parametrize("size", [1 << 20, 1 << 24, 1 << 27])
    def test_it_finds_nothing(self, tmp_path: Path, size: int) -> None:
        image = written(tmp_path / "disk", size)
        done = subprocess.run(
            [optional.path("e2fsck"), "-fn", str(image)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout
        assert "10/1024 files" in done.stdout

    def test_it_finds_a_block_too_many(self, tmp_path: Path) -> None:
        """The test above can fail."""
        image = written(tmp_path / "disk", 1 << 24)
        with image.open("r+b") as stream:
            stream.seek(2 * mix_image.BLOCK)
            stream.write(b"\xff" * 100)
        done = subprocess.run(
            [optional.path("e2fsck"), "-fn", str(image)], capture_output=True, text=True, check=False
        )
        assert done.returncode != 0


def test_it_is_the_same_each_time() -> None:
    assert mix_image.empty_ext2(1 << 24) == mix_image.empty_ext2(1 << 24)


@pytest.mark.parametrize("size", [0, 4096, (1 << 24) + 1, (1 << 27) + 4096])
def test_sizes_that_one_group_cannot_hold(size: int) -> None:
    with pytest.raises(ValueError, match="are not 138 to 32768 blocks of 4096"):
        mix_image.empty_ext2(size)
