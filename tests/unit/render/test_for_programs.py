"""Output for programs: JSON files, junit.xml, GitHub's files, the SVG."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from benchgate.base.cells import Lane
from benchgate.base.gates import CapacityBound, Word
from benchgate.render import github
from benchgate.render.files import benchmark_json, junit, speedup_svg, speedups_json, summary, verdicts_json
from benchgate.render.tables import terminal
from tests.unit.factories import cell, failing, rows, scaled_view, view

SVG = "{http://www.w3.org/2000/svg}"


def test_junit_has_the_fields_as_properties() -> None:
    root = ET.fromstring(junit.render(scaled_view()))
    case = root.find("testsuite/testcase")
    assert case is not None
    assert (case.get("name"), case.get("classname")) == ("primes-linux-smp2-work", "benchgate.speedup")
    found = {one.get("name"): one.get("value") for one in case.iter("property")}
    assert found["benchgate.outcome"] == "PASS"
    assert found["benchgate.params"] == "hi=3000000 split=balanced"
    assert float(found["benchgate.ratio"] or "0") == pytest.approx(1_275_187_210 / 659_500_000)
    assert case.find("failure") is None


@pytest.mark.parametrize(
    ("word", "is_failure", "tag"),
    [
        (Word.FAIL, True, "failure"),
        (Word.INVALID, False, "failure"),
        (Word.INCONCLUSIVE, True, "failure"),
        (Word.INCONCLUSIVE, False, "skipped"),
        (Word.SKIP, True, "skipped"),
    ],
)
def test_junit_counts_failures_and_skips(word: Word, is_failure: bool, tag: str) -> None:
    root = ET.fromstring(junit.render(replace(failing(word), inconclusive_fails=is_failure)))
    suite = root.find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == (
        "1",
        "1" if tag == "failure" else "0",
        "1" if tag == "skipped" else "0",
    )
    found = suite.find(f"testcase/{tag}")
    assert found is not None
    assert (found.get("type"), found.get("message")) == (word, f"{word}: primes-linux smp2/smp1 ...")


def compare(path: Path, *, name: str = "pytest-benchmark") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(Path(sys.executable).parent / name), "compare", str(path)],
        cwd=path.parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, "PYTHONWARNINGS": "default", "COLUMNS": "200"},
    )


def test_pytest_benchmark_compare_reads_benchmark_json(tmp_path: Path) -> None:
    path = tmp_path / "benchmark.json"
    path.write_text(benchmark_json.render(scaled_view()))
    done = compare(path)
    assert done.returncode == 0, done.stderr
    assert "Failed to load" not in done.stdout + done.stderr
    assert "primes-linux-smp1[work]" in done.stdout
    assert "primes-linux-smp2[total]" in done.stdout
    path.write_text("{}")
    assert "primes" not in compare(path).stdout


def test_benchmark_json_has_every_field_and_seconds_only_in_stats() -> None:
    data = json.loads(benchmark_json.render(scaled_view()))
    assert {"machine_info", "commit_info", "benchmarks", "datetime", "version"} <= set(data)
    one = next(entry for entry in data["benchmarks"] if entry["name"] == "primes-linux-smp2[work]")
    wanted = "group name fullname params param extra_info options stats"
    assert set(one) == set(wanted.split())
    fields = (
        "min max mean stddev rounds median iqr q1 q3 iqr_outliers stddev_outliers outliers "
        "ld15iqr hd15iqr ops total data iterations"
    )
    assert set(one["stats"]) == set(fields.split())
    assert one["stats"]["median"] == pytest.approx(0.6595)
    assert one["stats"]["min"] == pytest.approx(0.655)
    assert one["stats"]["q1"] == pytest.approx(0.659218025)
    assert one["stats"]["mean"] == pytest.approx(0.659743605)
    # The fences are 1.5 x (661.0 - 659.218) ms beyond the quartiles: 655 and 664 ms lie outside.
    assert one["stats"]["ld15iqr"] == pytest.approx(0.659218025)
    assert one["stats"]["hd15iqr"] == pytest.approx(0.661)
    assert (one["stats"]["rounds"], one["stats"]["iqr_outliers"]) == (5, 2)
    assert one["extra_info"]["speedup"] == pytest.approx(1.93357, abs=1e-5)


def test_cycles_are_not_reported_as_seconds() -> None:
    seen = view(*rows(cell(1), [1639] * 5, unit="cycles"), *rows(cell(2), [875] * 5, unit="cycles"))
    data = json.loads(benchmark_json.render(seen))
    assert data["benchmarks"] == []
    other = data["benchgate"]["other_units"]
    assert [one["name"] for one in other][:2] == ["primes-linux-smp1[work]", "primes-linux-smp1[total]"]
    assert other[0]["extra_info"]["unit"] == "cycles"
    assert other[0]["extra_info"]["samples"] == [1639] * 5
    assert "stats" not in other[0]


def test_speedups_json_has_valid_ratios_only() -> None:
    data = json.loads(speedups_json.render(scaled_view()))
    assert {name for one in data for name in one} == {"name", "unit", "value", "range", "extra"}
    first = data[0]
    assert (first["name"], first["unit"]) == ("primes-linux smp2/smp1 work (tcg)", "x")
    assert first["value"] == pytest.approx(1.93357, abs=1e-5)
    assert first["extra"].startswith("PASS")
    one = scaled_view().verdicts[0]
    invalid = scaled_view(verdicts=(replace(one, outcome=Word.INVALID),))
    assert json.loads(speedups_json.render(invalid)) == []  # of total neither: it is the same runs


def test_an_impossible_ratio_without_a_gate_is_invalid() -> None:
    """A slow base arm or a wrong clock: five runs each, 4.00x with two CPUs."""
    impossible = view(*rows(cell(1), [400_000] * 5), *rows(cell(2), [100_000] * 5, first=6))
    assert json.loads(speedups_json.render(impossible)) == []
    (two,) = (line for line in terminal.render(impossible, 120).splitlines() if line.startswith("smp2"))
    assert two.split()[-1] == "INVALID"
    entries = json.loads(benchmark_json.render(impossible))["benchmarks"]
    assert [one["extra_info"].get("verdict") for one in entries] == [None, None, "INVALID", "INVALID"]


def test_github_output_only_on_a_github_runner() -> None:
    assert github.wanted({}) == github.Wanted(None, False)
    there = github.wanted({"GITHUB_STEP_SUMMARY": "/tmp/s", "GITHUB_ACTIONS": "true"})
    assert there == github.Wanted(Path("/tmp/s"), True)
    assert github.workflow_commands(scaled_view()) == ()
    assert github.workflow_commands(failing(Word.FAIL)) == (
        "::error title=benchgate primes-linux-smp2::FAIL: primes-linux smp2/smp1 ...",
    )
    assert github.workflow_commands(failing(Word.INCONCLUSIVE))[0].startswith("::warning ")
    assert summary.PICTURE not in github.step_summary(scaled_view())


def test_a_summary_too_long_for_github_names_the_file() -> None:
    many = scaled_view(notes=tuple("n" * 1000 for _ in range(1100)))
    text = github.step_summary(many)
    assert len(text) < 1000
    assert "summary.md" in text


def test_the_svg_has_the_ideal_line_the_points_and_the_host() -> None:
    seen = scaled_view(capacity={2: CapacityBound(Lane.TCG, 2, 1.94, 1.90, 1.97)})
    root = ET.fromstring(speedup_svg.render(seen))
    assert root.tag == f"{SVG}svg"
    titles = [one.text for one in root.iter(f"{SVG}title")]
    assert "smp2 1.934x PASS" in titles
    assert "host capacity 1.94x" in titles
    assert [one.get("class") for one in root.iter(f"{SVG}path")].count("ideal") == 1
    allowed = {"svg", "title", "style", "path", "text", "circle", "rect"}
    assert {one.tag.removeprefix(SVG) for one in root.iter()} <= allowed


def test_a_better_speedup_is_drawn_higher() -> None:
    def height(two: int) -> float:
        root = ET.fromstring(speedup_svg.render(view(*rows(cell(1), [200] * 5), *rows(cell(2), [two] * 5))))
        return float(next(root.iter(f"{SVG}circle")).get("cy") or "nan")

    assert height(100) < height(150) < height(300)


def test_verdicts_json_has_every_field_of_a_verdict() -> None:
    shown = scaled_view()
    (stored,), (verdict,) = json.loads(verdicts_json.render(shown)), shown.verdicts
    assert (stored["params"], stored["lane"], stored["outcome"]) == (
        {"hi": 3000000, "split": "balanced"},
        "tcg",
        "PASS",
    )
    assert stored | {"params": verdict.params} == asdict(verdict)
