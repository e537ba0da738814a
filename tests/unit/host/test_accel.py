"""The choice of an accelerator, and the reasons for refusing one. No guest is started here."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from benchgate.base.cells import Accel
from benchgate.base.errors import HostError
from benchgate.base.system.qemu import Qemu
from benchgate.host import accel
from benchgate.host.accel import AccelProbe, ProbeState
from benchgate.host.probe import ProbeError

QEMU = Qemu(Path("/q"), {}, (), (10, 0, 2), "d")
TCG = AccelProbe(Accel.TCG, ProbeState.USABLE, 5000.0, 0.1, "max", "5,000 million instructions per second")
GOOD = AccelProbe(Accel.KVM, ProbeState.USABLE, 10000.0, 0.1, "host", "...")
BAD = AccelProbe(Accel.KVM, ProbeState.PRESENT_UNUSABLE, 1.6, 1.2, "host", "3,125 times slower than tcg")


def test_auto_chooses_kvm_if_it_is_usable() -> None:
    assert accel.choose("auto", {Accel.TCG: TCG, Accel.KVM: GOOD}) is GOOD


def test_auto_falls_back_to_tcg() -> None:
    assert accel.choose("auto", {Accel.KVM: BAD, Accel.TCG: TCG}) is TCG


def test_requesting_unusable_kvm_fails_with_the_probes_reason() -> None:
    with pytest.raises(HostError) as refused:
        accel.choose("kvm", {Accel.KVM: BAD, Accel.TCG: TCG})
    assert str(refused.value) == "--accel kvm: kvm: present, unusable: 3,125 times slower than tcg"


def test_requesting_tcg_ignores_usable_kvm() -> None:
    assert accel.choose("tcg", {Accel.KVM: GOOD, Accel.TCG: TCG}) is TCG


def test_the_error_names_all_reasons_if_nothing_is_usable() -> None:
    broken = accel.unusable(Accel.TCG, ProbeState.UNUSABLE, "QEMU ended with status 1")
    with pytest.raises(HostError, match=r"times slower than tcg; tcg: unusable: QEMU ended"):
        accel.choose("auto", {Accel.KVM: BAD, Accel.TCG: broken})
    with pytest.raises(HostError, match="none was probed"):
        accel.choose("auto", {})


@pytest.mark.parametrize(
    ("figure", "usable", "text"),
    [
        (1.6, False, "3,125 times slower than tcg (1.6 million instructions per second against 5,000)"),
        (2499.0, False, "2 times slower than tcg (2,499 million instructions per second against 5,000)"),
        (2500.0, True, "2,500 million instructions per second, 0.5 times tcg"),
        (10000.0, True, "10,000 million instructions per second, 2 times tcg"),
    ],
)
def test_kvm_is_compared_with_tcg(figure: float, usable: bool, text: str) -> None:
    assert accel.judge_kvm(figure, TCG) == (usable, text)


@pytest.mark.parametrize(("figure", "usable"), [(199.0, False), (201.0, True)])
def test_kvm_without_tcg_needs_a_minimum_speed(figure: float, usable: bool) -> None:
    alone = accel.unusable(Accel.TCG, ProbeState.UNUSABLE, "...")
    assert accel.judge_kvm(figure, alone)[0] is usable


def test_a_cached_result_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "probe.json"
    path.write_text(json.dumps(asdict(BAD)))
    assert accel._load(path, Accel.KVM) == BAD


@pytest.mark.parametrize(
    "change",
    [
        {"state": "yes"},
        {"figure": -1.0},
        {"figure": "fast"},
        {"figure": None},
        {"accel": "kvm"},
        {"accel": "hvf"},
        {"cpu_model": None},
        {"cpu_model": 5},
        {"detail": None},
        {"more": 1},
    ],
)
def test_an_invalid_cached_result_is_not_used(tmp_path: Path, change: dict[str, object]) -> None:
    path = tmp_path / "probe.json"
    path.write_text(json.dumps(asdict(TCG) | change))
    assert accel._load(path, Accel.TCG) is None


@pytest.mark.parametrize("text", ["", "[]", "null", "{", '{"accel": "tcg"}', "\x00"])
def test_a_damaged_cached_result_is_not_used(tmp_path: Path, text: str) -> None:
    path = tmp_path / "probe.json"
    path.write_text(text)
    assert accel._load(path, Accel.TCG) is None


def test_an_error_of_several_cpu_models_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def time_guest(
        qemu: Qemu, one: Accel, cpu_model: str, patience_s: float, _: float
    ) -> tuple[float, float]:
        raise ProbeError("QEMU died of signal SIGABRT: Assertion `ret' failed.")

    monkeypatch.setattr(accel, "_time_guest", time_guest)
    reason = accel._kvm(QEMU, TCG).reason
    assert re.search("^kvm: present, unusable: -cpu host and -cpu max: QEMU died of signal SIGABRT", reason)


def test_a_guest_has_its_processor_even_if_a_busy_host_let_the_probe_fail(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """QEMU's own default for aarch64 is of 32 bits, and it says that a 64-bit kernel does not fit."""

    def fails(*_: object) -> tuple[float, float]:
        raise ProbeError("no answer in time")

    monkeypatch.setattr(accel, "_time_guest", fails)
    probe = accel.probe_now(QEMU, Accel.TCG)
    assert (probe.usable, probe.cpu_model) == (False, "max")


class Talker:
    """A probe guest that computes 100 million instructions per second and talks slowly; no time passes."""

    def __init__(self, *_: object, talk_s: float) -> None:
        self.talk_s = talk_s
        self.patience_s: list[float] = []

    def __enter__(self) -> Talker:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def ready(self, deadline_s: float) -> None:
        self.patience_s.append(deadline_s)

    def end(self, deadline_s: float) -> None:
        pass

    def took(self, steps: int) -> float:
        return self.talk_s + steps * 10 / 100e6


@pytest.mark.parametrize("talk_s", [0.0001, 0.08, 3.0])
def test_the_speed_is_that_of_computing_and_not_that_of_the_talk(
    talk_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a nested guest a request and its answer take 0.1 s: 1,000 steps in this time were taken for the
    speed."""
    guest = Talker(talk_s=talk_s)
    monkeypatch.setattr(accel, "ProbeGuest", lambda *_: guest)
    monkeypatch.setattr(accel, "answers", lambda guests, steps, _: (guests[0].took(steps),))
    _, figure = accel._time_guest(QEMU, Accel.KVM, "host", 6.0)
    assert figure == pytest.approx(100.0, rel=1e-3)


def test_a_host_that_stops_the_guest_three_times_does_not_make_kvm_too_slow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Seen on a nested machine at a load of 13: 1.8 million instructions per second instead of 3,471."""

    class Stopped(Talker):
        asked = 0

        def took(self, steps: int) -> float:
            self.asked += 1
            return super().took(steps) + (0.5 if 3 <= self.asked < 6 else 0.0)

    guest = Stopped(talk_s=0.001)
    monkeypatch.setattr(accel, "ProbeGuest", lambda *_: guest)
    monkeypatch.setattr(accel, "answers", lambda guests, steps, _: (guests[0].took(steps),))
    _, figure = accel._time_guest(QEMU, Accel.KVM, "host", 6.0, 50.0)
    assert figure == pytest.approx(100.0, rel=1e-3)


@pytest.mark.parametrize(("tcg_boots_s", "patience_s"), [(0.1, 6.0), (30.0, 120.0), (None, 6.0)])
def test_kvm_may_boot_as_long_as_the_host_is_slow(
    tcg_boots_s: float | None, patience_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def time_guest(
        qemu: Qemu, one: Accel, cpu_model: str, patience_s: float, _: float
    ) -> tuple[float, float]:
        seen.append(patience_s)
        return 1.0, 5000.0

    monkeypatch.setattr(accel, "_time_guest", time_guest)
    accel._kvm(QEMU, replace(TCG, boot_s=tcg_boots_s))
    assert seen == [patience_s]
