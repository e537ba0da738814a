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
