"""The report about KVM: what it has, that it follows its schema, and what it never has."""

from __future__ import annotations

import json
import socket
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from benchgate.base.cells import Accel
from benchgate.base.errors import FetchError, HostError
from benchgate.base.paths import data_root
from benchgate.base.system.qemu import Qemu
from benchgate.build.fetch import inputs
from benchgate.session import doctor, kvm_report
from tests.unit.conftest import Tree
from tests.unit.hosts import KVM, good_host

QEMU = Qemu(Path("/home/somebody/q"), {}, (), (10, 0, 2), "d", "reviewed")
CPUINFO = """\
processor\t: 0
vendor_id\t: AuthenticAMD
cpu family\t: 23
model\t\t: 1
model name\t: AMD EPYC Processor
stepping\t: 2
flags\t\t: fpu svm npt sse2 pausefilter
"""
SECRET = "pool-17.example"
FILES = {
    "proc/cpuinfo": CPUINFO,
    "proc/cmdline": f"root=UUID=1234 token={SECRET}",
    "proc/sys/kernel/hostname": SECRET,
    "sys/class/dmi/id/product_serial": SECRET,
    "sys/module/kvm_amd/parameters/npt": "Y",
    "sys/module/kvm_amd/parameters/pause_filter_count": "0",
    "sys/module/kvm/parameters/halt_poll_ns": "200000",
    "proc/sys/kernel/perf_event_paranoid": "3",
}


def written(tree: Tree, where: Path) -> str:
    host = good_host(tree)
    home = str(Path.home())
    probe = replace(KVM, detail=f"QEMU ended with status 1: cannot open {home}/.cache/x")
    host = replace(host, probes={Accel.KVM: probe}, unmeasured={(Accel.KVM, 4): f"no {home}/y"})
    path = where / "kvm.json"
    kvm_report.write(path, kvm_report.collect(host, QEMU, tree(FILES)))
    return path.read_text()


def test_the_report_has_processor_modules_probes_and_pins(tree: Tree, tmp_path: Path) -> None:
    result = json.loads(written(tree, tmp_path))
    assert result["cpu"]["vendor_id"] == "AuthenticAMD"
    assert result["flags"] == ["npt", "pausefilter", "svm"]
    assert result["modules"] == {
        "kvm": {"halt_poll_ns": "200000"},
        "kvm_amd": {"npt": "Y", "pause_filter_count": "0"},
    }
    assert result["probes"][0]["figure"] == KVM.figure
    assert result["pins"] == [0, 1]
    assert result["counters"]["perf paranoid"] == "3"
    assert {one["accel"] for one in result["capacities"]} == {"kvm", "tcg"}


def test_the_report_follows_its_schema(tree: Tree, tmp_path: Path) -> None:
    schema = json.loads((data_root() / "reports/schema/kvm-1.json").read_text())
    result = json.loads(written(tree, tmp_path))
    jsonschema.validate(result, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**result, "hostname": "x"}, schema)


def test_the_report_has_no_name_and_no_path_of_this_host(tree: Tree, tmp_path: Path) -> None:
    text = written(tree, tmp_path)
    for word in (SECRET, "UUID", str(Path.home()), "somebody", f'"{socket.gethostname()}'):
        assert word not in text
    assert "cannot open ~/.cache/x" in text


def test_a_report_without_a_probe_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuses(*_: object, **__: object) -> Qemu:
        raise FetchError("no QEMU here")

    monkeypatch.setattr(inputs, "qemu", refuses)
    with pytest.raises(HostError, match=r"--kvm-report: nothing was probed.*no QEMU here"):
        doctor.report(kvm_report=tmp_path / "kvm.json")
    assert not (tmp_path / "kvm.json").exists()
