"""Which accelerator is chosen, and in what words the other is refused. No machine is started here."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from benchgate.errors import HostError
from benchgate.host import accel
from benchgate.host.accel import AccelProbe
from benchgate.model import Accel

TCG = AccelProbe(Accel.TCG, True, 5000.0, 0.1, "max", "tcg: usable: 5,000 million instructions per second")
GOOD = AccelProbe(Accel.KVM, True, 10000.0, 0.1, "host", "kvm: usable: ...")
BAD = AccelProbe(Accel.KVM, False, 1.6, 1.2, "host", "kvm: present, unusable: 3,125 times slower than tcg")


def test_auto_takes_kvm_where_it_is_usable() -> None:
    assert accel.choose("auto", {Accel.TCG: TCG, Accel.KVM: GOOD}) is GOOD


def test_auto_goes_on_under_tcg() -> None:
    assert accel.choose("auto", {Accel.KVM: BAD, Accel.TCG: TCG}) is TCG


def test_kvm_by_name_fails_with_the_probes_sentence() -> None:
    with pytest.raises(HostError) as refused:
        accel.choose("kvm", {Accel.KVM: BAD, Accel.TCG: TCG})
    assert str(refused.value) == "--accel kvm: kvm: present, unusable: 3,125 times slower than tcg"


def test_tcg_by_name_leaves_good_kvm_alone() -> None:
    assert accel.choose("tcg", {Accel.KVM: GOOD, Accel.TCG: TCG}) is TCG


def test_nothing_usable_says_all_reasons() -> None:
    broken = replace(TCG, usable=False, reason="tcg: unusable: QEMU left with status 1")
    with pytest.raises(HostError, match=r"times slower than tcg; tcg: unusable: QEMU left"):
        accel.choose("auto", {Accel.KVM: BAD, Accel.TCG: broken})
    with pytest.raises(HostError, match="none was probed"):
        accel.choose("auto", {})


@pytest.mark.parametrize(
    ("figure", "usable", "says"),
    [
        (1.6, False, "3,125 times slower than tcg (1.6 million instructions per second against 5,000)"),
        (2499.0, False, "2 times slower than tcg (2,499 million instructions per second against 5,000)"),
        (2500.0, True, "2,500 million instructions per second, 0.5 times tcg"),
        (10000.0, True, "10,000 million instructions per second, 2 times tcg"),
    ],
)
def test_kvm_is_held_against_tcg(figure: float, usable: bool, says: str) -> None:
    assert accel.judge_kvm(figure, TCG) == (usable, says)


@pytest.mark.parametrize(("figure", "usable"), [(199.0, False), (201.0, True)])
def test_kvm_without_tcg_has_a_floor(figure: float, usable: bool) -> None:
    alone = replace(TCG, usable=False, figure=None, cpu_model=None)
    assert accel.judge_kvm(figure, alone)[0] is usable


def test_a_kept_answer_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "probe.json"
    path.write_text(json.dumps(asdict(BAD)))
    assert accel._load(path, Accel.KVM) == BAD


@pytest.mark.parametrize(
    "change",
    [
        {"usable": "yes"},
        {"figure": -1.0},
        {"figure": "fast"},
        {"figure": None},
        {"accel": "kvm"},
        {"accel": "hvf"},
        {"cpu_model": None},
        {"cpu_model": 5},
        {"reason": None},
        {"more": 1},
    ],
)
def test_a_kept_answer_that_does_not_fit_is_not_used(tmp_path: Path, change: dict[str, object]) -> None:
    path = tmp_path / "probe.json"
    path.write_text(json.dumps(asdict(TCG) | change))
    assert accel._load(path, Accel.TCG) is None


@pytest.mark.parametrize("text", ["", "[]", "null", "{", '{"accel": "tcg"}', "\x00"])
def test_a_torn_answer_is_not_used(tmp_path: Path, text: str) -> None:
    path = tmp_path / "probe.json"
    path.write_text(text)
    assert accel._load(path, Accel.TCG) is None
