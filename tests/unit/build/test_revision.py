"""A commit's files, built beside the user's checkout, which stays as it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchgate.base.errors import BuildError, UsageError
from benchgate.build import programs
from benchgate.build.revision import commit_of, exported, repository_of, sources_of
from tests.gitkit import Repo


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return Repo.new(tmp_path / "src")


def test_words_name_commits_and_unknown_ones_are_refused(repo: Repo) -> None:
    first = repo.commit("first", {"kernel/main.c": "1"})
    second = repo.commit("second", {"kernel/main.c": "2"})
    assert [commit_of(repo.folder / "kernel", word) for word in ("HEAD~1", "main", second[:12])] == [
        first, second, second,
    ]  # fmt: skip
    for word in ("nothing", "HEAD~7", "HEAD:kernel"):
        with pytest.raises(UsageError, match="git knows no revision"):
            commit_of(repo.folder, word)


def test_a_folder_outside_of_git_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is in no git repository, which a revision needs"):
        repository_of(tmp_path)


def test_an_export_has_exactly_the_commits_files_and_the_checkout_does_not_change(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"kernel/main.c": "1", "kernel/sub/b.h": "b", ".gitattributes": "kernel/sub export-ignore\n"}
    first = repo.commit("first", files)
    repo.commit("second", {"kernel/main.c": "2", "kernel/new.c": "n"})
    (repo.folder / "kernel/main.c").write_text("not committed")
    (repo.folder / "kernel/untracked.c").write_text("not committed")
    before = repo.state
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "of a hook"))
    with exported(sources_of(repo.folder / "kernel", first), tmp_path / "tree") as place:
        result = {
            str(path.relative_to(place)): path.read_text() for path in place.rglob("*") if path.is_file()
        }
    assert result == {"main.c": "1", "sub/b.h": "b"}
    assert not list(tmp_path.glob("tree*"))
    assert repo.state == before


def test_a_commit_without_the_folder_does_not_build(repo: Repo, tmp_path: Path) -> None:
    first = repo.commit("first", {"README": "1"})
    repo.commit("second", {"kernel/main.c": "2"})
    sources = sources_of(repo.folder / "kernel", first)
    with pytest.raises(BuildError, match="it has no folder kernel"), exported(sources, tmp_path / "tree"):
        pass
    with pytest.raises(BuildError, match="has no kernel"):
        sources.content(repo.folder / "kernel")


class TestBuild:
    """`build.commands` among the files of a commit."""

    @pytest.fixture(autouse=True)
    def cache(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("BENCHGATE_CACHE", str(tmp_path / "cache"))

    def built(self, repo: Repo, commit: str, log: Path) -> Path:
        folder = repo.folder / "kernel"
        commands = [["sh", "-c", f"cat main.c > {{out}}/kernel; pwd > {{out}}/place; echo x >> {log}"]]
        return programs.run_build(
            commands, folder, [folder], name="mine", commit=sources_of(folder, commit) if commit else None
        )

    def test_each_content_is_built_once_from_its_own_files(self, repo: Repo, tmp_path: Path) -> None:
        first = repo.commit("first", {"kernel/main.c": "1"})
        other = repo.commit("only the README", {"README": "about"})
        second = repo.commit("second", {"kernel/main.c": "2"})
        (repo.folder / "kernel/main.c").write_text("not committed")
        log = tmp_path / "log"
        result = [(self.built(repo, text, log) / "kernel").read_text() for text in (first, second, "", first)]
        assert result == ["1", "2", "not committed", "1"]
        assert self.built(repo, other, log) == self.built(repo, first, log)
        assert log.read_text() == "x\n" * 3

    def test_a_chosen_file_is_read_as_it_is_now_also_if_the_repository_has_it(self, repo: Repo) -> None:
        first = repo.commit("first", {"kernel/main.c": "1", "kernel/table": "old"})
        folder = repo.folder / "kernel"
        result = []
        for content in ("new", "newer"):
            (folder / "table").write_text(content)
            commands = [["sh", "-c", f"cat main.c {folder}/table > {{out}}/kernel"]]
            made = programs.run_build(
                commands, folder, [folder], name="mine", files=[folder / "table"],
                commit=sources_of(folder, first),
            )  # fmt: skip
            result.append((made / "kernel").read_text())
        assert result == ["1new", "1newer"]

    def test_a_build_fails_with_its_own_words(self, repo: Repo) -> None:
        first = repo.commit("first", {"kernel/main.c": "1"})
        folder = repo.folder / "kernel"
        with pytest.raises(BuildError, match="cannot compile this"):
            programs.run_build(
                [["sh", "-c", "echo cannot compile this; exit 1"]], folder, [folder], name="mine",
                commit=sources_of(folder, first),
            )  # fmt: skip

    def test_the_place_of_a_build_is_the_same_again(self, repo: Repo, tmp_path: Path) -> None:
        """A binary may contain the path of its source."""
        first = repo.commit("first", {"kernel/main.c": "1"})
        made = self.built(repo, first, tmp_path / "log")
        place = (made / "place").read_text()
        key = json.loads((made.parent / "record.json").read_text())["key"]
        assert json.loads(key["revision"]) == [["kernel", repo.git("rev-parse", f"{first}:kernel")]]
        (made / "kernel").write_text("damaged")
        (made / "more").write_text("damaged")
        assert (self.built(repo, first, tmp_path / "log") / "place").read_text() == place
