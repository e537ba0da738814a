"""What a real Linux guest counts with --measure: the same table as tern's, `na` where it has no bucket."""

from __future__ import annotations

from pathlib import Path

from benchgate import attribution
from tests import ternkit


def test_the_attribution_of_a_linux_guest(tmp_path: Path) -> None:
    judged = ternkit.tern(tmp_path).run("linux", "tasks", 2, {"steps": 20_000}, measure=True)
    assert judged.verified, judged.reason
    said = ternkit.transcript(judged)
    table = attribution.table(judged.run.cell.id, said)
    whole = said.total_end - said.total_start
    for cpu in (0, 1):
        busy = table.by_cpu["busy_time"][cpu]
        assert busy is not None
        assert 0 < busy < 2 * whole + 10**9  # the snapshots lie around the window, not in it
    # A step is given up by yielding, so the scheduler is asked once a step, whatever it does then.
    assert (table.value("picks") or 0) >= 20_000
    assert (table.value("switches") or 0) > 0
    assert (table.value("ticks") or 0) > 0
    assert table.value("foreign_time") == said.foreign
    absent = ("idle_time", "pick_time", "migrations", "syscalls", "network_polls", "serial_bytes")
    assert [table.value(name) for name in absent] == [None] * len(absent)
    assert [table.value("busy_time", phase) for phase in attribution.PHASES[:3]] == [None] * 3
