"""The arguments of QEMU on the instruction clock, and the QEMUs and hosts that are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.base.errors import BuildError, UsageError
from benchgate.base.qemu import Qemu
from benchgate.insn.arguments import ClockConfig, ClockRun, arguments
from benchgate.insn.log import ClockMode, Level, Order
from benchgate.insn.plugin import is_dynamic, prepare
from benchgate.insn.records import Records

PLUGIN = Path("/cache/insn/full.so")


def clock_arguments(**changes: object) -> tuple[tuple[str, ...], dict[str, str]]:
    clock: dict[str, object] = {"plugin": PLUGIN, "level": Level.FULL, "mode": ClockMode.SERIAL}
    run: dict[str, object] = {"log": Path("/run/clock.log"), "seed": 3, "cpus": 4, "machine": "q35"}
    clock |= {name: value for name, value in changes.items() if name in clock}
    run |= {name: value for name, value in changes.items() if name not in clock}
    found = arguments(ClockConfig(**clock), ClockRun(**run))  # type: ignore[arg-type]
    return found.argv_extra, dict(found.environment)


def test_level_full_preloads_the_plugin_and_sets_the_guests_time_sources() -> None:
    argv, environment = clock_arguments()
    options = argv[argv.index("-plugin") + 1].split(",")
    assert options[0] == str(PLUGIN)
    assert {"out=/run/clock.log", "seed=3", "serial=1"} <= set(options)
    assert environment == {"LD_PRELOAD": str(PLUGIN)}
    assert ("apic.vapic=off" in argv, "hpet=off" in argv) == (True, True)
    assert argv[argv.index("-rtc") + 1].endswith("clock=vm")


def test_disks_have_one_thread_which_the_clock_waits_for() -> None:
    argv, _ = clock_arguments(disks=True)
    assert "disks=1" in argv[argv.index("-plugin") + 1].split(",")
    assert argv[argv.index("-object") + 1] == "main-loop,id=main-loop,thread-pool-min=1,thread-pool-max=1"
    assert "-object" not in clock_arguments()[0]
    assert "disks" not in " ".join(clock_arguments(disks=True, level=Level.COUNT)[0])


def test_level_count_only_loads_the_plugin() -> None:
    argv, environment = clock_arguments(level=Level.COUNT, mode=ClockMode.PARALLEL)
    assert argv[0] == "-plugin"
    assert len(argv) == 2
    assert "serial=0" in argv[1]
    assert environment == {}


def test_the_hpet_is_turned_off_unless_the_machine_has_none_or_the_user_chose() -> None:
    assert "hpet=off" not in clock_arguments(machine="microvm")[0]
    assert "hpet=off" not in clock_arguments(machine="q35,hpet=on")[0]
    assert "hpet=off" in clock_arguments(machine="pc-q35-10.0")[0]


def test_without_marks_the_lockstep_is_tight_throughout_and_the_log_has_the_console() -> None:
    assert {"rush=1", "lines=1"} <= set(clock_arguments(marked=False)[0][1].split(","))
    assert {"rush=25", "lines=0"} <= set(clock_arguments()[0][1].split(","))


def test_a_guest_that_is_typed_at_has_a_talk_and_level_count_says_that_it_cannot() -> None:
    assert "talk=4" in clock_arguments(talks=True)[0][1].split(",")
    assert "talk" not in clock_arguments()[0][1]
    with pytest.raises(UsageError, match=r"nothing can be typed .* at level count"):
        clock_arguments(talks=True, level=Level.COUNT)


def test_a_window_between_lines_is_told_to_the_plugin() -> None:
    argv, _ = clock_arguments(records=Records(Path("/p"), window=(87, 139)))
    assert argv[1].endswith(",profile=/p,window=87:139")


def test_commas_are_doubled_and_paths_that_cannot_be_preloaded_are_refused() -> None:
    argv, _ = clock_arguments(
        log=Path("/a,b/clock.log"), records=Records(Path("/c,d"), events=Path("/e"), stacks=Path("/s"))
    )
    assert "out=/a,,b/clock.log" in argv[1]
    assert argv[1].endswith(",profile=/c,,d,events=/e,stacks=/s")
    with pytest.raises(UsageError, match="space or a colon"):
        clock_arguments(plugin=Path("/my cache/full.so"))


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"level": Level.NONE}, "--clock wall"),
        ({"cpus": 0}, "1 to 256"),
        ({"seed": -1}, "the seed"),
        ({"seed": 2**64}, "the seed"),
    ],
)
def test_options_out_of_range_are_refused(changes: dict[str, object], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        clock_arguments(**changes)


def qemu(binary: Path) -> Qemu:
    return Qemu(binary, {}, (), (10, 0, 2), "digest")


def elf(path: Path, *, interpreter: bool) -> Path:
    header = bytearray(64)
    header[:6] = b"\x7fELF\x02\x01"
    header[32:40] = (64).to_bytes(8, "little")
    header[54:56] = (56).to_bytes(2, "little")
    header[56:58] = (2).to_bytes(2, "little")
    table = (1).to_bytes(4, "little") + bytes(52)
    table += (3 if interpreter else 6).to_bytes(4, "little") + bytes(52)
    path.write_bytes(bytes(header) + table)
    return path


def test_a_statically_linked_qemu_is_refused_with_the_reason(tmp_path: Path) -> None:
    assert is_dynamic(elf(tmp_path / "dynamic", interpreter=True))
    static = elf(tmp_path / "static", interpreter=False)
    with pytest.raises(BuildError, match="linked statically"):
        prepare(qemu(static), Level.FULL)


def test_an_unsupported_host_is_refused_with_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = elf(tmp_path / "dynamic", interpreter=True)
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    with pytest.raises(BuildError, match="x86-64 Linux host, and this is aarch64"):
        prepare(qemu(program), Level.COUNT)
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    monkeypatch.setattr("platform.libc_ver", lambda: ("", ""))
    with pytest.raises(BuildError, match="another C library"):
        prepare(qemu(program), Level.FULL)


def test_a_missing_qemu_is_refused_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="No such file"):
        prepare(qemu(tmp_path / "absent"), Level.COUNT)


def test_a_machine_with_memory_needs_one_order_and_instruction_time() -> None:
    shape = Path("/run/machine.shape")
    with pytest.raises(UsageError, match="--clock-mode serial"):
        clock_arguments(mode=ClockMode.PARALLEL, shape=shape)
    with pytest.raises(UsageError, match="level full"):
        clock_arguments(level=Level.COUNT, shape=shape)


def test_a_machine_and_strict_order_reach_the_plugin() -> None:
    run = ClockRun(Path("/log"), shape=Path("/run/machine.shape"), order=Order.STRICT)
    found = arguments(ClockConfig(PLUGIN, Level.FULL, ClockMode.SERIAL), run)
    assert "machine=/run/machine.shape,order=strict" in found.argv_extra[1]
    assert found.one_insn
