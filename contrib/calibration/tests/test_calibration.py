"""Calibrating and checking as a user calls them, on a made-up host."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from benchgate.base.errors import HostError, UsageError
from benchgate.base.system.machines import Machine
from benchgate.host import lock
from benchgate.host import topology as host_topology
from benchgate.host.caches import CacheDescription
from benchgate.host.noise import HostSnapshot
from benchgate.host.topology import CpuIsolation, HostTopology, LogicalCpu
from benchgate.plan import machinefile
from contrib.calibration import calibration, host_description
from contrib.calibration.__main__ import main
from contrib.calibration.calibration import disturbances, sheet, stairs_of
from contrib.calibration.curve import curves_text, load_curves
from contrib.calibration.host_description import HostDescription
from contrib.calibration.meter import MeterSample
from contrib.calibration.tests.curves import THREE, curve
from contrib.calibration.tests.madeup import MadeUp
from contrib.calibration.tests.madeup import told as told_of
from tests.unit.machines import UNEVEN, with_memory


@pytest.fixture(autouse=True)
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A made-up host in place of this one; the list says what happened."""
    happened: list[str] = []

    @contextmanager
    def measuring(wait_s: float, **_: object) -> Iterator[None]:
        assert wait_s > 0
        happened.append("locked")
        yield
        happened.append("free")

    monkeypatch.setattr(lock, "measuring", measuring)
    monkeypatch.setattr(host_description, "read", lambda _: told_of())
    monkeypatch.chdir(tmp_path)
    return happened


def calibrated(measure: MadeUp | None = None, out: str = "host.yaml") -> str:
    done = calibration.calibrate(Path(out), quick=True, say=lambda _: None, measure=measure or MadeUp())
    assert done.agrees
    return done.text


def test_it_writes_a_machine_its_curves_and_a_picture() -> None:
    text = calibrated()
    machine = with_memory(Path("host.yaml").read_text(), Path("host.yaml"))
    assert (machine.name, machine.l2.size, machine.l2.latency_ns) == ("host", 1 << 20, 4)
    assert list(load_curves(Path("host.csv"))) == ["huge"]
    assert ElementTree.parse("host.svg").getroot().tag.endswith("svg")
    assert "the file agrees with the curve (chase: huge)" in text
    assert "L3         16,384 KiB" in text
    assert "wrote host.yaml, host.csv, host.svg in " in text


def test_it_holds_the_lock_while_it_measures(host: list[str]) -> None:
    class Noting(MadeUp):
        def single(self, cpu: str, passes: str) -> Iterator[MeterSample]:
            host.append("measures")
            return super().single(cpu, passes)

    calibrated(Noting())
    assert host == ["locked", "measures", "free"]


def test_a_file_that_exists_stays(tmp_path: Path) -> None:
    (tmp_path / "host.svg").write_text("mine")
    with pytest.raises(UsageError, match=r"host.svg exists; give another name with --out, or remove it"):
        calibrated()
    assert (tmp_path / "host.svg").read_text() == "mine"


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("host.txt", r"`host.txt` must end with .yaml"),
        ("9.yaml", r"`9` is no name of a machine"),
        ("absent/host.yaml", r"absent is not a folder; create it, or correct --out"),
    ],
)
def test_a_wrong_place_is_refused_before_anything_is_measured(
    out: str, message: str, host: list[str]
) -> None:
    with pytest.raises(UsageError, match=message):
        calibrated(out=out)
    assert host == []


def test_nothing_is_written_if_the_host_cannot_be_measured(tmp_path: Path) -> None:
    class Broken(MadeUp):
        def chase(self, *_: str) -> Iterator[MeterSample]:
            raise HostError("cannot measure this host's memory: no memory")

    with pytest.raises(HostError, match="no memory"):
        calibrated(Broken())
    assert list(tmp_path.iterdir()) == []


# ---- check


def test_the_file_that_was_written_agrees_with_its_curve(capsys: pytest.CaptureFixture[str]) -> None:
    calibrated()
    assert main(["check", "host.yaml", "host.csv"]) == 0
    assert capsys.readouterr().out == "host.yaml is good, and agrees with host.csv\n"


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ("l2: {size: 1M,", "l2: {size: 4M,", "l2: 4096 KiB, but the step is between"),
        ("latency_ns: 14}", "latency_ns: 20}", "l3: 20 ns, but the curve is at 14.00 ns"),
        ("local_ns: 95", "local_ns: 60", "memory: 60 ns, but the curve is at 95.00 ns"),
        ("l1d: {size: 32K,", "l1d: {size: 128K,", "l1d: 128 KiB, but the step is between"),
    ],
)
def test_a_file_that_was_changed_does_not(
    right: str, wrong: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    calibrated()
    text = Path("host.yaml").read_text()
    assert text.count(right) == 1
    Path("host.yaml").write_text(text.replace(right, wrong))
    assert machinefile.load(Path("host.yaml"))  # it does not contradict itself
    assert main(["check", "host.yaml", "host.csv"]) == 1
    assert capsys.readouterr().err.startswith(f"host.yaml: {message}")


def test_the_curve_of_another_host_does_not_agree(capsys: pytest.CaptureFixture[str]) -> None:
    calibrated()
    other = {"huge": tuple(curve(((48 << 10, 1.0), (2 << 20, 5.0)), memory_ns=120))}
    Path("other.csv").write_text(curves_text(other, "huge"))
    assert main(["check", "host.yaml", "other.csv"]) == 1
    assert "the file has 3 levels of caches" in capsys.readouterr().err


def test_a_machine_without_memory_agrees_with_no_curve(tmp_path: Path) -> None:
    (tmp_path / "uneven.yaml").write_text(UNEVEN)
    (wrong,) = calibration.check(tmp_path / "uneven.yaml", tmp_path / "any.csv")
    assert "uneven has no memory system" in wrong


def test_the_file_of_another_machine_does_not_agree_with_this_curve() -> None:
    machine = with_memory(OTHER, Path("other.yaml"))
    assert len(calibration.against(machine, curve())) >= 3


OTHER = """
name: other
source: a test
cpus: 1
line: 64
l1d: {size: 64K, ways: 8}
l1i: {size: 32K, ways: 8}
l2: {size: 512K, ways: 8, latency_ns: 9}
clusters: ["0"]
sockets: ["0"]
nodes: [{cpus: "0", memory: 100}]
memory: {local_ns: 60}
atomic_ns: 4
interrupt_ns: 500
"""


def test_check_names_file_line_and_key_of_a_contradiction(capsys: pytest.CaptureFixture[str]) -> None:
    Path("bad.yaml").write_text(OTHER.replace("local_ns: 60", "local_ns: 2"))
    assert main(["check", "bad.yaml", "any.csv"]) == 4
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(
        "python -m contrib.calibration: bad.yaml:12: memory.local_ns: is 2, less than the 9"
    )


# ---- disturbances


def snapshot(steal: int, total: int, waiting_us: int | None = 0, time_ns: int = 0) -> HostSnapshot:
    return HostSnapshot(time_ns, {0: steal}, {0: total}, waiting_us, None, None)


def test_steal_and_other_work_are_shares_of_the_time() -> None:
    before, after = snapshot(10, 1000), snapshot(35, 2000, 250_000, 1_000_000_000)
    steal, work = disturbances(before, after)
    assert steal.startswith("steal: 2.5% ")
    assert re.search("^other work .* 25% of the time", work)


def test_a_host_that_counts_neither_says_so() -> None:
    nothing = HostSnapshot(0, None, None, None, None, None)
    steal, work = disturbances(nothing, nothing)
    assert steal.startswith("steal: unavailable: ")
    assert re.search(r"^other work .*: unavailable: .*\(PSI\)$", work)


def test_of_many_cpus_the_first_64_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    cpus = tuple(LogicalCpu(n, True, 0, (n,)) for n in range(100))
    whole = HostTopology(cpus, tuple(range(100)), "sysfs", False, CpuIsolation("", "", "", "", ""))
    asked: list[tuple[int, ...]] = []

    def read(affinity: tuple[int, ...] | None = None) -> HostTopology:
        return whole if affinity is None else dataclasses.replace(whole, affinity=affinity)

    def told_by(topology: HostTopology) -> HostDescription:
        asked.append(topology.usable)
        return told_of()

    monkeypatch.setattr(host_topology, "read", read)
    monkeypatch.setattr(host_description, "read", told_by)
    assert "a machine has at most 64 CPUs: the first of the 100 that may be used here" in calibrated()
    assert asked == [tuple(range(64))]


def test_the_unit_of_time_is_named() -> None:
    assert "one cycle of this host takes 0.250 ns (4.00 GHz while it was measured" in calibrated()


def test_a_curve_of_more_levels_than_a_machine_has_is_no_agreement() -> None:
    four = ((16 << 10, 1.0), (128 << 10, 4.0), (1 << 20, 14.0), (8 << 20, 45.0))
    done = calibration.calibrate(
        Path("host.yaml"), quick=True, say=lambda _: None, measure=MadeUp(caches=four)
    )
    assert not done.agrees
    assert "DOES NOT agree with the curve (chase: huge)" in done.text
    assert "the file has 3 levels of caches" in done.text


def test_levels_that_the_curve_lacks_leave_the_file_in_agreement() -> None:
    text = calibrated(MadeUp(caches=THREE[:2]))
    assert "the host tells 3 levels of data caches; the curve has 2 steps" in text
    assert "the file agrees with the curve" in text


# ---- measurements that no file can hold


@dataclasses.dataclass
class Odd(MadeUp):
    """A host of which one kind of measurement is what a busy host, or a broken clock, shows."""

    kind: str = ""
    value: float = 0.0

    def __call__(
        self, words: Sequence[object], seen: Callable[[MeterSample], None] = lambda _: None
    ) -> tuple[MeterSample, ...]:
        samples = super().__call__(words, seen)
        return tuple(
            dataclasses.replace(sample, value=self.value) if sample.name == self.kind else sample
            for sample in samples
        )


@pytest.mark.parametrize(
    ("kind", "value", "key"),
    [
        ("interrupt", 3_259_894.0, "interrupt_ns"),
        ("interrupt", 1e18, "interrupt_ns"),
        ("interrupt", -4.0, "interrupt_ns"),
        ("interrupt", math.nan, "interrupt_ns"),
        ("transfer", 2e6, "cluster_ns"),
        ("transfer", math.inf, "cluster_ns"),
        ("handover", 1e9, "cluster_ns"),
        ("atomic", 5e6, "atomic_ns"),
        ("cycle", math.inf, "atomic_ns"),
        ("stream", 1e5, "local_ns"),
        ("stream", 1e17, "local_ns"),
        ("other", 1e9, "clusters"),
    ],
)
def test_a_measurement_that_no_file_can_hold_is_left_out_and_the_rest_kept(
    kind: str, value: float, key: str
) -> None:
    done = calibration.calibrate(
        Path("host.yaml"), quick=True, say=lambda _: None, measure=Odd(kind=kind, value=value)
    )
    machine = with_memory(Path("host.yaml").read_text(), Path("host.yaml"))
    assert (machine.l2.size, machine.l2.latency_ns, machine.memory_local_ns) == (1 << 20, 4, 95)
    assert f"{key}: " in Path("host.yaml").read_text()
    assert machine.bandwidth_gb_s == (0 if kind == "stream" else pytest.approx(4 * (20 + 8 * 0.1)))
    assert done.agrees
    if kind != "other":
        assert "is not usable: a machine file takes" in done.text
        assert "is not usable: a machine file takes" in " ".join(
            Path("host.yaml").read_text().split("\n#   ")
        )


def test_an_interrupt_of_another_pair_is_kept() -> None:
    class Once(MadeUp):
        def interrupt(self, one: str, two: str, passes: str) -> Iterator[MeterSample]:
            for sample in super().interrupt(one, two, passes):
                yield dataclasses.replace(sample, value=3_259_894.0) if two == "1" else sample

    text = calibrated(Once())
    assert "interrupt_ns, CPUs 0-1: 1,629,947 was measured, which is not usable" in text
    machine = with_memory(Path("host.yaml").read_text(), Path("host.yaml"))
    assert machine.interrupt_ns == 800


@pytest.mark.parametrize("value", [1e7, 0.0, 1e-9])
def test_a_curve_without_a_usable_point_is_no_measurement(tmp_path: Path, value: float) -> None:
    with pytest.raises(HostError, match=r"chase \(huge\): .* points are not usable"):
        calibrated(Odd(kind="chase", value=value))
    assert list(tmp_path.iterdir()) == []


def test_a_slow_memory_has_a_limit_that_is_not_zero() -> None:
    calibrated(Odd(kind="stream", value=30e6))
    machine = with_memory(Path("host.yaml").read_text(), Path("host.yaml"))
    assert machine.bandwidth_gb_s == pytest.approx(0.03)


def test_another_cluster_is_no_nearer_than_the_last_cache() -> None:
    near = {frozenset((number, two)): 6.0 for number in range(4) for two in range(4) if number != two}
    calibrated(MadeUp(clusters=((0, 1), (2, 3)), transfer_ns=near))
    assert with_memory(Path("host.yaml").read_text(), Path("host.yaml"))


@pytest.mark.parametrize(
    "change",
    [
        {
            "caches": (
                CacheDescription(1, "Data", 1 << 15, 8, 48, ()),
                CacheDescription(2, "Unified", 1 << 20, 8, 48, ()),
            )
        },
        {
            "caches": (
                CacheDescription(1, "Data", 1 << 15, 8, 64, ()),
                CacheDescription(1, "Instruction", 1 << 22, 8, 64, ()),
            )
        },
    ],
)
def test_what_a_host_tells_and_no_file_can_hold_is_left_out(
    change: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_description, "read", lambda _: dataclasses.replace(told_of(), **change))
    done = calibration.calibrate(Path("host.yaml"), quick=True, say=lambda _: None, measure=MadeUp())
    machine = with_memory(Path("host.yaml").read_text(), Path("host.yaml"))
    assert machine.memory_local_ns == 95
    assert "what the host tells of itself is left out, because a machine file cannot hold it: " in done.text


def machine() -> Machine:
    return with_memory(OTHER, Path("other.yaml"))


def texts(kinds: list[str], decides: str) -> list[str]:
    root = ElementTree.fromstring(sheet(machine(), {kind: tuple(curve(THREE)) for kind in kinds}, decides))
    return [one.text or "" for one in root.iter("{http://www.w3.org/2000/svg}text")]


def test_the_stairs_are_the_levels_of_the_file() -> None:
    assert [(stair.name, stair.size, stair.ns) for stair in stairs_of(machine())] == [
        ("L1d", 64 << 10, 1),
        ("L2", 512 << 10, 9),
        ("memory", None, 60),
    ]


def test_the_legend_names_each_chase_and_which_decides() -> None:
    words = " ".join(texts(["huge", "small", "local"], "small"))
    assert "all lines in random order, on huge pages page by page" not in words
    assert "all lines in random order, on huge pages" in words
    assert "on pages of 4 KiB; the file is made from it" in words
    assert "What the TLB adds" not in words


def test_pages_have_a_picture_of_their_own() -> None:
    assert any(text.startswith("What the TLB adds") for text in texts(["huge", "pages"], "huge"))
