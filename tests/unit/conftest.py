"""Small /proc and /sys trees, modelled on real hosts. Hypothesis has no deadline: a busy host is slow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import settings

from tests.nativekit import own_cache

__all__ = ["own_cache"]

settings.register_profile("busy-host", deadline=None)
settings.load_profile("busy-host")

Tree = Callable[..., Path]


def topology_files(cores: Mapping[int, str], package: Mapping[int, int] | None = None) -> dict[str, str]:
    """sysfs topology files: for each CPU the list of its core's hyperthreads."""
    files = {}
    for cpu, siblings in cores.items():
        folder = f"sys/devices/system/cpu/cpu{cpu}/topology"
        files[f"{folder}/core_cpus_list"] = siblings
        files[f"{folder}/physical_package_id"] = str((package or {}).get(cpu, 0))
    return files


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """A function that writes files below a new root folder and gives the root."""

    def write(files: Mapping[str, str]) -> Path:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text if text.endswith("\n") else f"{text}\n")
        return tmp_path

    return write


def host_files(online: str, cores: Mapping[int, str], **more: str) -> dict[str, str]:
    """A complete host: bare metal, nothing isolated, all CPUs present, unless `more` changes that."""
    files = {
        "sys/devices/system/cpu/online": online,
        "sys/devices/system/cpu/present": more.pop("present", online),
        "sys/devices/system/cpu/isolated": more.pop("isolated", ""),
        "sys/devices/system/cpu/nohz_full": more.pop("nohz_full", "(null)"),
        "proc/cmdline": more.pop("cmdline", "root=/dev/sda1 quiet"),
        "proc/cpuinfo": f"processor\t: 0\nflags\t\t: fpu sse2 {more.pop('flags', '')}",
        "proc/1/status": f"Name:\tsystemd\nCpus_allowed_list:\t{more.pop('manager', online)}",
        "proc/self/cgroup": more.pop("cgroup", "0::/user.slice"),
    }
    assert not more, f"unknown: {more}"
    return files | topology_files(cores)
