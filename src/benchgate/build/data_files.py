"""Prepares the files that a workload's program reads while it runs: data, scripts, libraries that it opens.

Takes a workload with `files`; gives them for the archive of a guest, or as a folder for a process on this
host, and their digests. In both places they are executable and below one folder, which the manifest names as
`files`. Fails with BuildError that names the file.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from benchgate.base.errors import BuildError
from benchgate.base.files import file_digest
from benchgate.base.workload.workloads import GUEST_FILES, Workload
from benchgate.build import cache


def for_guest(workload: Workload) -> dict[str, Path]:
    """Maps a place in the archive to its file."""
    return {f"{GUEST_FILES}/{name}": path for name, path in _paths(workload).items()}


def for_process(workload: Workload) -> Path:
    """A folder in the cache that has copies of them, so that an edit does not change a session's runs."""
    paths = _paths(workload)

    def make(files: Path) -> None:
        for name, path in paths.items():
            target = files / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
            target.chmod(0o755)

    folder = cache.entry("data-files", {"format": "1", **_digests(paths)}, make)
    if any(char.isspace() for char in str(folder)):
        raise BuildError(
            f"workload {workload.name} has files, and the cache's path {folder} has a space, which the "
            "manifest cannot carry: set BENCHGATE_CACHE to a path without one"
        )
    return folder


def digest(workload: Workload) -> dict[str, str]:
    """The digest of each file, for a system that has no archive of them."""
    return {f"files:{name}": found for name, found in _digests(_paths(workload)).items()}


def _paths(workload: Workload) -> dict[str, Path]:
    return {name: workload.file.parent / name for name in workload.files}


def _digests(paths: dict[str, Path]) -> dict[str, str]:
    found = {}
    for name, path in paths.items():
        try:
            found[name] = file_digest(path)
        except OSError as error:
            raise BuildError(
                f"{path} cannot be read: {error.strerror}; correct the key `files` of the workload"
            ) from error
    return found
