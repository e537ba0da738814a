"""Finds the commit of a git revision for the folder that a system is built from, and exports its files.

Takes a folder inside a git repository and a revision; gives commits, and the files of one. Only reads the
repository: neither its checkout nor its index nor its branches change. Fails with UsageError if the folder is
in no repository or the revision is unknown, and with BuildError if the files cannot be written.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchgate.base.errors import BootError, BuildError, UsageError
from benchgate.base.process import capture
from benchgate.base.text import one_line

_GIT_S = 300.0
_LOCAL = (
    *("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX", "GIT_NAMESPACE"),
    *("GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES"),
)
"""A git hook sets these for its own repository, which need not be the one that is asked here."""


_WHOLE = ("-c", "core.sparseCheckout=false", "-c", "core.fsmonitor=false")
"""With these options git exports all files of a commit, even if the user's checkout is partial."""


_VERIFY = ("rev-parse", "--verify", "--quiet", "--end-of-options")


@dataclass(frozen=True, slots=True)
class Repository:
    top: Path
    """The folder of the checkout."""
    git: Path
    """The folder `.git` of the checkout."""
    common: Path
    """The folder that all worktrees of one repository share."""


@dataclass(frozen=True, slots=True)
class Sources:
    """The files of one commit, which replace those of a build's folder."""

    repository: Repository
    commit: str
    folder: Path
    """The build's folder, relative to the repository's top."""

    def covers(self, path: Path) -> bool:
        return path.resolve().is_relative_to(self.repository.top)

    def below(self, path: Path) -> str:
        """Gives a covered path relative to the repository's top; empty for the top itself."""
        result = path.resolve().relative_to(self.repository.top).as_posix()
        return "" if result == "." else result

    def content(self, path: Path) -> str:
        """Git's name of the content of a covered path in this commit; equal names mean equal files.
        BuildError if the commit does not have the path."""
        below = self.below(path)
        done = git(self.repository.top, *_VERIFY, f"{self.commit}:{below}")
        if done.returncode:
            raise BuildError(f"revision {self.commit[:10]} of {self.repository.top} has no {below}")
        return done.stdout.strip()


def repository_of(folder: Path) -> Repository:
    words = ("rev-parse", "--show-toplevel", "--absolute-git-dir", "--git-common-dir")
    done = git(folder, *words)
    lines = done.stdout.splitlines()
    if done.returncode or len(lines) != len(words) - 1:
        why = one_line(done.stderr) or "it has no checkout"
        raise UsageError(f"{folder} is in no git repository, which a revision needs: {why}")
    top, result, common = lines
    return Repository(Path(top).resolve(), Path(result), (folder / common).resolve())


def commit_of(folder: Path, word: str) -> str:
    """The full name of the commit that `word` names in the repository of this folder."""
    done = git(folder, *_VERIFY, f"{word}^{{commit}}")
    if done.returncode:
        top = repository_of(folder).top
        raise UsageError(f"{top}: git knows no revision `{word}`; see `git -C {top} log --oneline`")
    return done.stdout.strip()


def sources_of(folder: Path, commit: str) -> Sources:
    repository = repository_of(folder)
    if git(folder, *_VERIFY, f"{commit}^{{commit}}").returncode:
        raise UsageError(f"{repository.top}: git has no commit {commit}; fetch it, or name another revision")
    return Sources(repository, commit, folder.resolve().relative_to(repository.top))


@contextmanager
def exported(sources: Sources, to: Path) -> Iterator[Path]:
    """Exports the commit's files to `to` during the block, and gives the build's folder among them."""
    try:
        to.mkdir(parents=True)
        index = {"GIT_INDEX_FILE": str(to.with_name(f"{to.name}.index"))}
        place = (f"--git-dir={sources.repository.git}", f"--work-tree={to}", *_WHOLE)
        for words in (("read-tree", sources.commit), ("checkout-index", "--all")):
            done = git(to, *place, *words, more=index)
            if done.returncode:
                why = one_line(done.stderr)
                raise BuildError(f"git cannot write the files of {sources.commit[:10]} to {to}: {why}")
        folder = to / sources.folder
        if not folder.is_dir():
            raise BuildError(f"building revision {sources.commit[:10]}: it has no folder {sources.folder}")
        yield folder
    finally:
        shutil.rmtree(to, ignore_errors=True)
        to.with_name(f"{to.name}.index").unlink(missing_ok=True)


def git(folder: Path, *words: str, more: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Runs git in the folder. The caller judges the result: a status other than 0 is no error here."""
    argv: Sequence[str] = ("git", "-C", str(folder), *words)
    kept = {name: value for name, value in os.environ.items() if name not in _LOCAL}
    fixed = {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
    try:
        return capture(argv, _GIT_S, {**kept, **fixed, **(more or {})})
    except BootError as error:
        raise UsageError(f"git is needed for a revision, and cannot be started: {error}") from error
    except subprocess.TimeoutExpired as error:
        raise UsageError(f"`git {words[0]}` in {folder} did not end within {_GIT_S:.0f} s") from error
