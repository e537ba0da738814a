"""speedups.json: valid ratios only, as github-action-benchmark itself reads it."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.gates import Word
from benchgate.render.files import benchmark_json, speedups_json
from benchgate.render.tables import terminal
from tests import optional
from tests.machines import PATIENCE_S
from tests.unit.factories import BASE_NS, TWO_NS, cell, rows, scaled_view, view


def test_speedups_json_has_valid_ratios_only() -> None:
    data = json.loads(speedups_json.render(scaled_view()))
    assert {name for one in data for name in one} == {"name", "unit", "value", "range", "extra"}
    first = data[0]
    assert (first["name"], first["unit"]) == ("primes-linux smp2/smp1 work (tcg)", "x")
    assert first["value"] == pytest.approx(1.93357, abs=1e-5)
    assert first["extra"].startswith("PASS")
    verdict = scaled_view().verdicts[0]
    invalid = scaled_view(verdicts=(replace(verdict, outcome=Word.INVALID),))
    assert json.loads(speedups_json.render(invalid)) == []  # of total neither: it is the same runs


def test_an_impossible_ratio_without_a_gate_is_invalid() -> None:
    """A slow base arm or a wrong clock: five runs each, 4.00x with two CPUs."""
    impossible = view(*rows(cell(1), [400_000] * 5), *rows(cell(2), [100_000] * 5, first=6))
    assert json.loads(speedups_json.render(impossible)) == []
    (two,) = (line for line in terminal.render(impossible, 120).splitlines() if line.startswith("smp2"))
    assert two.split()[-1] == "INVALID"
    entries = json.loads(benchmark_json.render(impossible))["benchmarks"]
    assert [entry["extra_info"].get("verdict") for entry in entries] == [None, None, "INVALID", "INVALID"]


def test_the_names_are_unique_for_the_chart_finds_the_last_value_by_name() -> None:
    both = view(*scaled_view().rows, *rows(cell(1, system="kernel"), BASE_NS, first=30))
    two = view(*both.rows, *rows(cell(2, system="kernel"), TWO_NS, first=40))
    names = [load["name"] for load in json.loads(speedups_json.render(two))]
    assert len(names) == 4
    assert len(set(names)) == 4


ACTION = "BENCHGATE_ACTION_BENCHMARK"
"""A folder with the action's own code: a checkout of its release, with `dist` and `node_modules`."""
READ = """
const { extractResult } = require(process.argv[2] + '/dist/src/extract.js');
const config = { tool: 'customBiggerIsBetter', outputFilePath: process.argv[3] };
extractResult(config).then(
    (found) => console.log(JSON.stringify(found.benches)),
    (error) => { console.error(String(error)); process.exit(1); });
"""


@pytest.fixture
def action(tmp_path: Path) -> Path:
    """The code of github-action-benchmark, from a checkout or from npm."""
    optional.path("node")
    if given := os.environ.get(ACTION):
        return Path(given)
    words = [
        optional.path("npm"),
        "install",
        "--prefix",
        str(tmp_path),
        "--ignore-scripts",
        "github-action-benchmark",
    ]
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    if done.returncode != 0:
        pytest.skip(f"npm does not have github-action-benchmark; {ACTION} names a checkout of its release")
    return tmp_path / "node_modules" / "github-action-benchmark"


def fed(action: Path, folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    """What the action's own reader makes of the file, in a workflow that was started by a push."""
    (folder / "read.js").write_text(READ)
    (folder / "speedups.json").write_text(text)
    (folder / "event.json").write_text('{"head_commit": {"id": "0123abc", "message": "a change"}}')
    return subprocess.run(
        ["node", str(folder / "read.js"), str(action), str(folder / "speedups.json")],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        env={**os.environ, "GITHUB_EVENT_PATH": str(folder / "event.json")},
    )


def test_github_action_benchmark_reads_it(action: Path, tmp_path: Path) -> None:
    text = speedups_json.render(scaled_view())
    done = fed(action, tmp_path, text)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == json.loads(text)
    refused = fed(action, tmp_path, text.replace('"value"', '"figure"'))
    assert refused.returncode == 1
    assert "BenchmarkResult format" in refused.stderr
    empty = fed(action, tmp_path, speedups_json.render(view()))
    assert "No benchmark result was found" in empty.stderr  # so a chart never gets an empty success
