"""Chooses the commits to test: `git bisect` in a repository of its own, which borrows the user's objects.

Takes the user's repository, the paths that matter and the steps so far; gives the next commit, or the answer.
The user's checkout, index, branches and bisect state are not touched. Fails with UsageError that has git's
words.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchgate.base.errors import UsageError
from benchgate.base.text import one_line
from benchgate.build.revision import Repository, git
from benchgate.session.bisect.state import BisectState

_FOLDER = "history.git"
_FOUND = re.compile(r"^([0-9a-f]{40,64}) is the first bad commit$", re.MULTILINE)
_LEFT = re.compile(r"roughly ([0-9]+) steps?")
_ONLY_SKIPPED = 2
"""The status of `git bisect` if all commits that could be the first bad one were skipped."""
_COMMIT = re.compile(r"^[0-9a-f]{40,64}$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class BisectChoice:
    """The next thing is a commit to test, the first bad commit, or the commits among which it is."""

    commit: str = ""
    left: int = 0
    """About how many steps there are, with this one."""
    first_bad: str = ""
    among: tuple[str, ...] = ()


def next_commit(
    folder: Path, repository: Repository, paths: Sequence[str], state: BisectState
) -> BisectChoice:
    """Begins anew and repeats all steps, so that it does not matter how the last call ended."""
    place = _repository(folder / _FOLDER, repository, state)
    known = [one for one in state.steps if one.commit not in (state.question.good, state.question.bad)]
    said = _bisect(place, "start", "--no-checkout", state.question.bad, state.question.good, "--", *paths)
    for step in known:
        if said.first_bad or said.among:
            break
        said = _bisect(place, str(step.term), step.commit)
    return said


def subject_of(repository: Repository, commit: str) -> str:
    done = git(repository.top, "log", "-1", "--format=%s", commit)
    return one_line(done.stdout)


def _repository(place: Path, repository: Repository, state: BisectState) -> Path:
    shutil.rmtree(place, ignore_errors=True)
    done = git(place.parent, "init", "--quiet", "--bare", str(place))
    if done.returncode:
        raise UsageError(f"git cannot make {place}: {one_line(done.stderr)}")
    (place / "objects/info/alternates").write_text(f"{repository.common / 'objects'}\n", encoding="utf-8")
    if (repository.common / "shallow").is_file():
        shutil.copyfile(repository.common / "shallow", place / "shallow")
    _ = git(place, "update-ref", "--no-deref", "HEAD", state.question.bad)  # `git bisect start` wants a HEAD
    return place


def _bisect(place: Path, *words: str) -> BisectChoice:
    done = git(place, "bisect", *words)
    if found := _FOUND.search(done.stdout):
        return BisectChoice(first_bad=found[1])
    if done.returncode == _ONLY_SKIPPED:
        return BisectChoice(among=tuple(_COMMIT.findall(done.stdout)))
    chosen = git(place, "rev-parse", "--verify", "--quiet", "BISECT_HEAD")
    if done.returncode or chosen.returncode:
        said = one_line(done.stderr or done.stdout, 400)
        raise UsageError(f"git bisect {words[0]}: {said}")
    left = _LEFT.search(done.stdout)
    return BisectChoice(chosen.stdout.strip(), 1 + int(left[1]) if left else 1)
