"""pytest-benchmark's own table, files and comparisons have our verified cells, and no others."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import pytest_benchmark.hookspec
import pytest_benchmark.plugin

from benchgate.session.pytest_hooks import benchmark_partner
from tests.plugin.conftest import TEST_FILE, Rig

# pytest-benchmark 4.0 does not close the file of --benchmark-json, which Python says at any later moment.
pytestmark = pytest.mark.filterwarnings(
    "ignore:Exception ignored in. <_io:pytest.PytestUnraisableExceptionWarning"
)

ONCE = "--runs=1"
"""Two boots; gates need more, so the session exits with UNDECIDED."""
UNDECIDED = 5
ARM = "primes.hi-10000-fake-smp2-tcg[[]work[]]"
FULL = "benchgate::primes.hi-10000-fake-smp2-tcg[work]"


@pytest.fixture
def rig(rig: Rig) -> Rig:
    rig.partner = True
    return rig


def entries(path: Path) -> Mapping[str, Any]:
    return {load["fullname"]: load for load in json.loads(path.read_text())["benchmarks"]}


def test_its_table_and_its_json_have_every_verified_run(rig: Rig) -> None:
    out = rig.folder / "partner.json"
    result = rig.run(f"--benchmark-json={out}", "--benchmark-columns=median,rounds")
    assert result.ret == 0
    group = "primes.hi-10000-fake work (lane tcg, unit ns)"
    result.stdout.fnmatch_lines([f"*benchmark '{group}': 2 tests*", f"{ARM} *", "*PASS*", "report: *"])
    one = entries(out)[FULL]
    assert one["stats"]["data"] == [pytest.approx(0.010)] * 5
    assert one["stats"]["rounds"] == 5
    assert one["extra_info"]["seconds_are"] == "wall time"
    assert one["extra_info"]["lane"] == "tcg"
    assert one["params"] == {"cpus": 2, "window": "work", "hi": 10000, "split": "cost", "wait": "join"}
    assert entries(out).keys() == entries(rig.latest / "benchmark.json").keys()


def test_a_slower_session_fails_its_comparison(rig: Rig) -> None:
    storage = (f"--benchmark-storage=file://{rig.folder}/kept", ONCE)
    result = rig.run("--benchmark-autosave", *storage)
    result.stderr.fnmatch_lines(["*Saved benchmark data in: *0001_*"])
    compare = ("--benchmark-compare", "--benchmark-compare-fail=median:5%", *storage)
    result = rig.run(*compare, "--benchmark-group-by=param:cpus")
    assert result.ret == UNDECIDED
    result.stdout.fnmatch_lines(["*benchmark 'cpus=2': 4 tests*", f"{ARM} (0001_*", f"{ARM} (NOW)*"])
    rig.consoles((19_000_000, 11_000_000))
    result = rig.run(*compare)
    assert result.ret not in (0, UNDECIDED)
    result.stdout.fnmatch_lines(["Name (time *", "report: *summary.md"])  # also where it raises
    result.stderr.fnmatch_lines(
        ["*Performance has regressed*", f"*{ARM} (0001_* - Field 'median' has failed *"]
    )


def test_a_histogram_has_the_cells(rig: Rig) -> None:
    """In a process of its own, because what pygal does to Python's search for plugins outlives a session."""
    if find_spec("pygal") is None:
        pytest.skip("pytest-benchmark draws with pygal, which is not installed")
    rig.pytester.runpytest_subprocess(*rig.arguments(ONCE, f"--benchmark-histogram={rig.folder}/drawn"))
    (work, total) = sorted(rig.folder.glob("drawn-*.svg"), reverse=True)
    assert "smp2" in work.read_text()
    assert "smp2" in total.read_text()


def test_an_unverified_cell_is_no_entry(rig: Rig) -> None:
    rig.consoles((19_000_000, 10_000_000), wrong_worker=0)
    result = rig.run(ONCE)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["primes.hi-10000-fake-smp1-tcg*"])
    result.stdout.no_fnmatch_line("primes.hi-10000-fake-smp2-tcg*")


@pytest.mark.parametrize("word", ["--benchmark-disable", "--benchmark-skip"])
def test_a_disabled_one_gets_no_entries(rig: Rig, word: str) -> None:
    result = rig.run(word, ONCE)
    assert result.ret == UNDECIDED
    result.stdout.no_fnmatch_line("*Rounds*")


def test_without_it_nothing_changes(rig: Rig) -> None:
    result = rig.run("-p", "no:benchmark", ONCE)
    assert result.ret == UNDECIDED
    result.stdout.fnmatch_lines(["report: *summary.md"])
    result.stdout.no_fnmatch_line("*Rounds*")


def test_benchmarks_of_python_are_beside_them(rig: Rig) -> None:
    out = rig.folder / "partner.json"
    rig.pytester.makepyfile(
        test_scaling=TEST_FILE, test_python="def test_sum(benchmark): benchmark(sum, [1])\n"
    )
    rig.run(ONCE, f"--benchmark-json={out}", "--benchmark-min-rounds=1", "--benchmark-max-time=0.01")
    assert {"test_python.py::test_sum", FULL} <= entries(out).keys()


def test_a_version_without_a_part_gets_one_sentence(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("pytest_benchmark.stats.Metadata.update")
    result = rig.run(ONCE)
    assert result.ret == UNDECIDED
    result.stderr.fnmatch_lines(
        ["benchgate: pytest-benchmark * has no pytest_benchmark.stats:Metadata.update, so*"]
    )
    result.stdout.no_fnmatch_line("*Rounds*")


def test_its_tables_say_what_a_second_is() -> None:
    """On the instruction clock a figure is guest time, whatever the host took."""
    hooks = pytest.PytestPluginManager()
    hooks.add_hookspecs(pytest_benchmark.hookspec)
    hooks.register(pytest_benchmark.plugin)
    hooks.register(benchmark_partner._GuestTime())
    asked = {"config": None, "sort": "min", "best": {"min": 0.002}, "worst": {"ops": 500.0}}
    for lane, label in (("insn", "guest m"), ("tcg", "m")):
        entry = {"min": 0.002, "extra_info": {"lane": lane}}
        scale = hooks.hook.pytest_benchmark_scale_unit(unit="seconds", benchmarks=[entry], **asked)
        assert scale == (label, 1e3)


def test_columns_that_a_user_chose_stay(rig: Rig) -> None:
    rig.run(ONCE).stdout.re_match_lines([r"Name \(time in ms\) +Median +Min +Max +Rounds *$"])
    rig.run(ONCE, "--benchmark-columns=max,ops").stdout.re_match_lines([r"Name \(time in ms\) +Max +OPS.*$"])
