"""A real slowdown in the history of a small kernel is found by real boots on the instruction clock."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from benchgate import cli
from benchgate.build.cache_storage import cache_root
from benchgate.plan import catalog
from tests.gitkit import Repo
from tests.historykit import COMPILED, History, Source, words
from tests.line.sessions import PATIENCE_S


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> History:
    made = History.new(tmp_path)
    (made.repo.folder / "kernel/main.c").write_text("the user's own work, which does not compile\n")
    monkeypatch.chdir(tmp_path)
    return made


@pytest.mark.long
def test_the_commit_that_is_slower_is_found_also_after_an_interruption(
    history: History, capsys: pytest.CaptureFixture[str]
) -> None:
    before = history.repo.state
    said = []
    with subprocess.Popen(
        [sys.executable, *words(history)], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    ) as first:
        assert first.stderr is not None
        for line in first.stderr:
            said.append(line)
            if f"testing BAD {history.commits[-1][:10]}" in line:
                first.send_signal(signal.SIGINT)
    assert first.returncode == 130, said
    interrupted = json.loads(Path("out/state.json").read_text())
    assert [one["commit"] for one in interrupted["steps"]] == [history.commits[0]]

    done = subprocess.run(
        [sys.executable, *words(history)], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "1 step done before" in done.stderr
    assert f"the first bad commit is {history.commits[4][:10]}: change 4" in done.stdout
    assert re.search(
        r"FAIL: selftest smp2 mine\.rev-\w+/mine\.rev-\w+ = 0\.80 \[0\.80, 0\.80\] < 0\.95", done.stdout
    )
    assert re.search(r"^selftest smp2 work +10\.00 ms +12\.50 ms +0\.80 ", done.stdout, re.MULTILINE)

    result = json.loads(Path("out/state.json").read_text())
    assert result["steps"][0] == interrupted["steps"][0]
    terms = {one["commit"]: one["term"] for one in result["steps"]}
    right = dict(zip(history.commits, ("good", "good", "skip", "good", "bad", "bad"), strict=True))
    assert terms.items() <= right.items()
    assert history.repo.state == before
    assert (history.repo.folder / "kernel/main.c").read_text().startswith("the user's own work")

    (at,) = [one["session"] for one in result["steps"] if one["commit"] == history.commits[4]]
    assert cli.main(["verify", f"out/{at}"]) == 0
    assert cli.main(["rejudge", f"out/{at}"]) == 1
    assert "A is mine.rev-" in capsys.readouterr().out + Path(f"out/{at}/summary.md").read_text()


@pytest.mark.long
def test_the_history_of_a_linux_is_walked_and_each_step_compiles_only_what_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a cache of its own: the folder of all builds has a Linux in the user's, for hours of work."""
    history = History.new(tmp_path, Source.LINUX)
    cache = tmp_path / "cache"
    cache.mkdir()
    for path in cache_root().iterdir():
        if not path.name.startswith(("linux-work", "linux-built")):
            (cache / path.name).symlink_to(path)
    monkeypatch.setenv("BENCHGATE_CACHE", str(cache))
    monkeypatch.chdir(tmp_path)

    done = subprocess.run(
        [sys.executable, *words(history)], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, done.stderr
    assert f"the first bad commit is {history.commits[4][:10]}: change 4" in done.stdout
    steps = {one["commit"]: one for one in json.loads(Path("out/state.json").read_text())["steps"]}
    assert steps[history.commits[2]]["term"] == "skip"
    assert re.search(r"it does not build: .*core\.c", steps[history.commits[2]]["why"])
    assert re.search(rf"^  {history.commits[2][:10]} skip: it does not build", done.stdout, re.MULTILINE)
    (log,) = cache.glob(f"linux-work/*/tree/{COMPILED}")
    compiled = log.read_text().split()
    assert compiled.count("kernel/sched/start.o") == 1
    assert compiled.count("kernel/sched/core.o") == len(steps)


QUICK = """\
import pytest

@pytest.mark.workload("src/mine/workload.yaml")
@pytest.mark.limit(cpus=1, metric="work", at_most="20ms")
def test_it_is_quick(verdict):
    verdict.require_pass()
"""
BEGIN = "static void work(struct bench_job *job, unsigned worker, struct bench_slot *slot) {\n"
SLOWER = "    for (volatile uint32_t i = 0; i < 20000000; i++) {\n    }\n"
"""20 million turns, each of more than one instruction: 20 ms."""


def walked(folder: Path, ends: tuple[str | None, ...]) -> tuple[Repo, list[str]]:
    """A history of primes, with these texts at the end of its source. From None on it is slower."""
    shipped = catalog.load_workload("primes").file.parent
    text, yaml = ((shipped / name).read_text() for name in ("primes.c", "workload.yaml"))
    text = text.replace('.name = "primes"', '.name = "mine"')
    same = {"mine/oracle.py": (shipped / "oracle.py").read_text()}
    same |= {"mine/workload.yaml": yaml.replace("name: primes", "name: mine")}
    repo, commits = Repo.new(folder / "src"), []
    for n, end in enumerate(ends):
        if end is None:
            assert BEGIN in text
            text = text.replace(BEGIN, BEGIN + SLOWER)
        commits.append(repo.commit(f"change {n}", {"mine/primes.c": text + (end or ""), **same}))
    (folder / "test_quick.py").write_text(QUICK)
    return repo, commits


def walk(out: str, commits: list[str], *more: str) -> subprocess.CompletedProcess[str]:
    tests = ["test_quick.py", "--system", "kernel", "--clock", "insn", "--set", "mine.hi=100000", "--quiet"]
    words = ["bisect", "--workload", "src/mine", "--out", out, commits[0], commits[-1], "--"]
    done = subprocess.run(
        [sys.executable, "-m", "benchgate.cli", *words, *tests, "-p", "no:cacheprovider", *more],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


def test_runs_of_both_commits_may_be_forks_which_are_those_that_start_warm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, commits = walked(tmp_path, ("", None))
    monkeypatch.chdir(tmp_path)
    logs: list[list[list[str]]] = []
    for start in ("warm", "fork"):
        done = walk(start, commits, "--start", start)
        assert f"the first bad commit is {commits[1][:10]}: change 1" in done.stdout
        steps = json.loads(Path(f"{start}/state.json").read_text())["steps"]
        sessions = [Path(start, step["session"]) for step in steps]
        assert len(sessions) == 2
        for session in sessions:
            assert bool([*session.rglob("fork.json")]) == (start == "fork")
        found = [path for session in sessions for path in sorted(session.rglob("clock.log"))]
        texts = [path.read_text().splitlines() for path in found]
        logs.append([[line for line in text if not line.startswith("host ")] for text in texts])
    assert logs[0] == logs[1]
    assert len(logs[0]) >= 2


@pytest.mark.long
def test_the_source_of_a_workload_is_walked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    repo, commits = walked(tmp_path, ("", "broken\n", "// 2\n", None, "// 4\n"))
    monkeypatch.chdir(tmp_path)
    before = repo.state

    done = walk("out", commits)
    assert f"the first bad commit is {commits[3][:10]}: change 3" in done.stdout
    assert repo.state == before

    steps = json.loads(Path("out/state.json").read_text())["steps"]
    terms = {step["commit"]: step["term"] for step in steps}
    right = dict(zip(commits, ("good", "skip", "good", "bad", "bad"), strict=True))
    assert terms.items() <= right.items()
    at = next(Path("out", step["session"]) for step in steps if step["commit"] == commits[3])
    assert cli.main(["verify", str(at), "--workload", str(at.parent.parent / "workload")]) == 0
    assert ": intact (" in capsys.readouterr().out
