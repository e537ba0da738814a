from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.errors import BuildError, UsageError
from benchgate.insn import ClockMode, Level, arguments, prepare
from benchgate.insn.plugin import is_dynamic

PLUGIN = Path("/cache/insn/full.so")


def launch(**changes: object) -> tuple[tuple[str, ...], dict[str, str]]:
    values: dict[str, object] = {
        "level": Level.FULL,
        "mode": ClockMode.SERIAL,
        "log": Path("/run/clock.log"),
        "seed": 3,
        "cpus": 4,
        "machine": "q35",
    }
    found = arguments(**{"plugin": PLUGIN, **values, **changes})  # type: ignore[arg-type]
    return found.argv_extra, dict(found.environment)


def test_full_preloads_the_plugin_and_gives_time_to_the_guest() -> None:
    argv, environment = launch()
    options = argv[argv.index("-plugin") + 1].split(",")
    assert options[0] == str(PLUGIN)
    assert {"out=/run/clock.log", "seed=3", "serial=1"} <= set(options)
    assert environment == {"LD_PRELOAD": str(PLUGIN)}
    assert ("apic.vapic=off" in argv, "hpet=off" in argv) == (True, True)
    assert argv[argv.index("-rtc") + 1].endswith("clock=vm")


def test_count_only_loads_the_plugin() -> None:
    argv, environment = launch(level="count", mode="parallel")
    assert argv[0] == "-plugin"
    assert len(argv) == 2
    assert "serial=0" in argv[1]
    assert environment == {}


def test_the_hpet_is_left_alone_where_there_is_none_or_the_user_chose() -> None:
    assert "hpet=off" not in launch(machine="microvm")[0]
    assert "hpet=off" not in launch(machine="q35,hpet=on")[0]
    assert "hpet=off" in launch(machine="pc-q35-10.0")[0]


def test_a_system_without_marks_is_kept_in_close_step_all_the_time() -> None:
    assert "rush=1" in launch(marked=False)[0][1].split(",")
    assert "rush=1" not in launch()[0][1].split(",")


def test_commas_are_doubled_and_paths_the_loader_cannot_take_are_refused() -> None:
    argv, _ = launch(log=Path("/a,b/clock.log"), attribution=Path("/c,d"))
    assert "out=/a,,b/clock.log" in argv[1]
    assert "attribution=/c,,d" in argv[1]
    with pytest.raises(UsageError, match="space or a colon"):
        launch(plugin=Path("/my cache/full.so"))


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"level": "none"}, "--clock wall"),
        ({"cpus": 0}, "1 to 256"),
        ({"seed": -1}, "a seed"),
        ({"seed": 2**64}, "a seed"),
    ],
)
def test_what_cannot_be_meant_is_refused(changes: dict[str, object], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        launch(**changes)


class Qemu:
    environment: dict[str, str] = {}  # noqa: RUF012
    data: tuple[Path, ...] = ()
    version = (10, 0, 2)
    digest = "0"

    def __init__(self, binary: Path) -> None:
        self.binary = binary


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


def test_a_static_qemu_is_refused_in_words(tmp_path: Path) -> None:
    assert is_dynamic(elf(tmp_path / "dynamic", interpreter=True))
    static = elf(tmp_path / "static", interpreter=False)
    with pytest.raises(BuildError, match="linked statically"):
        prepare(Qemu(static), Level.FULL)


def test_another_host_is_refused_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = elf(tmp_path / "dynamic", interpreter=True)
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    with pytest.raises(BuildError, match="x86-64 Linux hosts, and this is aarch64"):
        prepare(Qemu(program), Level.COUNT)
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    monkeypatch.setattr("platform.libc_ver", lambda: ("", ""))
    with pytest.raises(BuildError, match="another libc"):
        prepare(Qemu(program), Level.FULL)


def test_a_qemu_that_is_not_there_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="No such file"):
        prepare(Qemu(tmp_path / "absent"), Level.COUNT)
