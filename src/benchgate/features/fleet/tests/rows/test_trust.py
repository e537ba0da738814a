"""A hostile client, worker or neighbour runs nothing on a fleet that speaks TLS, whatever Dask allows; and
workers with signers run what they vouch for."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchgate.features.fleet import certificates
from benchgate.features.fleet.certificates import CLIENT, WORKER
from benchgate.features.fleet.tests import fleetkit
from benchgate.features.fleet.tests.fleetkit import Fleet
from tests import optional
from tests.machines import PATIENCE_S

HOSTILE = Path(__file__).parents[1] / "data" / "hostile.py"

pytestmark = [
    *(pytest.mark.fleet, pytest.mark.alone),
    optional.needs("openssl"),
]


def hostile(fleet: Fleet, folder: Path, role: str, proof: Path) -> dict[str, str]:
    """What came of each try, by its name."""
    words = [sys.executable, str(HOSTILE), fleet.address, str(folder / role), role, str(proof)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stdout + done.stderr
    return dict(line.split(": ", 1) for line in done.stdout.splitlines() if ": " in line)


def test_nothing_of_a_stranger_runs(tmp_path: Path) -> None:
    fleetkit.require()
    keys, others, proof = tmp_path / "keys", tmp_path / "others", tmp_path / "proof"
    for folder in (keys, others):
        certificates.make(folder, days=1)
    with fleetkit.fleet(tmp_path, keys) as fleet:
        fleet.scheduler()
        worker = fleet.workers(worker="good")["worker"]
        result = {role: hostile(fleet, keys, role, proof) for role in (CLIENT, WORKER)}
        stranger = hostile(fleet, others, CLIENT, proof)
        assert not proof.exists(), (proof.read_text(), result)
        # A client may speak with the scheduler; a worker may not be a client, and a stranger is nobody.
        assert result[CLIENT]["client"] == "connected 1"
        assert not result[WORKER]["client"].startswith("connected")
        assert not stranger["client"].startswith("connected")
        assert result[CLIENT]["worker message"].startswith("CommClosedError")
        assert "uncaught-error" in result[CLIENT]["scheduler message"]
        assert stranger["scheduler message"].startswith("FatalCommClosedError")
        assert worker.process.poll() is None
        assert fleet.programs[0].process.poll() is None
        # The fleet still answers whoever asks for what it does.
        assert result[CLIENT]["workers left"] == "1"
        assert "this is not a task that this version of benchgate sends" in result[CLIENT]["asked well"]


@optional.needs("ssh-keygen")
def test_workers_run_what_a_signer_vouches_for_and_nothing_else(tmp_path: Path) -> None:
    """Whole sessions: one without a key, one with the key of somebody else, and one with the signer's."""
    fleetkit.require()
    owner, stranger = (ssh_key(tmp_path / name) for name in ("owner", "stranger"))
    signers = tmp_path / "signers"
    signers.write_text(f"owner@example.org {owner.with_suffix('.pub').read_text()}")
    with fleetkit.fleet(tmp_path) as fleet:
        fleet.scheduler()
        for name in ("one", "two"):
            fleet.begin_worker(name, "good", "--signers", str(signers)).await_said(fleetkit.UP)
        where = ("--fleet", fleet.address)
        for words, why in (
            (where, "nobody signed it"),
            ((*where, "--fleet-key", str(stranger)), f"its signature is not by a signer of {signers}"),
        ):
            refused = fleet.session(*words)
            assert refused.ended() == 4, refused.program.said
            said = " ".join(refused.program.said.split())
            assert why in said
            assert f"a signature by one of {signers}" in said
            assert refused.seeds() == []
        vouched = fleet.session(*where, "--fleet-key", str(owner))
        fleetkit.assert_whole(vouched)
        made = {json.loads(file.read_bytes())["worker"] for file in vouched.folder.glob("runs/*/worker.json")}
        assert made <= {"one", "two"}
        assert made


def ssh_key(file: Path) -> Path:
    words = ("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "made by a test", "-f", str(file))
    subprocess.run(words, check=True, timeout=PATIENCE_S)
    return file
