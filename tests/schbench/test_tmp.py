import pytest
pytestmark=[pytest.mark.smp]
@pytest.mark.workload("schbench", time_ns=100_000_000, footprint_kb=32, interval_ms=20)
@pytest.mark.limit(cpus=2, metric="rps", at_least=1)
def test_x(verdict):
    verdict.require_pass()
