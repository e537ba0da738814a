"""What the history keeps of a session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from benchgate.base.cells import Lane
from benchgate.base.errors import EvidenceError
from benchgate.base.runs import Outcome
from benchgate.base.workload.metrics import Metric, MetricDirection, MetricKind
from benchgate.features.history.entry import entry_of
from benchgate.features.history.errors import HistoryError
from tests.unit.factories import cell, rows

FACTS: Mapping[str, Any] = {
    "id": "20260102T030405Z-abcdef",
    "started": "2026-01-02T03:04:05Z",
    "commit": "0123abc",
    "diff_digest": "",
    "versions": {"pytest-benchgate": "0.1.0"},
}


def test_counted_runs_are_kept_by_series() -> None:
    rate = Metric("rate", MetricKind.RATE, MetricDirection.MORE, "ops/s")
    warm, *good = rows(cell(2), [900, 300, 310])
    given = [replace(warm, outcome=Outcome.WARMUP), *(replace(row, metrics=((rate, 5.0),)) for row in good)]
    entry = entry_of(FACTS, given, "ab" * 32)
    assert {
        (series.metric, series.better, series.unit): values for series, values in entry.samples.items()
    } == {
        ("work", "less", "ns"): {2: 300.0, 3: 310.0},
        ("total", "less", "ns"): {2: 1300.0, 3: 1310.0},
        ("rate", "more", "ops/s"): {2: 5.0, 3: 5.0},
    }
    assert {sample.cell for sample in entry.samples} == {"primes-linux-smp2"}
    assert all(sample.machine.startswith("cpu_model") for sample in entry.samples)
    assert (entry.verified, entry.commit, entry.version) == (True, "0123abc", "0.1.0")


def test_a_cell_has_one_name_whether_its_session_has_one_clock_or_two() -> None:
    both = [
        replace(row, cell=replace(row.cell, clock="insn"))
        for row in rows(cell(2), [300], lane=Lane.INSN, unit="insn")
    ]
    (work, _) = entry_of(FACTS, both, "ab" * 32).samples
    assert (work.cell, work.row, work.lane, work.machine) == ("primes-linux-smp2", "primes-linux", "insn", "")


def test_a_guest_that_changed_in_the_session_has_no_digest() -> None:
    row, other = rows(cell(2), [300, 310])
    same = entry_of(FACTS, [row, other], "ab" * 32)
    assert set(same.guests.values()) == {"a" * 64}
    assert set(entry_of(FACTS, [row, replace(other, guest_digest="b" * 64)], "ab" * 32).guests.values()) == {
        ""
    }


@pytest.mark.parametrize(
    "change", [{"id": "../x"}, {"id": None}, {"started": "yesterday"}, {"started": "2026-01-02T03:04:05Z\n"}]
)
def test_a_strange_session_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(EvidenceError, match="is not benchgate's"):
        entry_of({**FACTS, **change}, rows(cell(2), [300]), "ab" * 32)


def test_a_session_without_a_verified_run_is_refused() -> None:
    void = [replace(row, outcome=Outcome.VOID) for row in rows(cell(2), [300])]
    with pytest.raises(HistoryError, match="has no verified run"):
        entry_of(FACTS, void, "ab" * 32)


def test_a_series_on_the_instruction_clock_says_its_simulated_machine() -> None:
    facts = {**FACTS, "machines": {"desktop8": {"digest": "c" * 64, "text": ""}}}
    on = rows(cell(2, system="linux-desktop8"), [300], lane=Lane.INSN, unit="insn")
    (work, _) = entry_of(facts, on, "ab" * 32).samples
    assert (work.cell, work.machine) == ("primes-linux-desktop8-smp2", f"desktop8 {'c' * 64}")


def test_a_changed_machine_file_begins_another_course() -> None:
    on = rows(cell(2, system="linux-desktop8"), [300], lane=Lane.INSN, unit="insn")
    series, other = (
        next(
            iter(
                entry_of({**FACTS, "machines": {"desktop8": {"digest": digest * 64}}}, on, "ab" * 32).samples
            )
        )
        for digest in "cd"
    )
    assert series != other
    assert replace(series, machine="") == replace(other, machine="")
