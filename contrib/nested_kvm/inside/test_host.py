"""What the nested machine's KVM is taken for: usable, forbidden, or gone."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from benchgate.base.paths import data_root
from benchgate.build.cache_storage import cache_root
from contrib.nested_kvm.inside.kit import KVM, measured, rows, user_environment
from tests.line.sessions import PATIENCE_S, run_benchgate

USER = 1000


def test_doctor_finds_that_kvm_keeps_up(tmp_path: Path) -> None:
    assert Path("/sys/module/kvm_amd").is_dir()
    assert stat.S_ISCHR(KVM.stat().st_mode)
    code, said = run_benchgate(tmp_path, "doctor", "--kvm-report", tmp_path / "kvm.json")
    print(said)
    assert code == 0, said
    assert "kvm usable: " in " ".join(said.split())
    assert "with -cpu host" in " ".join(said.split())
    result = json.loads((tmp_path / "kvm.json").read_text())
    jsonschema.validate(result, json.loads((data_root() / "reports/schema/kvm-1.json").read_text()))
    figures = {one["accel"]: one["figure"] for one in result["probes"]}
    assert figures["kvm"] > figures["tcg"]
    assert result["cpu"]["vendor_id"] == "AuthenticAMD"
    assert {"svm", "npt"} <= set(result["flags"])
    assert result["modules"]["kvm_amd"]["npt"] == "Y"
    assert result["counters"]["resctrl"] == "not mounted"
    usable = sorted(os.sched_getaffinity(0))
    assert set(result["pins"]) <= set(usable)
    measured_at = {one["cpus"] for one in result["capacities"] if one["accel"] == "kvm"}
    assert measured_at == {n for n in (2, 4) if n <= len(result["pins"])}


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home folder of an ordinary user, with what was fetched; and the way to the checkout is open."""
    folder = Path("/tmp/home")
    shutil.rmtree(folder, ignore_errors=True)
    for kind in ("qemu", "linux", "probe", "plugin-api"):
        shutil.copytree(cache_root() / kind, folder / "cache" / kind, symlinks=True)
    Path("/root").chmod(0o755)
    subprocess.run(["chown", "-R", f"{USER}:{USER}", str(folder)], check=True)
    return folder


def test_a_user_who_may_not_open_the_device_is_told_so(home: Path) -> None:
    KVM.chmod(0o600)
    words = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", sys.executable]
    code = (
        "from benchgate.build.fetch import inputs\n"
        "from benchgate.host import accel\n"
        "print(accel.probe_now(inputs.qemu(), accel.Accel.KVM).reason)\n"
    )
    done = subprocess.run(
        [*words, "-c", code],
        cwd=home,
        env={**user_environment(home), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert done.stdout.strip() == (
        "kvm: present, unusable: this user may not open /dev/kvm (add it to the device's group)"
    ), done.stderr


def test_a_device_that_is_gone_is_absent_and_auto_takes_tcg(tmp_path: Path) -> None:
    away = KVM.with_name("kvm.away")
    KVM.rename(away)
    try:
        rows(tmp_path, '"primes", hi=10_000')
        session = measured(tmp_path, "--smp=1", "--runs=1", "--system=kernel")
        words = ("plan", "--clock=wall", "--smp=1", "--system=kernel")
        code, said = run_benchgate(tmp_path, *words, python=sys.executable)
    finally:
        away.rename(KVM)
    assert session.code == 4, session.output
    assert "--accel kvm: kvm: absent: this host has no /dev/kvm" in " ".join(session.output.split())
    assert code == 0, said
    assert "tcg" in said


def test_a_module_in_use_cannot_be_removed() -> None:
    with KVM.open("rb+", buffering=0):
        done = subprocess.run(["rmmod", "kvm-amd"], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "in use" in done.stderr
