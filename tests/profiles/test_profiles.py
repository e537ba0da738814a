"""The cost of safety: tern's build profiles on the row that enters the kernel most often.

The report compares each profile with `balanced`, which is the plain system (docs/profiles.md). No gate
compares profiles, because no limit on the cost of safety is right for everyone. Each profile must scale.
"""

import pytest

from benchgate import CellResult, VerdictResult

pytestmark = pytest.mark.profiles

SYSTEMS = ("kernel", "kernel:profile=debug", "kernel:profile=hardened", "kernel:profile=fast")


@pytest.mark.system(*SYSTEMS)
@pytest.mark.workload("tasks", steps=100_000)
def test_every_answer_is_right(cell: CellResult) -> None:
    cell.require_verified()


@pytest.mark.system(*SYSTEMS)
@pytest.mark.workload("tasks", steps=100_000)
@pytest.mark.speedup(cpus=2, at_least=1.4, insn=1.8)
def test_every_profile_scales(verdict: VerdictResult) -> None:
    verdict.require_pass()
