"""The lines of `witness:`: what is read of them, and that a wrong one is refused with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.base.errors import CatalogError
from benchgate.base.workload.witness import Promise
from benchgate.plan import catalog, workloadfile

HEAD = """\
name: sums
mode: thread
source: none
oracle: oracle.py
params:
  rounds: {default: 5, maximum: 9}
  pause: {default: 5, maximum: 9, unit: us}
  kind: {default: a, choices: [a, b]}
metrics:
  p99: {kind: percentile, of: latency, at: 99}
  cost: {kind: time, of: spent, per: done}
  rate: {kind: rate, of: done, per: result.length}
witness:
"""


def read(folder: Path, line: str) -> tuple[Promise, ...]:
    (folder / "oracle.py").write_text("def check(params, reports, result): ...\n")
    (folder / "sums.yaml").write_text(f"{HEAD}{line}")
    return workloadfile.load(folder / "sums.yaml").promises


def test_a_line_has_its_claims_its_reason_and_when_it_is_made(tmp_path: Path) -> None:
    claims = "[syscalls.write >= rounds, wakes >= rounds]"
    (found,) = read(tmp_path, f"  - {{claim: {claims}, when: {{kind: [a, b], rounds: 5}}, because: x y}}\n")
    assert [claim.text for claim in found.claims] == ["syscalls.write >= rounds", "wakes >= rounds"]
    assert (found.because, found.when) == ("x y", {"kind": ("a", "b"), "rounds": ("5",)})


@pytest.mark.parametrize(
    "claim",
    [
        "latency.max <= work",
        "most.latency.sum <= 10 * pause + total",
        "printed.spent <= work",
        "result.length <= work",
        "cost <= work",
        "1 / rate <= work",
        "latency.count <= syscalls",
        "least.done + result.lost <= workers * cpus * total.syscalls",
    ],
)
def test_a_reported_value_has_the_unit_that_the_metrics_give_it(tmp_path: Path, claim: str) -> None:
    assert read(tmp_path, f'  - {{claim: "{claim}", because: x}}\n')[0].text == claim


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{claim: rounds >= 1, because: x}", "sums.yaml:14: witness.0.claim: .*nothing that the machine saw"),
        ("{claim: writes >= roundz, because: x}", "there is no `roundz`; did you mean `?rounds"),
        ("{claim: writes >= kind, because: x}", "`kind` is a word"),
        ("{claim: work >= rounds, because: x}", "between ns and a count"),
        ("{claim: latency.max <= syscalls, because: x}", "between ns and a count"),
        ("{claim: writes >=, because: x}", "ends too early"),
        ("{claim: writes >= 1}", "because: is missing"),
        ("{because: x}", "claim: is missing"),
        ("{claim: writes >= 1, because: x, wenn: {}}", "unknown key"),
        ("{claim: writes >= 1, because: x, when: {kind: c}}", "`c` is no choice"),
        ("{claim: writes >= 1, because: x, when: {kin: a}}", "is no parameter"),
        ("{claim: writes >= 1, because: x, when: {rounds: many}}", "a whole number"),
        ("{histogram: latency, sees: sleeps, because: x}", "not one of wakes"),
        ("{histogram: latency, sees: wakes, since: rounds, because: x}", "expected a length of time"),
        ("{histogram: latency, sees: wakes, until: work, because: x}", "`work` is no parameter"),
        ("writes >= 1", "expected mappings"),
    ],
)
def test_a_wrong_line_is_refused_with_its_place(tmp_path: Path, line: str, why: str) -> None:
    with pytest.raises(CatalogError, match=why):
        read(tmp_path, f"  - {line}\n")


def test_no_file_promises_more_than_64_lines(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match="more than 64"):
        read(tmp_path, "  - {claim: writes >= 1, because: x}\n" * 65)


@pytest.mark.parametrize("name", catalog.names("workload"))
def test_each_workload_that_ships_promises_something(name: str) -> None:
    assert catalog.load_workload(name).promises
