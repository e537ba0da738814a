"""Rows are those that pytest selects; smokes are those of the systems' YAML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchgate.base.errors import UsageError
from benchgate.features.explore.session import rows
from benchgate.features.explore.session.request import ExplorationRequest

TESTS = """
import pytest

@pytest.mark.workload("primes", hi=50_000)
def test_primes(cell):
    pass

@pytest.mark.workload("checksum")
@pytest.mark.speedup(cpus=4, at_least=1.6)
def test_checksum(verdict):
    pass

def test_other():
    pass
"""


@pytest.fixture
def tests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    file = tmp_path / f"test_explored_{tmp_path.name.replace('-', '_')}.py"
    file.write_text(TESTS)
    return str(file)


def ids(selection: rows.RowSelection) -> list[str]:
    return [planned_cell.cell.id for planned_cell in selection.cells]


def test_cells_and_the_arms_of_gates_with_more_than_one_cpu(tests: str) -> None:
    selection = rows.select(ExplorationRequest(paths=(tests,), systems=("kernel",)))
    assert ids(selection) == [
        "primes.hi-50000-kernel.start-warm-smp2",
        "primes.hi-50000-kernel.start-warm-smp4",
        "checksum-kernel.start-warm-smp4",
    ]
    assert (
        "primes.hi-50000-kernel.start-warm-smp1: it has one CPU; --smp 1 explores it, too" in selection.notes
    )
    assert {cell.seats.lane for cell in selection.cells} == {"insn"}
    assert selection.options.clock == "insn"


def test_cpu_counts_that_are_named_do_not_add_one_cpu(tests: str) -> None:
    """A speedup is a ratio to one CPU, so pytest plans that arm whether or not --smp names it."""
    selection = rows.select(ExplorationRequest(paths=(tests,), systems=("kernel",), smp="2,4"))
    assert {planned_cell.cell.cpus for planned_cell in selection.cells} == {2, 4}
    assert "checksum-kernel.start-warm-smp1: it has one CPU; --smp 1 explores it, too" in selection.notes


def test_pytests_own_selection_and_options_count(tests: str) -> None:
    asked = ExplorationRequest(
        paths=(tests,), systems=("kernel",), smp="1", words=("-k", "primes", "--set", "primes.hi=70000")
    )
    assert ids(rows.select(asked)) == ["primes.hi-70000-kernel.start-warm-smp1"]


@pytest.mark.parametrize(
    ("asked", "started"),
    [
        ({}, "linux.start-warm"),
        ({"start": "warm"}, "linux.start-warm"),
        ({"start": "cold"}, "linux"),
        ({"words": ("--start", "cold")}, "linux"),
    ],
)
def test_rows_start_warm_where_they_can_unless_somebody_asks_for_another_start(
    tests: str, asked: Mapping[str, Any], started: str
) -> None:
    found = rows.select(
        ExplorationRequest(**{"paths": (tests,), "smp": "2", "words": ("-k", "primes"), **asked})
    )
    assert f"primes.hi-50000-{started}-smp2" in ids(found)
    assert {one.system.name for one in found.cells} == {started}


def test_a_process_of_this_host_is_not_explored(tests: str) -> None:
    with pytest.raises(UsageError, match=r"nothing to explore .*only guests on the instruction clock"):
        rows.select(ExplorationRequest(paths=(tests,), systems=("native",)))


def test_what_pytest_cannot_collect_is_a_sentence(tests: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"pytest cannot collect .*absent\.py \(status 4\)"):
        rows.select(ExplorationRequest(paths=(str(tmp_path / "absent.py"),)))
    with pytest.raises(UsageError, match="nothing to explore below"):
        rows.select(ExplorationRequest(paths=(tests,), words=("-k", "other")))


def test_the_smokes_of_a_system_at_its_cpu_counts() -> None:
    assert ids(rows.select(ExplorationRequest(smoke=True, systems=("kernel",)))) == [
        "smoke-kernel-smp2",
        "smoke-kernel-smp4",
    ]
    assert ids(rows.select(ExplorationRequest(smoke=True, systems=("kernel",), smp="3"))) == [
        "smoke-kernel-smp3"
    ]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (ExplorationRequest(), "name tests, such as tests/smp, or a system"),
        (ExplorationRequest(smoke=True, paths=("tests",)), "--smoke explores no tests"),
        (ExplorationRequest(smoke=True, words=("-k", "x")), "--smoke runs no pytest"),
        (
            ExplorationRequest(smoke=True, start="warm", systems=("kernel",)),
            "a smoke is a boot, so it starts cold",
        ),
        (ExplorationRequest(smoke=True, window=True, systems=("kernel",)), "a smoke has no timed window"),
        (ExplorationRequest(smoke=True, systems=("linux",)), "`smoke` is missing"),
        (ExplorationRequest(smoke=True, systems=("kernel",), smp="65"), "kernel runs on 1 to 64 CPUs"),
    ],
)
def test_what_cannot_be_explored_is_a_sentence(asked: ExplorationRequest, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        rows.select(asked)


def test_a_window_that_nothing_tells_is_a_note_and_no_exploration_without_stalls(
    tests: str, tmp_path: Path
) -> None:
    kernel = tmp_path / "mine.yaml"
    kernel.write_text(
        "version: 1\nname: mine\nkind: qemu\nboot: {kernel: k.elf}\nend: {by: kill}\n"
        "ask: selftest\nconsole: {online_lines: '^cpu'}\n"
        'result: {format: patterns, work: {from: "^a$", to: "^b$"},\n'
        '  answers: ["^(?P<x>1)$"], expect: {x: "1"}}\n'
    )
    file = Path(tests)
    file.write_text("import pytest\n\n@pytest.mark.workload('selftest')\ndef test_self(cell):\n    pass\n")
    asked = ExplorationRequest(paths=(tests,), systems=(str(kernel),), smp="2")
    (cell,) = rows.select(asked).cells
    assert not rows.has_window(cell.system)
    with pytest.raises(UsageError, match="it has neither marks nor a prompt, so --window knows no window"):
        rows.select(replace(asked, window=True))
