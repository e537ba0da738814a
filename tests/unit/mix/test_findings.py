from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

from benchgate.mix import files, findings
from benchgate.mix.programme import best
from tests.unit.mix import paper


def said(tmp_path: Path, vectors: str, sensitivity: str = paper.SENSITIVITY, **capacity: str) -> list[str]:
    applications = files.read(*paper.write(tmp_path, vectors, sensitivity))
    limits = {name: Fraction(word) for name, word in capacity.items()}
    return [line.removeprefix(f"{tmp_path}/") for line in findings.of_applications(applications, limits)]


def test_nothing_is_odd_about_the_paper(tmp_path: Path) -> None:
    assert said(tmp_path, paper.VECTORS) == []


def test_an_input_that_exceeds_a_capacity_alone(tmp_path: Path) -> None:
    (found,) = said(tmp_path, paper.VECTORS, disk="0.7")
    assert re.search(r"^v\.csv:7: disk: antiv\.N alone uses 80%, .* of 70%, and is in no mix$", found)


def test_a_resource_that_no_input_uses(tmp_path: Path) -> None:
    vectors = "application,input,score,cpu,disk\ngame,1,1,0.5,0\n"
    (found,) = said(tmp_path, vectors, "application,cpu,disk\ngame,1,1\n")
    assert found.startswith("v.csv:1: no input uses disk")


def test_an_input_that_adds_nothing(tmp_path: Path) -> None:
    vectors = "application,input,score,cpu\ngame,1,1,0.5\nidle,1,1,0.5\n"
    (found,) = said(tmp_path, vectors, "application,cpu\ngame,1\nidle,0\n")
    assert re.search(r"^v\.csv:3: idle\.1 uses no resource .* in no mix$", found)


def test_a_resource_that_is_unavailable(tmp_path: Path) -> None:
    vectors = "application,input,score,cpu,disk\ngame,1,1,0.5,unavailable\n"
    (found,) = said(tmp_path, vectors, "application,cpu,disk\ngame,1,1\n")
    assert found.startswith("v.csv:1: disk is unavailable ")


def test_a_resource_that_the_best_mix_leaves_alone(tmp_path: Path) -> None:
    vectors = "application,input,score,cpu,disk\ngame,1,1,1,0\nscan,1,1,0.1,0.1\n"
    applications = files.read(
        *paper.write(tmp_path, vectors, "application,cpu,disk\ngame,1,1\nscan,0.1,0.1\n")
    )
    (mix,) = best(applications, {})
    (found,) = findings.of_mix(mix, applications)
    assert found.startswith(f"{tmp_path}/v.csv:1: the best mix does not use disk")


def test_an_input_that_uses_next_to_nothing(tmp_path: Path) -> None:
    """The programme would be bounded by 100 million of them."""
    vectors = "application,input,score,cpu\ngame,1,1,0.00000001\n"
    applications = files.read(*paper.write(tmp_path, vectors, "application,cpu\ngame,1\n"))
    (mix,) = best(applications, {})
    (found,) = findings.of_mix(mix, applications)
    assert re.search(r"/v\.csv:2: game\.1 .* 10,000 instances fit", found)
