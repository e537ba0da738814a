"""A latency gate alone is pointed out before anything runs, and `-W error` does not make that an error."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import Rig

ALONE = """\
import pytest

@pytest.mark.workload("schbench")
@pytest.mark.limit(cpus=2, metric="wakeup_p99", at_most=50_000)
def test_wakes_soon(verdict):
    verdict.require_pass()
"""
RPS = '@pytest.mark.limit(cpus=2, metric="rps", at_least=1)\n'
SAYS = "benchgate: schbench-fake-smp2-limit-wakeup_p99: wakeup_p99 does not see a CPU that stays idle, *"


@pytest.mark.parametrize("words", [["--collect-only"], ["--plan"]])
def test_a_latency_gate_alone_is_pointed_out_at_collection(rig: Rig, words: list[str]) -> None:
    rig.more = "services: {clock: mine, park: mine, sleep: mine, cpu: mine}\n"
    rig.pytester.makepyfile(test_scaling=ALONE)
    result = rig.run("--smp=1,2", *words, play="cannot-start")
    assert result.ret == 0
    result.stderr.fnmatch_lines([SAYS])
    rig.pytester.makepyfile(test_scaling=ALONE.replace("def test", RPS + "def test"))
    result = rig.run("--smp=1,2", *words, play="cannot-start")
    assert result.ret == 0
    result.stderr.no_fnmatch_line(SAYS)
