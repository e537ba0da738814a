"""False sharing fails a gate on a machine with memory, and only there: one session of three rows."""

from __future__ import annotations

from pathlib import Path

from tests.line.sessions import light_tern, run_pytest

ROW = """

@pytest.mark.system("kernel.yaml")
@pytest.mark.machine("{machine}")
@pytest.mark.workload("counters", steps=4000, layout="{layout}")
@pytest.mark.speedup(cpus=2, at_least=1.6)
def test_{layout}_on_{machine}(verdict):
    verdict.require_pass()
"""
ROWS = (("packed", "ideal"), ("packed", "server2x16"), ("padded", "server2x16"))


def test_counters_in_one_line_fail_the_gate_that_they_pass_on_the_ideal_machine(tmp_path: Path) -> None:
    light_tern(tmp_path)
    rows = "".join(ROW.format(layout=layout, machine=machine) for layout, machine in ROWS)
    (tmp_path / "test_row.py").write_text(f"import pytest\n{rows}")
    session = run_pytest(tmp_path, "test_row.py", "--clock=insn", "--smp=1,2")
    told = {verdict["id"]: verdict["outcome"] for verdict in session.verdicts if verdict["gate"] == "speedup"}
    assert told == {
        "counters.layout-packed.steps-4000-kernel-smp2": "PASS",
        "counters.layout-packed.steps-4000-kernel-server2x16-smp2": "FAIL",
        "counters.steps-4000-kernel-server2x16-smp2": "PASS",  # padded, as the workload is by itself
    }, session.output
    assert session.code == 1, session.output
    failed = [line for line in session.output.splitlines() if line.startswith("FAILED")]
    assert len(failed) == 1
    assert "test_packed_on_server2x16" in failed[0]
