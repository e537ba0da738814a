"""A mix that forks is the mix that starts from the snapshot by itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from benchgate.base.snapshots import FORK, StartKind
from benchgate.features.mix.guest.mix_runs import Mix, Part
from benchgate.features.mix.session.booter import MixBooter
from benchgate.plan import catalog
from benchgate.plan.options import Options
from benchgate.run import forked
from tests.guests.test_forks import require_equal


def of(name: str, workload: str, **given: int) -> Part:
    found = catalog.load_workload(workload)
    params = {param.name: param.default for param in found.params.values()} | given
    return Part(name, found, tuple(sorted(params.items())), 1)


def test_a_mix_of_a_fork_is_that_of_the_run_that_starts_by_itself(tmp_path: Path) -> None:
    """Those with a disk are no forks."""
    linux = catalog.load_system("linux:start=warm")
    parts = of("primes#1", "primes", hi=20_000), Part("dummy#1", None)
    asked = Mix(linux, 2, parts, least=3, limit_ms=200)
    disk = replace(asked, parts=(of("files#1", "files", count=1, blocks=8, block_kb=4, rounds=1), parts[1]))
    told: list[str] = []
    for start in (StartKind.WARM, FORK):
        with MixBooter(Options(clock="insn", start=start), told.append) as lab:
            for seed in (1, 2):
                folder = tmp_path / f"{start}{seed}"
                folder.mkdir()
                assert lab.run(asked, folder, seed=seed).reason == ""
                assert (folder / forked.FILE).exists() == (start == FORK)
    for seed in (1, 2):
        require_equal(tmp_path / f"warm{seed}", tmp_path / f"fork{seed}")
    assert not [text for text in told if "no fork" in text]
    with MixBooter(Options(clock="insn", start=FORK), told.append) as lab:
        (tmp_path / "disk").mkdir()
        assert lab.run(disk, tmp_path / "disk").reason == ""
    assert not (tmp_path / "disk" / forked.FILE).exists()
    assert "it has a network or disks" in told[-1]
