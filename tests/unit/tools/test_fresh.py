"""tools.fresh: what it runs, where its packages come from, and when it cannot run. No system is made."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from benchgate.base.errors import FetchError
from benchgate.build.fetch import sources
from tests import optional
from tools import fresh

ROOT = Path(__file__).parents[3]
BOOKWORM = sources.Release("debian-bookworm", "debian", "bookworm", ("bookworm",), "linux")
NOBLE = sources.Release("ubuntu-noble", "ubuntu", "noble", ("noble",), "linux")
STANZA = {
    "types": "deb",
    "uris": "http://mirror.invalid/debian",
    "suites": "bookworm bookworm-updates",
    "components": "main contrib",
    "signed-by": "/usr/share/keyrings/debian-archive-keyring.gpg",
}
SAYS = """\
run: packages are missing; as root, run
    apt-get update && apt-get install -y --no-install-recommends gcc make
run: then run this again.
"""


def test_the_commands_are_those_of_the_readme() -> None:
    assert fresh.commands((ROOT / "README.md").read_text()) == ("gate", "tools-for-tests", "tests")


def test_a_command_outside_of_that_section_is_not_run() -> None:
    section = "\n## Three commands\n\n```sh\n./run one  # why\n./run two\n```\n"
    assert fresh.commands(f"./run before\n{section}\n## Next\n\n./run after\n") == ("one", "two")


@pytest.mark.parametrize(("release", "suite"), [("12", "bookworm"), ("13", "trixie")])
def test_the_mirror_is_the_one_of_this_machine(release: str, suite: str) -> None:
    text = fresh.sources_for(fresh.RELEASES[release], [STANZA], BOOKWORM)
    assert "Uris: http://mirror.invalid/debian\n" in text
    assert f"Suites: {suite}\n" in text


def test_no_file_of_this_repository_that_makes_a_system_names_a_mirror() -> None:
    for name in ("tools/fresh.py", "noxfile.py"):
        assert re.findall(r"\w+://[^\s\"']+|\bdebian\.org\b", (ROOT / name).read_text()) == []


def test_a_machine_that_is_not_a_debian_is_named_as_the_obstacle() -> None:
    with pytest.raises(FetchError, match="not a Debian"):
        fresh.sources_for("trixie", [STANZA], NOBLE)


def test_obstacles_are_named_one_by_one() -> None:
    assert "only root" in fresh.obstacle(1000, lambda _: "/usr/bin/it")
    assert fresh.obstacle(0, lambda name: None if name == "mmdebstrap" else name) == "install mmdebstrap"
    assert fresh.obstacle(0, lambda name: name) == ""


def test_an_obstacle_is_not_a_success(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(fresh, "this_release", lambda: BOOKWORM)
    monkeypatch.setattr(sources, "read", lambda: [STANZA])
    assert fresh.main([]) == 5
    assert "skipped: only root" in capsys.readouterr().err


def test_the_command_for_root_is_the_one_that_run_prints() -> None:
    result = fresh.wanted_of_root(SAYS)
    assert result == "apt-get update && apt-get install -y --no-install-recommends gcc make"
    assert fresh.wanted_of_root("run: another line\n") == ""


class Recorded(fresh.System):
    """A system that answers with prepared statuses; the last one stays."""

    def run(self, words: object, user: str) -> tuple[int, str]:
        said.append(f"{user}: {' '.join(words)}")  # type: ignore[arg-type]
        return (statuses.pop(0) if len(statuses) > 1 else statuses[0]), SAYS


said: list[str] = []
statuses: list[int] = []


@pytest.mark.parametrize(
    ("user", "given", "wrong"),
    [
        ("root", [0], 0),
        ("root", [0, 1, 0], 1),
        ("user", [4, 0, 0, 4, 0, 0, 0], 0),
        ("user", [0], 2),
        ("user", [4, 100, 0, 4, 0], 1),
        ("user", [4, 0, 0, 4, 0, 0, 1], 1),
    ],
)
def test_all_commands_run_and_a_status_that_was_not_expected_counts(
    user: str, given: list[int], wrong: int
) -> None:
    said[:], statuses[:] = [], given
    steps = fresh.try_out(Recorded(Path("/nowhere"), "13", user), {"tests": ("-x",)})
    root = f"root: sh -euc {fresh.wanted_of_root(SAYS)}"
    gate, tools = (f"{user}: ./run {name}" for name in ("gate", "tools-for-tests"))
    asked = [gate, root, gate, tools, root, tools] if user == "user" else [gate, tools]
    assert said == [*asked, f"{user}: ./run tests -x"]
    assert sum(step.status != step.expected for step in steps) == wrong


def short(*words: str) -> list[fresh.System]:
    return fresh.systems(fresh.arguments(words), Path("/folder"))


def test_the_short_form_is_one_system_that_keeps_its_downloads_and_the_full_form_keeps_nothing() -> None:
    (one,) = short("--only", "13", "--tests", "guests")
    assert (one.release, one.user) == ("13", "root")
    assert set(one.mounts.values()) == {"/var/cache/apt/archives", "/root/.cache"}
    full = short()
    assert [(system.release, system.user) for system in full] == [
        *(("12", "root"), ("12", "user"), ("13", "root"), ("13", "user"))
    ]
    assert [system.mounts for system in full] == [{}] * 4


def test_the_short_form_runs_only_the_commands_that_it_was_given(tmp_path: Path) -> None:
    said[:], statuses[:] = [], [0]
    more = fresh.words_of(fresh.arguments(["--only", "13", "--tests=-x"]))
    steps = fresh.try_out(Recorded(Path("/nowhere"), "13", "root", tmp_path), more)
    assert said == ["root: ./run tests -x"]
    assert [step.command for step in steps] == ["./run tests -x"]


def test_before_an_issue_is_called_resolved_all_tests_run_on_each_debian(tmp_path: Path) -> None:
    assert [(one.release, one.user) for one in short("--resolved")] == [("12", "root"), ("13", "root")]
    assert all(one.mounts for one in short("--resolved"))
    said[:], statuses[:] = [], [0]
    fresh.try_out(
        Recorded(Path("/nowhere"), "13", "root", tmp_path), fresh.words_of(fresh.arguments(["--resolved"]))
    )
    assert said == ["root: ./run tools-for-tests", "root: ./run tests", "root: ./run compilers --install"]


@pytest.mark.parametrize(
    "words",
    [
        ("--only", "13"),
        ("--only", "13", "--tests", "guests", "--as", "user"),
        ("--only", "11"),
        ("--resolved", "--only", "13"),
        ("--resolved", "--tests", "guests"),
        ("--resolved", "--as", "user"),
    ],
)
def test_a_short_form_that_says_too_little_or_too_much_is_a_usage_error(words: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit) as left:
        fresh.arguments(words)
    assert left.value.code == 2


def test_a_folder_of_tests_has_a_short_name() -> None:
    assert fresh.tests_of("guests -k tern") == ["tests/guests", "-k", "tern"]


def test_folders_that_are_kept_are_mounted_where_the_system_has_them() -> None:
    argv = fresh.namespace(Path("/root"), "user", {Path("/kept/apt"): "/var/cache", Path("/kept/c"): "/c"})
    assert argv[-6:] == ["user", "/kept/apt", "/var/cache", "/kept/c", "/c", "--"]
    assert fresh.namespace(Path("/root"), "user", {})[-2:] == ["user", "--"]


def test_a_quick_gate_is_expected_to_decide_nothing() -> None:
    assert fresh.expected(["./run", "gate", "--quick"]) == 5
    assert fresh.expected(["./run", "gate"]) == 0


@optional.needs("git")
@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="needs a clone made with git")
def test_the_checkout_is_copied_as_git_sees_it(tmp_path: Path) -> None:
    fresh.copy_checkout(tmp_path)
    assert (tmp_path / "run").read_bytes() == (ROOT / "run").read_bytes()
    assert (tmp_path / "run").stat().st_mode & 0o111
    assert not list(tmp_path.rglob("__pycache__"))
    argv = ["git", "status", "--short"]
    changed = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (changed.returncode, changed.stdout) == (0, ""), "tests that need a repository have one"
