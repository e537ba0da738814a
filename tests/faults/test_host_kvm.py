"""The probe guest in a real QEMU: every machine type under TCG, and KVM, which may be unusable."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import pytest

from benchgate.base.cells import Accel
from benchgate.base.errors import HostError
from benchgate.base.paths import data_root
from benchgate.base.system.arch import X86_64
from benchgate.base.system.qemu import Qemu
from benchgate.build.fetch import inputs
from benchgate.host import accel, capacity, probe, topology
from benchgate.host.probe import ProbeError, ProbeGuest
from benchgate.session import doctor
from tests.machines import PATIENCE_S

KVM = Path("/dev/kvm")
STEPS = 1_000
"""Few, because an emulating KVM is so slow that the usual number of steps would take minutes."""


@pytest.fixture(scope="module")
def qemu() -> Qemu:
    return inputs.qemu()


@pytest.fixture
def kvm_device() -> Path:
    """The device, or a skip that says why it cannot be opened."""
    try:
        os.close(os.open(KVM, os.O_RDWR))
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.EACCES, errno.EPERM, errno.ENODEV):
            pytest.skip(f"this test needs {KVM}: {error.strerror}")
        raise
    return KVM


def compute(qemu: Qemu, kind: Accel, model: str, machine: str) -> None:
    """Boots a guest, lets it compute, checks the answer, and lets the guest exit."""
    with ProbeGuest(qemu, kind, model, machine=machine) as guest:
        guest.ready(PATIENCE_S)
        (seconds,) = probe.answers([guest], STEPS, 60.0)
        guest.end(60.0)
    assert seconds > 0


@pytest.mark.parametrize("machine", ["pc", "q35", "microvm"])
def test_the_probe_guest_runs_under_tcg(qemu: Qemu, machine: str) -> None:
    compute(qemu, Accel.TCG, "max", machine)


def test_a_guest_that_computes_wrong_sums_detects_it(
    qemu: Qemu, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "guest" / "probe"
    shutil.copytree(data_root() / "guest" / "probe", broken)
    source = broken / "x86_64" / "machine.h"
    text = source.read_text()
    source.write_text(text.replace('"add %[i], %[c]\\n\\t"', '"sub %[i], %[c]\\n\\t"'))
    assert source.read_text() != text
    monkeypatch.setattr(probe, "data_root", lambda: tmp_path)
    with pytest.raises(ProbeError, match="status 35"):
        compute(qemu, Accel.TCG, "max", X86_64.probe_machine)


@pytest.mark.parametrize("order", [b"12x\n", b"\n", b"1234567890123456789\n", b"-1\n"])
def test_a_guest_refuses_a_malformed_order(qemu: Qemu, order: bytes) -> None:
    with ProbeGuest(qemu, Accel.TCG, "max") as guest:
        guest.ready(PATIENCE_S)
        os.write(guest._request, order)
        assert guest._child.wait(PATIENCE_S)
        assert guest._child.stop(0) == 35


def test_the_probe_guest_runs_under_kvm(qemu: Qemu, kvm_device: Path) -> None:
    troubles = []
    for model in (*accel.CPU_MODELS[Accel.KVM], "qemu64"):
        try:
            compute(qemu, Accel.KVM, model, X86_64.probe_machine)
        except ProbeError as error:  # `-cpu host` aborts QEMU on some hosts
            troubles.append(f"{model}: {error}")
        else:
            return
    pytest.fail(f"{kvm_device} opens, and no CPU model runs: {troubles}")


def test_kvm_is_judged_by_its_speed_and_not_by_its_device(qemu: Qemu, kvm_device: Path) -> None:
    tcg, kvm = accel.probe(qemu, Accel.TCG), accel.probe(qemu, Accel.KVM, device=kvm_device)
    assert tcg.usable
    assert tcg.figure is not None
    assert kvm.usable is (kvm.figure is not None and kvm.figure >= 0.5 * tcg.figure)
    probes = {Accel.TCG: tcg, Accel.KVM: kvm}
    assert accel.choose("auto", probes).accel is (Accel.KVM if kvm.usable else Accel.TCG)
    if kvm.usable:
        assert kvm.reason.startswith("kvm: usable: ")
        assert accel.choose("kvm", probes) is kvm
    else:
        assert kvm.reason.startswith("kvm: present, unusable: ")
        with pytest.raises(HostError, match="--accel kvm: kvm: present, unusable: "):
            accel.choose("kvm", probes)


def test_capacity_is_measured_on_this_host(qemu: Qemu) -> None:
    pins = topology.choose_pins(topology.read(), include_smt=True)[:2]
    result = capacity.measure_capacity(qemu, accel.probe(qemu, Accel.TCG), pins, len(pins), pairs=2)
    assert result.cpus == len(pins)
    assert 0 < result.low <= result.ratio <= result.high


def test_qemu_reports_its_plugin_api(qemu: Qemu) -> None:
    version = doctor.plugin_api_of(qemu).removeprefix("plugin API ")
    # QEMU 9.1 and later have at least version 3.
    assert int(version) >= (3 if qemu.version >= (9, 1, 0) else 1)
