"""The documents agree with the code: examples, keys, commands, options, workflows and hooks."""

from __future__ import annotations

import re
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchgate import cli, commands
from benchgate.base.errors import VerifyError
from benchgate.base.system import boots, systems
from benchgate.base.system.observe import COUNTED, ObserveDefinition
from benchgate.plan import catalog, systemfile
from benchgate.plan.option_table import TABLE
from tests.line.sessions import REPO

DOC = (REPO / "docs" / "how-to" / "bring-your-own-kernel.md").read_text()
THREADS = (REPO / "docs" / "how-to" / "threads.md").read_text()
PROMPT = (REPO / "docs" / "how-to" / "prompt.md").read_text()
CI = (REPO / "docs" / "how-to" / "run-in-ci.md").read_text()
EXAMPLES = re.findall(r"^```yaml\n(version:.*?)^```", DOC, re.MULTILINE | re.DOTALL)
SMALLEST = """
version: 1
name: mine
kind: qemu
{more}
boot:
  kernel: mine.elf
{below}
"""


def read(text: str, folder: Path) -> systems.System:
    path = folder / "mine.yaml"
    path.write_text(text)
    return systemfile.load(path)


def test_every_example_system_is_valid(tmp_path: Path) -> None:
    assert [read(text, tmp_path).name for text in EXAMPLES] == ["mine", "fixed", "mine"]
    fixed = read(EXAMPLES[1], tmp_path)
    assert (fixed.ask, fixed.end.by, fixed.cpus) == (systems.AskMethod.SELFTEST, boots.EndBy.KILL, (1, 8))


def test_the_example_of_a_prompt_is_valid_and_its_oracle_judges(tmp_path: Path) -> None:
    system = read(re.findall(r"^```yaml\n(.*?)^```", PROMPT, re.MULTILINE | re.DOTALL)[0], tmp_path)
    assert system.ask is systems.AskMethod.PROMPT
    assert system.script is not None
    assert system.script.places == {"workers", "hi"}
    source = re.search(r"^```python\n# bench/primes/oracle.py\n(.*?)^```", PROMPT, re.MULTILINE | re.DOTALL)
    assert source is not None
    names: dict[str, Any] = {}
    exec(source[1], names)
    names["check"]({"hi": 100}, (), {"count": 25}, None)
    with pytest.raises(VerifyError, match="count is 24, not 25"):
        names["check"]({"hi": 100}, (), {"count": 24}, None)


def test_the_example_of_seen_threads_is_that_of_tern(tmp_path: Path) -> None:
    shown = re.findall(r"^```yaml\n(observe:.*?)^```", THREADS, re.MULTILINE | re.DOTALL)
    seen = [read(SMALLEST.format(more="", below=text), tmp_path).observe for text in shown]
    of_threads = [definition for definition in seen if definition and definition.type]
    assert of_threads == [_of_threads(catalog.load_system("kernel"))]


def _of_threads(system: systems.System) -> ObserveDefinition:
    """What it observes of threads, without what it only counts, and without its long lines of `unpark`."""
    assert system.observe is not None
    of_threads = (hook for hook in system.observe.hooks if hook.kind not in COUNTED)
    hooks = tuple(hook for hook in of_threads if hook.at != ("unpark",))
    return replace(system.observe, hooks=hooks, calls={})


def test_the_example_workflow_is_valid_and_runs_pytest() -> None:
    section = CI.split("## A workflow without the action")[1]
    (first, *_) = re.findall(r"^```yaml\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    steps = yaml.safe_load(textwrap.dedent(first))["jobs"]["gate"]["steps"]
    assert any("pytest" in step.get("run", "") for step in steps)


def test_our_workflow_runs_the_same_commands_as_a_developer() -> None:
    jobs = yaml.safe_load((REPO / ".github" / "workflows" / "ci.yml").read_text())["jobs"].values()
    commands = {step["run"] for job in jobs for step in job["steps"] if "run" in step}
    assert {".ci/run", "./run lint", "./run types", "./run docs"} <= commands
    assert (REPO / ".ci" / "run").stat().st_mode & 0o111


def test_the_hooks_call_existing_nox_sessions() -> None:
    (repository,) = yaml.safe_load((REPO / ".pre-commit-config.yaml").read_text())["repos"]
    sessions = set(re.findall(r"^@nox\.session\ndef (\w+)", (REPO / "noxfile.py").read_text(), re.MULTILINE))
    entries = {hook["id"]: hook["entry"] for hook in repository["hooks"]}
    assert entries == {name: f".venv/bin/nox --session {name}" for name in ("lint", "types")}
    assert entries.keys() <= sessions


PAGES = [*sorted(REPO.glob("[!C]*.md")), REPO / "CONTRIBUTING.md", *sorted((REPO / "docs").rglob("*.md"))]
PAGES += sorted(REPO.glob("contrib/**/*.md"))
"""Without the changelog, which also names what is gone."""


def shown(pattern: str) -> dict[str, str]:
    """What matches in code blocks and code spans, with the page that it is on."""
    result: dict[str, str] = {}
    for page in PAGES:
        for block, span in re.findall(r"^```[^\n]*\n(.*?)^```|`([^`\n]+)`", page.read_text(), re.M | re.S):
            result |= dict.fromkeys(re.findall(pattern, block or span, re.M), page.name)
    return result


def test_every_documented_command_exists(capsys: pytest.CaptureFixture[str]) -> None:
    words = shown(r"(?:^|[ (])benchgate (?!import\b)([a-z-]+)\b(?!:)")
    assert {"setup", "doctor", "replay", "cache"} <= words.keys()
    for word, page in words.items():
        with pytest.raises(SystemExit) as left:
            cli.main([word, "--help"])
        assert left.value.code == 0, f"{page}: benchgate {word}: {capsys.readouterr().err}"


COMMANDS = (
    *((one.name,) for one in commands.TABLE),
    *(("cache", "gc"), ("machine", "check"), ("baseline", "accept")),
    *(("mix", action) for action in ("choose", "run", "vectors")),
    *(("fleet", action) for action in ("scheduler", "worker", "certificates", "allow")),
)
OTHERS = {"--basetemp", "--collect-only", "--junitxml", "--lf", "--list", "--markers", "--pdb", "--strict"}
OTHERS |= {"--fsys-tarfile", "--cpu", "--forks", "--iters", "--verify"}
OTHERS |= {"--install", "--resolved"}
OTHERS |= {"--adapter", "--check", "--draws", "--file", "--idle", "--no-fresh", "--only"}
OTHERS |= {"--tests", "--rounds", "--topology", "--shapes", "--steady", "--dist"}
OTHERS |= {f"--benchmark-{word}" for word in ("json", "autosave", "compare", "compare-fail", "histogram")}
OTHERS |= {f"--benchmark-{word}" for word in ("group-by", "disable", "skip", "only")}
"""Options of pytest, pytest-benchmark, ./run and mypy; of tools.schbench_beside; of the programs of
real-tools.md; of bencher, dpkg-deb and sha256sum; of nox -s simulate, fleet-demo, fresh, nested-kvm and
release."""


def test_every_documented_option_exists(capsys: pytest.CaptureFixture[str]) -> None:
    known = OTHERS | {option.flag for option in TABLE}
    for command in COMMANDS:
        with pytest.raises(SystemExit):
            cli.main([*command, "--help"])
        known |= set(re.findall(r"--[a-z-]+", capsys.readouterr().out))
    words = shown(r"(?<![\w-])--[a-z][a-z-]+")
    assert {"--clock", "--smp", "--keep", "--profile"} <= words.keys()
    assert {word: page for word, page in words.items() if word not in known} == {}
