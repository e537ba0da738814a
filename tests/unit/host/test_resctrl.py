"""What a host counts of caches and memory, on a tree like that of resctrl. No host at hand has one."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from benchgate.host import resctrl
from benchgate.host.resctrl import Group, last_cache_bytes
from tests.unit.conftest import Tree


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "mon_groups").mkdir()
    (tmp_path / "schemata").touch()
    return tmp_path


def group(root: Path, monkeypatch: pytest.MonkeyPatch, **files: tuple[str, ...]) -> Group:
    """The group of a kernel in which a new group has these counters of each cache at once, and goes with all
    files."""

    def make(self: Path) -> None:
        for number in range(2):
            folder = self / "mon_data" / f"mon_L3_0{number}"
            os.makedirs(folder)  # noqa: PTH103 - Path.mkdir is replaced
            for name, values in files.items():
                (folder / name).write_text(f"{values[number]}\n")
        (self / "tasks").touch()

    monkeypatch.setattr(Path, "mkdir", make)
    monkeypatch.setattr(Path, "rmdir", shutil.rmtree)
    return Group("mine", root)


BOTH = {"llc_occupancy": ("1000", "24"), "mbm_total_bytes": ("5", "70")}


def test_counters_are_the_sums_over_all_caches(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = group(root, monkeypatch, **BOTH)
    made.join([11])
    assert (root / "mon_groups" / "mine" / "tasks").read_text() == "11"
    counters = made.read()
    assert (made.why, counters.held_bytes, counters.moved_bytes) == ("", 1024, 75)
    assert counters.time_ns <= made.read().time_ns
    made.close()
    assert list((root / "mon_groups").iterdir()) == []


@pytest.mark.parametrize("word", ["Unavailable", "Error", ""])
def test_a_counter_that_says_nothing_is_none_and_not_less(
    root: Path, monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    counters = group(root, monkeypatch, **{**BOTH, "mbm_total_bytes": ("5", word)}).read()
    assert (counters.held_bytes, counters.moved_bytes) == (1024, None)


def test_a_processor_that_counts_one_of_them(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = group(root, monkeypatch, mbm_total_bytes=("5", "6"))
    assert (made.why, made.read().held_bytes, made.read().moved_bytes) == ("", None, 11)


def test_a_processor_that_counts_nothing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = group(root, monkeypatch)
    assert made.why.startswith("this processor counts neither")
    assert made.read().held_bytes is None


def test_a_host_without_it_says_so(tmp_path: Path) -> None:
    made = Group("mine", tmp_path / "resctrl")
    assert "is not mounted" in made.why
    made.join([1])
    assert (made.read().held_bytes, made.read().moved_bytes) == (None, None)
    made.close()


def test_a_host_that_monitors_nothing_says_so(tmp_path: Path) -> None:
    (tmp_path / "schemata").touch()
    assert Group("mine", tmp_path).why == "this processor monitors nothing: resctrl has no mon_groups"


@pytest.mark.parametrize(
    ("error", "why"),
    [(PermissionError(13, "no"), "only root"), (OSError(28, "No space left on device"), "No space left")],
)
def test_a_group_that_is_refused_has_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: OSError, why: str
) -> None:
    (tmp_path / "schemata").touch()

    def refuse(*_: object) -> None:
        raise error

    monkeypatch.setattr(Path, "mkdir", refuse)
    assert why in Group("mine", tmp_path).why


def test_a_thread_that_ended_is_no_error_and_one_that_is_refused_is(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = group(root, monkeypatch, **BOTH)
    write = Path.write_text

    def kernel(self: Path, text: str) -> int:
        if text == "11":
            raise ProcessLookupError(3, "No such process")
        if text == "13":
            raise PermissionError(13, "Permission denied")
        return write(self, text)

    monkeypatch.setattr(Path, "write_text", kernel)
    made.join([11, 12])
    assert made.why == ""
    made.join([13])
    assert "refuses a thread of the guest" in made.why


def test_each_last_cache_of_the_cpus_counts_once(tree: Tree) -> None:
    def cache(cpu: int, shared: str, size: str) -> dict[str, str]:
        folder = f"{resctrl_cpus}/cpu{cpu}/cache/index3"
        named = {"level": "3", "type": "Unified", "size": size, "shared_cpu_list": shared}
        return {f"{folder}/{name}": value for name, value in named.items()}

    resctrl_cpus = "sys/devices/system/cpu"
    path = tree({**cache(0, "0-1", "16384K"), **cache(1, "0-1", "16384K"), **cache(2, "2", "8M")})
    assert last_cache_bytes((0, 1), path) == 16 << 20
    assert last_cache_bytes((0, 1, 2), path) == 24 << 20
    assert last_cache_bytes((0, 3), path) is None
    assert last_cache_bytes((), path) is None


def test_this_host_has_it_or_says_why() -> None:
    made = Group("benchgate-test")
    made.close()
    assert made.why or made.read()
    assert Path("/sys/fs/resctrl") == resctrl.ROOT
