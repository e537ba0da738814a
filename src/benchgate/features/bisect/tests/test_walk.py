"""Which commits a bisect tests. No pytest runs: the test says which commits are bad."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from benchgate.base.errors import UsageError
from benchgate.build.revision import repository_of
from benchgate.features.bisect import walk as walking
from benchgate.features.bisect.state import BisectQuestion, BisectState, BisectStep, Term
from benchgate.features.bisect.walk import BisectChoice, next_commit
from tests.gitkit import Repo

Judge = Callable[[str], Term]


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return Repo.new(tmp_path / "src")


def line(repo: Repo, count: int) -> list[str]:
    """Commits that change the kernel, each followed by one that does not."""
    result = []
    for number in range(count):
        result.append(repo.commit(f"kernel {number}", {"kernel/main.c": str(number)}))
        repo.commit(f"docs {number}", {"README": str(number)})
    return result


def walk(repo: Repo, out: Path, good: str, bad: str, judge: Judge) -> tuple[BisectChoice, list[str]]:
    out.mkdir(exist_ok=True)
    known = BisectState(
        BisectQuestion(good, bad, "mine.yaml", ()),
        (BisectStep(good, Term.GOOD, ""), BisectStep(bad, Term.BAD, "")),
    )
    tested: list[str] = []
    while True:
        choice = next_commit(out, repository_of(repo.folder), ("kernel",), known)
        if not choice.commit:
            return choice, tested
        assert choice.commit not in tested
        tested.append(choice.commit)
        known = known.with_step(BisectStep(choice.commit, judge(choice.commit), ""))


@pytest.mark.parametrize("first", range(1, 8))
def test_each_possible_first_bad_commit_is_found(repo: Repo, tmp_path: Path, first: int) -> None:
    commits = line(repo, 8)
    before = repo.state

    def judge(commit: str) -> Term:
        return Term.BAD if commits.index(commit) >= first else Term.GOOD

    choice, tested = walk(repo, tmp_path / "out", commits[0], commits[7], judge)
    assert choice == BisectChoice(first_bad=commits[first])
    assert len(tested) <= 3
    assert set(tested) <= set(commits)  # none that leaves the kernel as it was
    assert repo.state == before
    assert not (repo.folder / ".git/BISECT_LOG").exists()


def test_skipped_commits_are_gone_around_and_named_if_one_of_them_may_be_it(
    repo: Repo, tmp_path: Path
) -> None:
    commits = line(repo, 8)

    def judge(commit: str) -> Term:
        at = commits.index(commit)
        return Term.SKIP if at == 4 else Term.BAD if at >= 5 else Term.GOOD

    choice, tested = walk(repo, tmp_path / "out", commits[0], commits[7], judge)
    assert not choice.first_bad
    assert sorted(choice.among, key=commits.index) == [commits[4], commits[5]]
    assert commits[4] in tested

    def elsewhere(commit: str) -> Term:
        at = commits.index(commit)
        return Term.SKIP if at == 4 else Term.BAD if at >= 2 else Term.GOOD

    choice, _ = walk(repo, tmp_path / "other", commits[0], commits[7], elsewhere)
    assert choice == BisectChoice(first_bad=commits[2])


def test_a_side_branch_is_walked_too(repo: Repo, tmp_path: Path) -> None:
    good = repo.commit("kernel", {"kernel/main.c": "0"})
    repo.git("checkout", "--quiet", "-b", "side")
    side = [repo.commit(f"side {n}", {"kernel/side.c": str(n)}) for n in range(3)]
    repo.git("checkout", "--quiet", "main")
    repo.commit("main", {"kernel/main.c": "1"})
    repo.git("merge", "--quiet", "--no-edit", "side")
    merge = repo.git("rev-parse", "HEAD")
    bad = {*side[1:], merge}

    choice, _ = walk(repo, tmp_path / "out", good, merge, lambda text: Term.BAD if text in bad else Term.GOOD)
    assert choice.first_bad == side[1]


def test_ends_in_the_wrong_order_are_refused_in_gits_words(repo: Repo, tmp_path: Path) -> None:
    commits = line(repo, 3)
    with pytest.raises(UsageError, match="git bisect "):
        walk(repo, tmp_path / "out", commits[2], commits[0], lambda _: Term.GOOD)


def test_a_linux_that_is_built_of_a_folder_is_walked_by_its_source(repo: Repo) -> None:
    repo.commit("linux", {"Makefile": ""})
    found = walking._walked(f"linux:source={repo.folder}:config=base")
    assert (found.key, found.before, found.folder, found.sources) == (
        *("source", f"{repo.folder}@", repo.folder),
        (),
    )


def test_a_source_of_a_systems_own_file_is_relative_to_that(repo: Repo, tmp_path: Path) -> None:
    repo.commit("linux", {"Makefile": ""})
    yaml = "version: 1\nname: mine\nkind: qemu\nsettings: {linux: {source: ../src}}\n"
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench/mine.yaml").write_text(
        f'{yaml}boot: {{kernel: build, source: "{{linux}}", initrd: workload}}\nresult: {{system: linux}}\n'
    )
    found = walking._walked(str(tmp_path / "bench/mine.yaml"))
    assert (found.key, found.folder.resolve(), found.before) == ("linux", repo.folder, f"{found.folder}@")


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("linux:source={}@HEAD", "leave out @[0-9a-f]{{40}} in source=, which bisect chooses"),
        ("linux:source=linux-source-6.12", "name a git checkout of Linux, as in linux:source=PATH"),
        ("linux", "name a git checkout of Linux, as in linux:source=PATH"),
        ("kernel:rev=HEAD", "leave out rev=, which bisect chooses"),
    ],
)
def test_a_system_that_has_no_history_or_a_commit_already_is_refused(
    repo: Repo, word: str, said: str
) -> None:
    repo.commit("linux", {"Makefile": ""})
    with pytest.raises(UsageError, match=said.format()):
        walking._walked(word.format(repo.folder))


def test_each_system_of_a_step_has_a_word_with_its_commit(repo: Repo) -> None:
    good, bad = (repo.commit("linux", {"Makefile": text}) for text in ("1", "2"))
    word = f"linux:source={repo.folder}:config=base"
    setting = walking._walked(word)
    question = BisectQuestion(good, bad, word, ())
    walk = walking.Walk(question, setting, repository_of(repo.folder), (), repo.folder, print)
    pair = walk.pair(bad)
    assert pair.words == (
        f"linux:source={repo.folder}@{good}:config=base",
        f"linux:source={repo.folder}@{bad}:config=base",
    )
    assert dict(pair.letters) == {
        "A": f"linux.source-src_{good[:10]}.config-base",
        "B": f"linux.source-src_{bad[:10]}.config-base",
    }
    alone = walk.pair(good)
    assert (alone.other, alone.words) == (None, pair.words[:1])
