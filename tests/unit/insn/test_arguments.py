"""The arguments of QEMU on the instruction clock, and the QEMUs and hosts that are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.base.errors import BuildError, UsageError
from benchgate.base.system.qemu import Qemu
from benchgate.insn.arguments import ClockRun, Records, arguments, turn_asked
from benchgate.insn.log import AccessOrder, TurnedClock
from benchgate.insn.plugin import is_dynamic, prepare

PLUGIN = Path("/cache/insn/full.so")


def clock_arguments(**changes: object) -> tuple[tuple[str, ...], dict[str, str]]:
    run: dict[str, object] = {"log": Path("/run/clock.log"), "seed": 3, "cpus": 4, "machine": "q35"}
    plugin = changes.pop("plugin", PLUGIN)
    result = arguments(plugin, ClockRun(**(run | changes)))  # type: ignore[arg-type]
    return result.argv_extra, dict(result.environment)


def test_the_plugin_is_preloaded_and_the_guests_time_sources_are_set() -> None:
    argv, environment = clock_arguments()
    options = argv[argv.index("-plugin") + 1].split(",")
    assert options[0] == str(PLUGIN)
    assert {"out=/run/clock.log", "seed=3", "quantum=5000", "fine=100"} <= set(options)
    assert environment == {"LD_PRELOAD": str(PLUGIN)}
    assert ("apic.vapic=off" in argv, "hpet=off" in argv) == (True, True)
    assert argv[argv.index("-rtc") + 1].endswith("clock=vm")


def test_disks_have_one_thread_which_the_clock_waits_for() -> None:
    argv, _ = clock_arguments(disks=True)
    assert "disks=1" in argv[argv.index("-plugin") + 1].split(",")
    assert argv[argv.index("-object") + 1] == "main-loop,id=main-loop,thread-pool-min=1,thread-pool-max=1"
    assert "-object" not in clock_arguments()[0]


def test_the_hpet_is_turned_off_unless_the_machine_has_none_or_the_user_chose() -> None:
    assert "hpet=off" not in clock_arguments(machine="microvm")[0]
    assert "hpet=off" not in clock_arguments(machine="q35,hpet=on")[0]
    assert "hpet=off" in clock_arguments(machine="pc-q35-10.0")[0]


def test_without_marks_the_lockstep_is_tight_throughout_and_the_log_has_the_console() -> None:
    assert {"rush=1", "lines=1"} <= set(clock_arguments(marked=False)[0][1].split(","))
    assert {"rush=25", "lines=0"} <= set(clock_arguments()[0][1].split(","))


def test_a_guest_that_is_typed_at_has_a_talk() -> None:
    assert "talk=4" in clock_arguments(talks=True)[0][1].split(",")
    assert "talk" not in clock_arguments()[0][1]


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
        prepare(qemu(static))


def test_an_unsupported_host_is_refused_with_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = elf(tmp_path / "dynamic", interpreter=True)
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    with pytest.raises(BuildError, match="x86-64 Linux host, and this is aarch64"):
        prepare(qemu(program))
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    monkeypatch.setattr("platform.libc_ver", lambda: ("", ""))
    with pytest.raises(BuildError, match="another C library"):
        prepare(qemu(program))


def test_a_missing_qemu_is_refused_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="No such file"):
        prepare(qemu(tmp_path / "absent"))


def test_a_machine_and_strict_order_reach_the_plugin() -> None:
    run = ClockRun(Path("/log"), shape=Path("/run/machine.shape"), order=AccessOrder.STRICT)
    result = arguments(PLUGIN, run)
    assert "machine=/run/machine.shape,order=strict" in result.argv_extra[1]
    assert result.one_insn


def test_capacities_reach_the_plugin() -> None:
    assert (
        "capacities=1024:512"
        in arguments(PLUGIN, ClockRun(Path("/log"), capacities="1024:512")).argv_extra[1]
    )
    assert "capacities" not in arguments(PLUGIN, ClockRun(Path("/log"))).argv_extra[1]


def test_the_rules_to_which_a_clock_turns_are_read_back_from_its_command_line() -> None:
    turned = TurnedClock(12_345, 2**64 - 1, 500, 0, 2)
    argv = arguments(PLUGIN, ClockRun(Path("/log"), turn=turned)).argv_extra
    assert turn_asked(argv) == turned
    assert turn_asked(arguments(PLUGIN, ClockRun(Path("/log"))).argv_extra) is None
    assert turn_asked(["-append", "words,turn=1:2:3:4:5"]) is None  # the guest's, not the clock's


@pytest.mark.parametrize(
    ("found", "is_of"),
    [
        (TurnedClock(100, 7, 500, 100, 25), True),
        (TurnedClock(140, 7, 500, 100, 25), True),  # the first moment at which it can
        (TurnedClock(99, 7, 500, 100, 25), False),
        (TurnedClock(100, 8, 500, 100, 25), False),
        (TurnedClock(100, 7, 501, 100, 25), False),
        (TurnedClock(100, 7, 500, 100, 24), False),
        (TurnedClock(100, 7, 500, 999, 25), True),  # not asked for
    ],
)
def test_a_clock_turns_as_it_was_asked(found: TurnedClock, *, is_of: bool) -> None:
    assert found.is_of(TurnedClock(100, 7, 500, 0, 25)) is is_of
