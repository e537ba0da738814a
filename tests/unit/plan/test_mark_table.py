"""The table of marks: what is written elsewhere agrees with its rows, and each row can be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.hooks import GATE, GateMark
from benchgate.judge.gates import find
from benchgate.plan import mark_table, marks
from benchgate.plan.mark_table import OF_KIND, PLAIN, TABLE
from benchgate.plan.marks import MarkArguments


def test_no_name_is_used_twice() -> None:
    names = [*(mark.name for mark in PLAIN), *(mark.name for mark in TABLE)]
    assert len(set(names)) == len(names)


def test_every_mark_but_gate_is_that_of_a_shipped_kind() -> None:
    for kind in OF_KIND.keys() - {GATE}:
        assert callable(find(kind))


@pytest.mark.parametrize("row", TABLE, ids=lambda one: one.name)
def test_the_example_of_a_row_is_a_mark_that_is_read(
    row: GateMark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.py").write_text('KIND = "mine"\n')
    monkeypatch.chdir(tmp_path)
    made = eval(f"Mark_({row.example})", {"Mark_": lambda *args, **given: MarkArguments(args, given)})
    (gate,) = marks.read(MarkArguments(("primes",), {}), {row.name: [made]}).gates
    assert gate.kind in {*row.kinds, "mine"}


def test_a_signature_has_what_is_needed_first_and_the_defaults() -> None:
    row = GateMark("fair", "", "", takes=("metric", "among", "cpus", "base"), base=2)
    assert row.signature == "fair(cpus, metric='work', among=, base=2)"
    assert row.settings == ("among",)


def test_a_mark_of_a_range_has_both_bounds() -> None:
    takes = ("cpus", "at_least", "at_most")
    row = GateMark("within", "", "", takes=takes, needs=takes, file="within.py")
    (gate,) = marks.read(
        MarkArguments(("primes",), {}),
        {"within": [MarkArguments((), {"cpus": 2, "at_least": 1, "at_most": 2})]},
        table={"within": row},
    ).gates
    assert (gate.kind, gate.file, gate.at_least, gate.at_most) == ("within", "within.py", 1.0, 2.0)
    assert row.signature == "within(cpus, at_least, at_most)"


def test_a_row_cannot_need_what_it_does_not_take() -> None:
    with pytest.raises(ValueError, match="mark fair: needs cpus, which it does not take"):
        GateMark("fair", "", "", takes=("metric",))


def test_pytest_is_told_of_every_mark() -> None:
    names = [line.partition(":")[0].partition("(")[0] for line in mark_table.lines()]
    assert names == [*(mark.name for mark in PLAIN), *(mark.name for mark in TABLE)]


def test_a_features_mark_is_before_the_one_that_it_names_or_last() -> None:
    """Verdicts of one test are in this order."""
    a, b = (GateMark(name, "", "", takes=("cpus",)) for name in "ab")
    x, y, z = (GateMark(name, "", "", takes=("cpus",), before=before) for name, before in ("xb", "y-", "za"))
    assert [row.name for row in mark_table.placed((a, b), (x, y, z))] == ["z", "a", "x", "b", "y"]
