"""Unusable accelerators and misbehaving QEMUs: each ends in a reason that says what is wrong."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from benchgate.base.cells import Accel
from benchgate.base.errors import HostError
from benchgate.base.system.qemu import Qemu
from benchgate.host import accel, capacity, probe, topology
from benchgate.host.accel import AccelProbe, ProbeState
from benchgate.host.fitness import survey
from benchgate.host.probe import ProbeError, ProbeGuest
from tests.machines import PATIENCE_S, wait_until

FAKE = Path(__file__).with_name("fake_probe_qemu.py")


# A fake's speed is a sleep. The slow side sleeps so long that delays on a busy host do not change the result.
SLOW_TCG = "0.03"
SLOW_KVM = "0.01"


def gone(pid: int) -> bool:
    """A zombie counts as gone: it uses no CPU."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def but(qemu: Qemu, **environment: str) -> Qemu:
    """The same QEMU with a fault, see fake_probe_qemu.py."""
    return replace(qemu, environment=environment)


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Qemu:
    """A QEMU whose guests work, and a file in place of /dev/kvm."""
    monkeypatch.setenv("BENCHGATE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(accel, "_TARGET_S", 0.02)
    binary = tmp_path / "qemu"
    binary.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S {FAKE} "$@"\n')
    binary.chmod(0o755)
    (tmp_path / "kvm").touch()
    return Qemu(binary, {}, (), (10, 0, 2), "fake")


@pytest.fixture
def device(tmp_path: Path) -> Path:
    return tmp_path / "kvm"


def test_good_kvm_is_usable(fake: Qemu, device: Path) -> None:
    accel_probe = accel.probe_now(but(fake, FAKE_MIPS_tcg=SLOW_TCG), Accel.KVM, device=device)
    assert (accel_probe.usable, accel_probe.cpu_model) == (True, "host")
    assert accel_probe.reason.startswith("kvm: usable: ")


def test_kvm_that_emulates_is_present_but_unusable(fake: Qemu, device: Path) -> None:
    slow = but(fake, FAKE_MIPS_kvm=SLOW_KVM)
    accel_probe = accel.probe(slow, Accel.KVM, device=device)
    assert not accel_probe.usable
    assert accel_probe.reason.startswith("kvm: present, unusable: ")
    assert "times slower than tcg" in accel_probe.reason
    assert accel_probe.figure is not None
    assert accel_probe.figure < (float(SLOW_KVM) + float(SLOW_TCG)) / 2
    with pytest.raises(HostError, match=r"^--accel kvm: kvm: present, unusable: "):
        accel.choose("kvm", {Accel.KVM: accel_probe})


def test_a_cpu_host_that_aborts_qemu_is_reported_and_max_is_tried(fake: Qemu, device: Path) -> None:
    aborts = but(fake, FAKE_kvm_host="aborts", FAKE_MIPS_tcg=SLOW_TCG)
    accel_probe = accel.probe_now(aborts, Accel.KVM, device=device)
    assert (accel_probe.usable, accel_probe.cpu_model) == (True, "max")
    assert "-cpu host: QEMU ended by signal SIGABRT: qemu: host: it is over" in accel_probe.reason


def test_kvm_without_a_working_cpu_model_is_unusable(fake: Qemu, device: Path) -> None:
    accel_probe = accel.probe_now(but(fake, FAKE_kvm="aborts"), Accel.KVM, device=device)
    assert (accel_probe.usable, accel_probe.figure, accel_probe.cpu_model) == (False, None, None)
    assert accel_probe.reason.startswith("kvm: present, unusable: -cpu host: QEMU ended by signal SIGABRT")
    assert "-cpu max: QEMU ended" in accel_probe.reason


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("hangs", r"no answer within 1\.5 s \(boot\)"),
        ("hangs later", r"no answer within .* steps\)"),
        ("dies later", "QEMU ended by signal SIGKILL"),
        ("resets later", "QEMU ended with status 0: the probe guest was reset"),
        ("refuses", r"QEMU ended with status 1: qemu: no \\x1b\[31msuch\\x1b\[0m machine"),
        ("babbles", "printed no line end"),
        ("other guest", "printed 'Linux version 6.12' first"),
        ("wrong answer", "wrong answer for 1 steps"),
        ("other order", "wrong answer for 1 steps"),
        ("bad end", "QEMU ended with status 35"),
    ],
)
def test_a_misbehaving_guest_gives_a_reason_and_no_figure(
    fake: Qemu, fault: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accel, "_TCG_BOOT_S", 1.5 if fault.startswith("hangs") else PATIENCE_S)
    accel_probe = accel.probe_now(but(fake, FAKE_tcg=fault), Accel.TCG)
    assert (accel_probe.usable, accel_probe.figure) == (False, None)
    with pytest.raises(HostError, match=f"tcg: unusable: .*{says}"):
        accel.choose("auto", {Accel.TCG: accel_probe})


def test_a_qemu_that_does_not_exist(tmp_path: Path, fake: Qemu, device: Path) -> None:
    nothing = Qemu(tmp_path / "absent", {}, (), (10, 0, 2), "fake")
    assert "No such file" in accel.probe_now(nothing, Accel.TCG).reason
    assert "cannot execute" in accel.probe_now(nothing, Accel.KVM, device=device).reason


def test_a_host_without_dev_kvm(fake: Qemu, tmp_path: Path) -> None:
    accel_probe = accel.probe_now(fake, Accel.KVM, device=tmp_path / "none")
    assert accel_probe.reason == f"kvm: absent: this host has no {tmp_path / 'none'}"


def test_a_device_that_may_not_be_opened(fake: Qemu, device: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.open

    def closed(path: Path, *rest: int) -> int:
        if path == device:
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, *rest)

    monkeypatch.setattr(os, "open", closed)
    accel_probe = accel.probe_now(fake, Accel.KVM, device=device)
    assert accel_probe.reason.startswith("kvm: present, unusable: this user may not open")


def test_a_device_that_cannot_be_opened(fake: Qemu, tmp_path: Path) -> None:
    accel_probe = accel.probe_now(fake, Accel.KVM, device=tmp_path)
    assert "cannot be opened: Is a directory" in accel_probe.reason


def test_a_qemu_built_without_kvm(fake: Qemu, device: Path) -> None:
    accel_probe = accel.probe_now(but(fake, FAKE_ACCELS="tcg"), Accel.KVM, device=device)
    assert accel_probe.reason == f"kvm: absent: {fake.binary} is built without it"


def test_a_probe_is_cached(fake: Qemu) -> None:
    first = accel.probe(fake, Accel.TCG)
    assert accel.probe(but(fake, FAKE_MIPS_tcg="10"), Accel.TCG) == first


def test_a_cached_probe_that_was_changed_is_not_used(fake: Qemu, tmp_path: Path) -> None:
    first = accel.probe(fake, Accel.TCG)
    (kept,) = (tmp_path / "cache" / "accel").glob("*/files/probe.json")
    text = kept.read_text()
    kept.write_text(text.replace('"state": "usable"', '"state": "unsure"'))
    assert kept.stat().st_size == len(text)
    accel_probe = accel.probe(fake, Accel.TCG)
    assert accel_probe.usable is True
    assert accel_probe != first


def test_a_failed_tcg_probe_is_not_cached(fake: Qemu) -> None:
    assert not accel.probe(but(fake, FAKE_tcg="refuses"), Accel.TCG).usable
    assert accel.probe(fake, Accel.TCG).usable


def test_the_expected_state_is_the_result_of_a_plain_loop() -> None:
    for steps in (1, 2, 3, 1000):
        chains = [0, 1, 2, 3]
        for _ in range(steps):
            chains = [(x * 6364136223846793005 + 1442695040888963407) % 2**64 for x in chains]
        assert probe.expected_state(steps) == chains[0] ^ chains[1] ^ chains[2] ^ chains[3]


def test_no_guest_is_left_behind(fake: Qemu) -> None:
    with ProbeGuest(fake, Accel.TCG, "max") as guest:
        guest.ready(PATIENCE_S)
        pid = guest.pid
        guest.pause()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_no_guest_is_left_behind_by_a_script_that_starts_qemu(fake: Qemu) -> None:
    """Without `exec` QEMU is a child of the started process."""
    fake.binary.write_text(fake.binary.read_text().replace("exec ", "") + "true\n")
    with ProbeGuest(fake, Accel.TCG, "max") as guest:
        guest.ready(PATIENCE_S)
        (child,) = psutil.Process(guest.pid).children()
        guest.pause()
        assert wait_until(lambda: child.status() == psutil.STATUS_STOPPED)
    assert wait_until(lambda: gone(child.pid))


def test_no_guest_outlives_a_killed_session(fake: Qemu, tmp_path: Path) -> None:
    program = (
        "import pathlib, sys\n"
        "from benchgate.host.probe import ProbeGuest\n"
        "from benchgate.base.cells import Accel\n"
        "from benchgate.base.system.qemu import Qemu\n"
        "qemu = Qemu(pathlib.Path(sys.argv[1]), {}, (), (10, 0, 2), 'fake')\n"
        "with ProbeGuest(qemu, Accel.TCG, 'max') as guest:\n"
        "    guest.ready(300.0)\n"
        "    print(guest.pid, flush=True)\n"
        "    sys.stdin.read()\n"
    )
    session = subprocess.Popen(
        [sys.executable, "-c", program, str(fake.binary)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    with session:
        assert session.stdout is not None
        guest = int(session.stdout.readline())
        os.kill(guest, 0)
        session.send_signal(signal.SIGKILL)
    assert wait_until(lambda: gone(guest))


def test_a_pinned_guest_runs_only_on_its_pin(fake: Qemu) -> None:
    pin = max(os.sched_getaffinity(0))
    with ProbeGuest(fake, Accel.TCG, "max", pin=pin) as guest:
        guest.ready(PATIENCE_S)
        assert os.sched_getaffinity(guest.pid) == {pin}


def test_a_pin_to_a_cpu_that_does_not_exist_is_refused(fake: Qemu) -> None:
    with (
        pytest.raises(ProbeError, match="Invalid argument"),
        ProbeGuest(fake, Accel.TCG, "max", pin=1023),
    ):
        pass


def test_guests_that_sleep_do_not_slow_each_other_down(fake: Qemu) -> None:
    """A sleeping fake needs no CPU, so several side by side are as fast as one alone."""
    accel_probe = AccelProbe(Accel.TCG, ProbeState.USABLE, 1000.0, 0.1, "max", "...")
    size = capacity.measure_capacity(fake, accel_probe, (0, 0, 0), 3, pairs=2)
    assert size.ratio > 1.5  # guests that run one after the other give 1
    assert len(size.pairs) == 2


def test_capacity_with_a_wrong_answer_is_refused(fake: Qemu) -> None:
    accel_probe = AccelProbe(Accel.TCG, ProbeState.USABLE, 1000.0, 0.1, "max", "...")
    with pytest.raises(ProbeError, match="wrong answer"):
        capacity.measure_capacity(but(fake, FAKE_tcg="wrong answer"), accel_probe, (0, 0), 2)


def test_a_survey_measures_usable_accelerators_at_the_counts_that_the_pins_allow(
    fake: Qemu, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capacity, "SECONDS", 0.02)
    host = survey(but(fake, FAKE_kvm="refuses"), topology.read(), (0, 0), (1, 2, 4))
    assert [(accel_probe.accel, accel_probe.usable) for accel_probe in host.probes.values()] == [
        (Accel.KVM, False),
        (Accel.TCG, True),
    ]
    assert set(host.capacities) == {(Accel.TCG, 2)}
