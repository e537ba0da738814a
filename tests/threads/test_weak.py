"""Four CPUs hash four times as many blocks as one, and take no longer (weak scaling).

The limit is for the instruction clock, where 4 CPUs need no host CPUs of their own.
"""

import pytest

from benchgate import VerdictResult

pytestmark = [pytest.mark.threads, pytest.mark.tern]


@pytest.mark.system("kernel")
@pytest.mark.workload("checksum", blocks=16_384)
@pytest.mark.weak(cpus=2, grows="blocks", at_least=0.8, insn=0.95)
@pytest.mark.weak(cpus=4, grows="blocks", at_least=0.75, insn=0.95)
def test_four_cpus_keep_up_with_four_times_the_work(verdict: VerdictResult) -> None:
    verdict.require_pass()
