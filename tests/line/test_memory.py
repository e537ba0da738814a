"""False sharing fails a gate on a machine with memory, and only there: one test, three sessions."""

from __future__ import annotations

from pathlib import Path

from tests.line.sessions import Session, light_tern, run_pytest

ROW = """\
import pytest


@pytest.mark.system("kernel.yaml")
@pytest.mark.workload("counters", steps=4000, layout="{layout}")
@pytest.mark.speedup(cpus=2, at_least=1.6)
def test_scales(verdict):
    verdict.require_pass()
"""


def gated(where: Path, layout: str, machine: str) -> Session:
    where.mkdir()
    light_tern(where)
    (where / "test_row.py").write_text(ROW.format(layout=layout))
    return run_pytest(where, "test_row.py", "--clock=insn", "--smp=1,2", f"--machine={machine}")


def test_counters_in_one_line_fail_the_gate_that_they_pass_on_the_ideal_machine(tmp_path: Path) -> None:
    ends = {
        (layout, machine): gated(tmp_path / f"{layout}-{machine}", layout, machine)
        for layout, machine in [("packed", "ideal"), ("packed", "server2x16"), ("padded", "server2x16")]
    }
    told = {where: [verdict["outcome"] for verdict in end.verdicts] for where, end in ends.items()}
    output = "\n".join(end.output for end in ends.values())
    assert told == {
        ("packed", "ideal"): ["PASS"],
        ("packed", "server2x16"): ["FAIL"],
        ("padded", "server2x16"): ["PASS"],
    }, output
    assert [end.code for end in ends.values()] == [0, 1, 0], output
