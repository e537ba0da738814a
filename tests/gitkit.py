"""Small git repositories for tests: commits of files, made without the user's configuration."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests import optional
from tests.machines import PATIENCE_S

_ENVIRONMENT = {
    "PATH": os.environ.get("PATH", os.defpath),
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    **{f"GIT_{who}_{what}": word for who in ("AUTHOR", "COMMITTER")
       for what, word in (("NAME", "Test"), ("EMAIL", "test@example.org"), ("DATE", "2026-01-02T03:04:05Z"))},
}  # fmt: skip


@dataclass(frozen=True)
class Repo:
    """A new repository in an empty folder."""

    folder: Path

    @classmethod
    def new(cls, folder: Path) -> Repo:
        folder.mkdir(parents=True)
        repo = cls(folder)
        repo.git("init", "--quiet", "--initial-branch=main")
        return repo

    def git(self, *words: str) -> str:
        command = [optional.path("git"), "-C", str(self.folder), *words]
        done = subprocess.run(
            command, env=_ENVIRONMENT, check=True, capture_output=True, timeout=PATIENCE_S, text=True
        )
        return done.stdout.strip()

    def commit(self, message: str, files: Mapping[str, str]) -> str:
        """Writes the files and commits everything; gives the commit."""
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        return self.git("rev-parse", "HEAD")

    @property
    def state(self) -> tuple[str, str, str]:
        """Everything of the user's that a reader must not change: branches, checkout, index."""
        return self.git("for-each-ref"), self.git("status", "--porcelain"), self.git("ls-files", "--stage")
