"""`python -m contrib.calibration measure --quick` on this host: whatever it is and however busy, the file is
good and says how each figure is known. No figure is compared with a time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchgate.base.paths import data_root
from contrib.calibration import curve
from tests.machines import PATIENCE_S
from tests.unit.machines import with_memory

SAID = ("measured", "told by the host", "assumed")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("calibrated")


@pytest.fixture(scope="module")
def output(folder: Path) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "contrib.calibration", "measure", "--quick"]
    words += ["--out", str(folder / "here.yaml")]
    return subprocess.run(
        words, cwd=data_root(), capture_output=True, text=True, check=False, timeout=10 * PATIENCE_S
    )


def test_it_ends_well_and_shows_its_progress(folder: Path, output: subprocess.CompletedProcess[str]) -> None:
    assert output.returncode == (1 if "the file DOES NOT agree with the curve" in output.stdout else 0)
    assert f"wrote {folder}/here.yaml, {folder}/here.csv, {folder}/here.svg" in output.stdout, output.stderr
    assert "benchgate: chase (huge): pass 3 of 3" in output.stderr
    assert "Traceback" not in output.stderr


def test_the_file_has_every_cpu_of_this_process(
    folder: Path, output: subprocess.CompletedProcess[str]
) -> None:
    machine = with_memory((folder / "here.yaml").read_text(), folder / "here.yaml")
    assert machine.cpus == len(os.sched_getaffinity(0))
    assert machine.memory_local_ns >= machine.l2.latency_ns >= 1


def test_every_figure_says_how_it_is_known(folder: Path, output: subprocess.CompletedProcess[str]) -> None:
    assert output.stdout
    lines = (folder / "here.yaml").read_text().splitlines()
    for key in ("l1d", "l1i", "l2", "local_ns", "atomic_ns", "interrupt_ns", "clusters", "sockets"):
        at = next(n for n, line in enumerate(lines) if line.strip().startswith(f"{key}: "))
        assert any(word in line for line in lines[max(at - 8, 0) : at] for word in SAID), key


def test_the_curve_and_the_picture_are_beside_it(
    folder: Path, output: subprocess.CompletedProcess[str]
) -> None:
    assert output.stdout
    points = next(iter(curve.load_curves(folder / "here.csv").values()))
    assert points[0].size == 4096
    assert curve.envelope(points)
    assert ElementTree.parse(folder / "here.svg").getroot().tag.endswith("svg")
