"""doctor works even if parts are missing; their rows say why. The screen has its rows, and they fit."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NoReturn

import pytest

from benchgate.base.cells import Accel
from benchgate.base.errors import BuildError, FetchError, HostError, LockError
from benchgate.base.system.qemu import Qemu
from benchgate.build import toolchain
from benchgate.build.fetch import inputs
from benchgate.build.fetch.inputs import LinuxKernel
from benchgate.host import accel, capacity, lock, topology
from benchgate.host.fitness import Host
from benchgate.host.probe import ProbeError
from benchgate.insn.support import Support
from benchgate.session import doctor
from benchgate.session.doctor import HostFacts, ScreenRow, read_refusal
from tests.unit.conftest import Tree, host_files
from tests.unit.hosts import BAD, TCG, good_host


def refuse(error: Exception) -> object:
    def raises(*_: object, **__: object) -> NoReturn:
        raise error

    return raises


@pytest.fixture
def nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host without QEMU, Linux and compiler."""
    monkeypatch.setattr(inputs, "qemu", refuse(FetchError("no QEMU here; give --qemu PATH")))
    monkeypatch.setattr(inputs, "linux_kernel", refuse(FetchError("no Linux here; give --linux-kernel PATH")))
    monkeypatch.setattr(toolchain, "compiler", refuse(BuildError("no C compiler; install gcc")))


def rows(text: str) -> str:
    """The report without its line breaks."""
    return " ".join(text.split())


def test_the_report_works_without_qemu_linux_and_compiler(
    nothing: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "measuring", refuse(AssertionError("nothing is measured without QEMU")))
    said = rows(doctor.report())
    for reason in ("no QEMU here; give --qemu PATH", "no Linux here", "no C compiler; install gcc"):
        assert f"none: {reason}" in said


def test_the_report_works_without_a_compiler(nothing: None, monkeypatch: pytest.MonkeyPatch) -> None:
    qemu = Qemu(Path("/q"), {}, (), (10, 0, 2), "d", "user", ())
    monkeypatch.setattr(inputs, "qemu", lambda *_, **__: qemu)
    monkeypatch.setattr(doctor, "plugin_api_of", refuse(BuildError("no C compiler; install gcc")))
    monkeypatch.setattr(lock, "measuring", lambda *_, **__: contextlib.nullcontext())
    monkeypatch.setattr(doctor, "survey", refuse(BuildError("no C compiler; install gcc")))
    monkeypatch.setattr(doctor, "support", refuse(BuildError("no C compiler; install gcc")))
    said = rows(doctor.report())
    assert "10.0.2 (user), plugin API unknown: no C compiler" in said
    assert "it was not probed: no C compiler; install gcc" in said
    assert "compiler none: no C compiler" in said
    assert "lane insn no: this QEMU was not tried: no C compiler" in said


def test_the_given_qemu_is_used(nothing: None, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Path | None] = []

    def qemu(path: Path | None, **_: object) -> NoReturn:
        asked.append(path)
        raise FetchError("not a QEMU")

    monkeypatch.setattr(inputs, "qemu", qemu)
    assert "none: not a QEMU" in rows(doctor.report(Path("/q")))
    assert asked == [Path("/q")]


def test_linux_is_shown_with_its_labels(nothing: None, monkeypatch: pytest.MonkeyPatch) -> None:
    linux = LinuxKernel(Path("/l"), "6.12.9", "k", None, "c", ("unreviewed image",))
    monkeypatch.setattr(inputs, "linux_kernel", lambda **_: linux)
    assert "6.12.9, unreviewed image" in rows(doctor.report())


QEMU = Qemu(Path("/q"), {}, (), (10, 0, 2), "d", "user", ())


@pytest.fixture
def with_qemu(nothing: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same host with a QEMU, which nothing here starts."""
    monkeypatch.setattr(doctor, "_qemu", lambda _: (QEMU, "10.0.2 (user)"))
    monkeypatch.setattr(doctor, "support", lambda _: Support(True, "2 CPU: loop=2000010"))
    monkeypatch.setattr(lock, "measuring", lambda *_, **__: contextlib.nullcontext())


@pytest.mark.usefixtures("with_qemu")
def test_another_session_that_measures_costs_only_the_probes(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextlib.contextmanager
    def measuring(*_: object, **__: object) -> Iterator[None]:
        raise LockError("process 7 measures")
        yield

    monkeypatch.setattr(lock, "measuring", measuring)
    said = rows(doctor.report())
    assert "qemu 10.0.2 (user); it was not probed: process 7 measures" in said
    assert "lane insn yes: " in said


@pytest.mark.usefixtures("with_qemu")
def test_a_capacity_probe_without_an_answer_costs_only_its_own_row(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = host_files("0-1", {0: "0", 1: "1"})
    monkeypatch.setattr(topology, "read", partial(topology.read, tree(files), affinity=range(2)))
    monkeypatch.setattr(accel, "probe", lambda _, one, **__: {Accel.TCG: TCG, Accel.KVM: BAD}[one])
    monkeypatch.setattr(capacity, "sample", refuse(ProbeError("no answer within 20 s (boot)")))
    said = rows(doctor.report())
    assert "tcg usable: 5,000 million instructions per second" in said
    assert "capacity 1 CPU 1 (the unit); 2 CPUs unavailable (tcg): no answer within 20 s (boot)" in said
    assert "lane tcg 2 CPUs no: capacity not measured" in said
    assert "lane insn yes: " in said


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (Support(True, "loop=2000010"), "lane insn yes: decides at any CPU"),
        (Support(False, "no plugins"), "lane insn no: this QEMU cannot carry"),
    ],
)
@pytest.mark.usefixtures("with_qemu")
def test_the_row_of_the_instruction_clock_says_what_it_means_for_the_user(
    monkeypatch: pytest.MonkeyPatch, found: Support, said: str
) -> None:
    monkeypatch.setattr(doctor, "survey", refuse(HostError("not here")))
    monkeypatch.setattr(doctor, "support", lambda _: found)
    text = rows(doctor.report())
    assert said in text
    assert (found.reason in text) == (not found.works)


FOUND = HostFacts(
    "10.0.2",
    "6.12",
    "gcc 12",
    (True, "full"),
    {"run delay": True, "throttling": False},
    "riscv64: QEMU 10.0.2",
)


@pytest.fixture
def good(tree: Tree) -> Host:
    return good_host(tree)


def test_the_screen(good: Host) -> None:
    text = doctor.doctor_text(
        doctor.doctor_facts(replace(good, probes={Accel.KVM: BAD, Accel.TCG: TCG}), FOUND)
    )
    assert text == (
        "benchgate doctor: what this host is good for\n"
        "cpus        0-3 online, 0-3 usable by this process; 1 socket, 2 cores, 4 threads (source: sysfs)\n"
        "threads     several hyperthreads per core\n"
        "pins        0,1 (default: one logical CPU per physical core); none of the pins is isolated\n"
        "kvm         present, unusable: 3,125 times slower than tcg\n"
        "tcg         usable: 5,000 million instructions per second\n"
        "capacity    1 CPU 1 (the unit); 2 CPUs 1.97 [1.93, 2.02] (kvm); 2 CPUs 1.97 [1.93, 2.02] (tcg)\n"
        "qemu        10.0.2\n"
        "linux       6.12\n"
        "compiler    gcc 12\n"
        "other CPUs  riscv64: QEMU 10.0.2\n"
        "lane kvm    no: present, unusable\n"
        "lane tcg    2 CPUs yes: distinct physical cores, capacity 1.97; 4 CPUs no: only 2 CPUs to pin to\n"
        "lane native 2 CPUs yes: distinct physical cores; 4 CPUs no: only 2 CPUs to pin to\n"
        "lane insn   yes: full\n"
        "noise seen  run delay; unavailable: throttling\n"
    )


def test_the_screen_shows_the_isolation_of_the_pins(tree: Tree) -> None:
    files = host_files("0-3", {n: str(n) for n in range(4)}, isolated="2-3", manager="0-1", cgroup="0::/ci")
    root: Path = tree(files | {"sys/fs/cgroup/ci/cpuset.cpus.effective": "1-3"})
    host = Host(topology.read(root, affinity=(2, 3)), (2, 3), {}, {})
    (row,) = [row for row in doctor.doctor_facts(host, FOUND) if row.label == "pins"]
    assert row.text.endswith("pins covered by isolcpus; cpuset 1-3; services confined to 0-1")


@pytest.mark.parametrize("count", [1, 16, 23, 60])
@pytest.mark.parametrize("length", [0, 30, 3000])
def test_any_rows_fit_on_one_screen(count: int, length: int) -> None:
    rows = [ScreenRow("label", "word " * (length // 5)) for _ in range(count)]
    lines = doctor.doctor_text(rows).splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 100
    assert length < 3000 or any(line.endswith("...") for line in lines)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "qemu-system-x86_64: Could not load plugin /p.so: plugin requires API version 999, but this QEMU "
            "supports only up to version 4\n",
            "plugin API 4",
        ),
        ("qemu-system-x86_64: -plugin /p.so: invalid option\n", "built without plugins"),
        ("qemu: TCG plugin support not enabled in this build\n", "built without plugins"),
        ("", "plugins unusable: QEMU printed no message"),
        ("qemu: Could not load plugin \x1b[1m/p.so: bad ELF\n", "plugins unusable: qemu: Could not load"),
    ],
)
def test_a_refusal_is_read(text: str, reason: str) -> None:
    api = read_refusal(text)
    assert api.startswith(reason)
    assert api.isprintable()
