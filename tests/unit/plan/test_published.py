"""Published rows are ratios of the figures in the files, with their sources; other files are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.base.errors import CatalogError
from benchgate.plan import published


def test_rows_of_a_workload_have_source_machine_and_ratios() -> None:
    rows = published.rows_of({"checksum"})
    assert len(rows) == 5
    first = dict(rows[0].systems)
    assert dict(first["capos"]) == {
        "smp2 work": 1.809, "smp4 work": 3.088, "smp2 total": 1.774, "smp4 total": 2.700,
    }  # fmt: skip
    assert rows[0].source.startswith("capOS")
    assert published.rows_of(set()) == ()


def test_smt_rows_say_so() -> None:
    names = [key for row in published.rows_of({"primes"}) for _, ratios in row.systems for key, _ in ratios]
    assert names.count("smp8-smt work") == 2
    assert "smp8 work" not in names


def test_percentiles_and_costs_become_ratios() -> None:
    (loaded, _) = published.rows_of({"schbench"})
    assert dict(dict(loaded.systems)["linux"])["wakeup p99/p50"] == 272 / 7
    (getpid, *_) = published.rows_of({"micro"})
    assert getpid.systems == (("kevlar / linux", (("cost", 2_233_600 / 264),)),)


def test_a_misspelt_key_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("source: s\nrows:\n  - name: a\n    workload: {name: w, mode: thread}\n    hots: b\n")
    with pytest.raises(CatalogError, match=r"x\.yaml:5: .*hots: unknown key"):
        published.read(path)
