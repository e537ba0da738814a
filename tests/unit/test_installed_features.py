"""An installed feature that cannot be used is one sentence: what, where and what next. No command of ours and
no judgement reads it."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchgate import hooks
from benchgate.base.entry_points import InstalledName
from benchgate.base.errors import FeatureError
from benchgate.base.paths import data_root

HEAD = "from benchgate.hooks import Command, Feature, Option, PlainMark\n"
GOOD = HEAD + "FEATURE = Feature(interface=1, commands=(Command('mine', 'about', place='mine.feature'),))\n"
WHO = "feature mine of benchgate-mine 1.0"
OTHER = "next: install another version of benchgate-mine, or uninstall it"


def install(site: Path, name: str, text: str, package: str = "") -> None:
    """A distribution benchgate-PACKAGE with a feature NAME."""
    package = package or name
    folder = site / f"benchgate_{package}-1.0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: benchgate-{package}\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text(f"[benchgate.features]\n{name} = {package}.feature\n")
    (site / package).mkdir()
    (site / package / "__init__.py").touch()
    (site / package / "feature.py").write_text(text)


def run(site: Path, *words: str) -> tuple[int, str]:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), *sys.path])}
    argv = [sys.executable, "-m", *words]
    done = subprocess.run(argv, env=env, cwd=site, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def option(name: str) -> str:
    more = f"options=(Option({name!r}, 'about'),), read_options='mine.feature:read'"
    return f"{HEAD}FEATURE = Feature(interface=1, {more})\n"


BROKEN = {
    "no module": (
        "import of_no_name\n",
        f"{WHO} failed: ModuleNotFoundError: No module named 'of_no_name'; {OTHER}",
    ),
    "no Python": ("FEATURE = \n", f"{WHO} failed: SyntaxError: "),
    "an exit": ("raise SystemExit(7)\n", f"{WHO} failed: SystemExit: 7; {OTHER}"),
    "no FEATURE": (
        HEAD,
        f"{WHO} failed: AttributeError: module 'mine.feature' has no attribute 'FEATURE'; {OTHER}",
    ),
    "another type": (
        "FEATURE = 'mine'\n",
        f"{WHO} cannot be used: mine.feature.FEATURE is of type str, not benchgate.hooks.Feature; {OTHER}",
    ),
    "no interface": (
        GOOD.replace("interface=1, ", ""),
        f"{WHO} was made for interface 0, and this benchgate has 1; {OTHER}",
    ),
    "another interface": (
        GOOD.replace("interface=1", "interface=2"),
        f"{WHO} was made for interface 2, and this benchgate has 1; {OTHER}",
    ),
    "a later field": (
        GOOD.replace("interface=1", "later=()"),
        "failed: TypeError: Feature.__init__() got an unexpected keyword argument 'later'",
    ),
    "what only ours may have": (
        GOOD.replace("interface=1", "interface=1, programs=('mine',)"),
        f"{WHO} has `programs`, which only features of benchgate may have; {OTHER}",
    ),
    "options that nobody reads": (
        option("mine").replace("mine.feature:read", ""),
        f"{WHO} failed: ValueError: a feature with options needs read_options; {OTHER}",
    ),
    "a command of ours": (
        GOOD.replace("'mine', 'about'", "'verify', 'about'"),
        f"{WHO} adds the command verify, which benchgate has already; {OTHER}",
    ),
}


@pytest.mark.parametrize("what", BROKEN)
def test_the_usage_message_names_what_is_broken(what: str, tmp_path: Path) -> None:
    text, problem = BROKEN[what]
    install(tmp_path, "mine", text)
    status, told = run(tmp_path, "benchgate", "--help")
    assert problem in told
    assert (status, told.count("\n"), "Traceback" in told) == (4, 1, False)


def test_a_command_without_its_functions_is_named(tmp_path: Path) -> None:
    install(tmp_path, "mine", GOOD)
    assert run(tmp_path, "benchgate", "--help")[0] == 0
    status, told = run(tmp_path, "benchgate", "mine")
    assert (status, told.count("\n")) == (4, 1)
    assert "mine.feature, of feature mine of benchgate-mine 1.0, failed: AttributeError" in told


def test_two_of_one_name_are_named(tmp_path: Path) -> None:
    install(tmp_path, "mine", GOOD)
    install(tmp_path, "mine", GOOD, "other")
    told = f"feature mine of benchgate-other 1.0 has the same name as {WHO}; next: uninstall benchgate-other"
    status, said = run(tmp_path, "benchgate", "mine")
    assert status == 4
    assert told in said


def test_the_name_of_one_of_ours_is_taken(tmp_path: Path) -> None:
    ours = next(iter(hooks.shipped()))
    install(tmp_path, ours, GOOD, "mine")
    status, said = run(tmp_path, "benchgate", "--help")
    assert status == 4
    assert f"feature {ours} of benchgate-mine 1.0 has the same name as a feature of benchgate; next: " in said


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (GOOD.replace("interface=1", "interface=2"), f"{WHO} was made for interface 2"),
        (option("smp"), f"{WHO} adds the option smp, which benchgate has already"),
        (
            f"{HEAD}FEATURE = Feature(interface=1, marks=(PlainMark('speedup', 'about'),))\n",
            f"{WHO} adds the mark speedup, which benchgate has already",
        ),
    ],
)
def test_every_run_of_pytest_names_it(text: str, problem: str, tmp_path: Path) -> None:
    install(tmp_path, "mine", text)
    (tmp_path / "test_it.py").write_text("def test_it(): pass\n")
    status, told = run(tmp_path, "pytest", "-p", "no:cacheprovider", "test_it.py")
    assert f"ERROR: {problem}" in told
    assert (status, "Traceback" in told) == (4, False)
    assert run(tmp_path, "pytest", "-p", "no:cacheprovider", "-p", "no:benchgate", "test_it.py")[0] == 0


@pytest.mark.parametrize(
    "words", [["--version"], ["verify", "--help"], ["rejudge", "nowhere"], ["mix", "--help"]]
)
def test_a_command_of_ours_reads_none(words: list[str], tmp_path: Path) -> None:
    install(tmp_path, "mine", "import of_no_name\n")
    status, told = run(tmp_path, "benchgate", *words)
    assert status == (4 if "nowhere" in words else 0)
    assert "mine" not in told


def test_the_example_of_the_documents_is_the_package_of_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    page = (
        (data_root() / "docs/how-to/extend.md").read_text(encoding="utf-8").partition("\n## A feature\n")[2]
    )
    names: dict[str, hooks.Feature] = {}
    exec(page.partition("```python\n")[2].partition("```")[0], names)
    monkeypatch.syspath_prepend(str(data_root() / "tests/data/installed"))
    whole = importlib.import_module("courier.feature").FEATURE
    shown = names["FEATURE"]
    assert (shown.interface, shown.read_options, shown.at_end) == (1, whole.read_options, whole.at_end)
    assert [(one.name, one.place) for one in shown.commands] == [
        (one.name, one.place) for one in whole.commands
    ]
    assert [one.name for one in shown.options] == [whole.options[0].name]


def test_ours_come_first_and_each_part_is_in_the_order_of_names(monkeypatch: pytest.MonkeyPatch) -> None:
    def feature(name: str) -> hooks.InstalledFeature:
        named = InstalledName(name, f"{name}.feature", name, "1.0")
        return hooks.InstalledFeature(named, hooks.Feature(commands=(hooks.Command(name, ""),)))

    ours = sorted(hooks.shipped())
    mine = {name: feature(name) for name in ("aaa", "zzz")}
    hooks.features.cache_clear()
    monkeypatch.setattr(hooks, "installed", lambda: mine)
    try:
        assert [*hooks.features()] == [*ours, "aaa", "zzz"]
        mine["bbb"] = feature("aaa")
        with pytest.raises(FeatureError, match="adds the command aaa, which feature aaa of aaa "):
            hooks.added("command", [])
    finally:
        hooks.features.cache_clear()
