"""Debian's riscv64 kernel, which wakes workers on a busy CPU beside idle ones.

docs/explanation/architectures.md says why; docs/measured/schedulers.md has the measured figures.
"""

import pytest

from benchgate import VerdictResult

pytestmark = pytest.mark.schedulers

ROW = pytest.mark.workload("checksum", rounds=8)


@pytest.mark.system("linux:arch=riscv64")
@ROW
@pytest.mark.limit(cpus=8, metric="wasted", at_least=0.01)
def test_a_worker_waits_beside_an_idle_cpu_small(verdict: VerdictResult) -> None:
    verdict.require_pass()
