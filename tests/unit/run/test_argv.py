"""Command lines and manifests by value, deadlines by lane, and the patterns to watch for."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchgate.base.cells import Accel, Lane, Placement
from benchgate.base.errors import UsageError
from benchgate.base.exploration import Strategy, usual
from benchgate.base.runs import Deadlines, Image
from benchgate.base.snapshots import GuestSnapshot, SnapshotRecord, StartKind
from benchgate.base.system.boots import BootDefinition
from benchgate.base.system.machines import MemoryRange
from benchgate.base.system.qemu import Disk, Interface, Port, Qemu
from benchgate.base.system.systems import AskMethod
from benchgate.plan.catalog import load_system
from benchgate.plan.planned import PlannedCell, Seats
from benchgate.run.argv import BootOptions, VmConfig, deadlines, guest_spec, manifest, native_spec
from benchgate.run.end_memory import keeps_memory
from benchgate.run.watch import GUEST_WATCH, NATIVE_WATCH, watch_for
from tests.unit.machines import duo
from tests.unit.plans import own_system, planned

QEMU = Qemu(Path("/q/qemu"), {"LD_LIBRARY_PATH": "/q/lib"}, (Path("/q/roms"),), (10, 0, 2), "d", "user", ())
HOST = VmConfig(QEMU, Accel.TCG, "max")
IMAGE = Image(Path("/i/kernel"), Path("/i/initrd"), None, {"kernel": "aa"})
NONCE = "0123456789abcdef"
BOOT = BootOptions(NONCE)
PRIMES = "bench.hi=3000000 bench.split=cost bench.wait=join"


def after(argv: tuple[str, ...], flag: str) -> str:
    return argv[argv.index(flag) + 1]


def test_the_manifest_has_exactly_these_words() -> None:
    cell = planned(2).cell
    words = (
        f"bench.workload=primes bench.mode=process bench.workers=2 bench.cpus=2 bench.nonce={NONCE} {PRIMES}"
    )
    assert manifest(cell, NONCE) == words
    assert manifest(cell, NONCE, needs=("park", "threads")) == words + " bench.needs=park,threads"
    assert manifest(cell, NONCE, files="/files") == words + " bench.files=/files"
    assert manifest(cell, NONCE, measure=True) == words + " bench.measure=1"
    assert manifest(cell, NONCE, pins=(4, 5)) == words + " bench.pin=4,5"


def test_the_command_line_of_a_guest() -> None:
    spec = guest_spec(planned(2), IMAGE, HOST, BOOT)
    assert spec.argv[:3] == ("/q/qemu", "-L", "/q/roms")
    assert after(spec.argv, "-kernel") == "/i/kernel"
    assert after(spec.argv, "-initrd") == "/i/initrd"
    assert after(spec.argv, "-smp") == "2"
    assert after(spec.argv, "-cpu") == "max"
    assert after(spec.argv, "-accel") == "tcg,thread=multi"
    assert after(spec.argv, "-name") == f"guest=benchgate-{NONCE},debug-threads=on"
    append = after(spec.argv, "-append")
    assert append.startswith("console=ttyS0 quiet ")
    assert append.endswith(f" bench.workload=primes {manifest(planned(2).cell, NONCE).split(' ', 1)[1]}")
    assert (spec.environment, spec.lane, spec.cpus, spec.pins) == (QEMU.environment, Lane.TCG, 2, (4, 5))


def test_disks_and_firmware_are_on_the_command_line() -> None:
    cell = planned(2)
    disks = (Disk("{out}/a"), Disk("b", "qcow2", Interface.IDE))
    system = replace(
        cell.system, ask=AskMethod.SELFTEST, boot=BootDefinition(disks=disks, firmware="own.bin")
    )
    image = Image(None, None, None, {}, disks=(Path("/i/a"), Path("/i/b")), firmware=Path("/i/own.bin"))
    argv = guest_spec(replace(cell, system=system), image, HOST, BOOT).argv
    assert (after(argv, "-bios"), "-kernel" in argv, "-append" in argv) == ("/i/own.bin", False, False)
    assert [argv[place + 1] for place, word in enumerate(argv) if word == "-drive"] == [
        "id=disk0,if=none,file=/i/a,format=raw,snapshot=on",
        "id=disk1,if=ide,index=0,media=disk,file=/i/b,format=qcow2,snapshot=on",
    ]
    assert "virtio-blk-pci,drive=disk0" in argv
    bare = guest_spec(
        replace(cell, system=replace(system, boot=replace(system.boot, firmware="none"))), image, HOST, BOOT
    ).argv
    assert after(bare, "-bios") == "none"


def test_the_console_is_a_serial_port_or_virtio() -> None:
    cell = planned(2)
    serial = guest_spec(cell, IMAGE, HOST, BOOT).argv
    virtio = replace(cell.system, qemu=replace(cell.system.qemu, console="virtio"))
    other = guest_spec(replace(cell, system=virtio), IMAGE, HOST, BOOT).argv
    assert after(serial, "-serial") == "chardev:console"
    assert "-serial" not in other
    assert "virtconsole,chardev=console" in other
    assert after(serial, "-chardev") == after(other, "-chardev")


def test_the_settings_of_a_system_override_the_defaults(tmp_path: Path) -> None:
    cell = replace(planned(2), system=own_system(tmp_path))
    spec = guest_spec(cell, replace(IMAGE, initrd=None), replace(HOST, cpu_model="host"), BOOT)
    assert (after(spec.argv, "-machine"), after(spec.argv, "-cpu"), after(spec.argv, "-m")) == (
        "pc",
        "max",
        "64M",
    )
    assert after(spec.argv, "-smp") == "2,sockets=2"
    assert spec.argv[-2:] == ("-device", "foo")
    assert "-initrd" not in spec.argv
    assert after(spec.argv, "-append").startswith("quiet bench.workload=primes ")
    given = guest_spec(cell, IMAGE, HOST, replace(BOOT, words="selftest=all"))
    assert after(given.argv, "-append") == "selftest=all"


def test_a_native_run_is_the_program_with_its_pins() -> None:
    image = Image(None, None, Path("/p/bench"), {"program": "bb"})
    spec = native_spec(planned(2, system="native"), image, NONCE)
    assert spec.argv == (
        "/p/bench",
        *manifest(planned(2).cell, NONCE).split(),
        "bench.pin=4,5",
    )
    assert (spec.environment, spec.lane, spec.pins) == ({}, Lane.NATIVE, (4, 5))
    with pytest.raises(UsageError, match="primes-native-smp2: the image has no program"):
        native_spec(planned(2, system="native"), IMAGE, NONCE)


def test_an_oversubscribed_guest_uses_its_pins_in_turn() -> None:
    cell = planned(4, oversubscribe=True)
    assert cell.seats.placement is Placement.OVERSUBSCRIBED
    assert guest_spec(cell, IMAGE, HOST, BOOT).pins == (4, 5, 4, 5)


@pytest.mark.parametrize(
    ("lane", "pins", "cpus", "expected"),
    [
        (Lane.TCG, (4, 5), 2, Deadlines(60, 120)),
        (Lane.KVM, (4, 5), 2, Deadlines(60, 120)),
        (Lane.NATIVE, (4, 5), 1, Deadlines(60, 120)),
        (Lane.TCG, (4, 5), 4, Deadlines(120, 240)),  # two vCPUs per pin
        (Lane.TCG, (), 4, Deadlines(60, 120)),
        (Lane.INSN, (), 1, Deadlines(60, 120)),
        (Lane.INSN, (4,), 4, Deadlines(60, 120)),  # in guest time
    ],
)
def test_deadlines_follow_the_lane(lane: Lane, pins: tuple[int, ...], cpus: int, expected: Deadlines) -> None:
    planned_cell = planned(1)
    seated = replace(
        planned_cell, cell=replace(planned_cell.cell, cpus=cpus), seats=Seats(lane, Placement.VIRTUAL, pins)
    )
    assert deadlines(seated) == expected


def test_the_instruction_clock_must_be_prepared() -> None:
    cell = replace(planned(1), seats=Seats(Lane.INSN, Placement.VIRTUAL, ()))
    with pytest.raises(UsageError, match="primes-linux-smp1: the instruction clock is not prepared"):
        guest_spec(cell, IMAGE, HOST, replace(BOOT, log=Path("clock.log")))


def test_the_watch_has_the_patterns_of_the_system(tmp_path: Path) -> None:
    assert watch_for(load_system("native")) is NATIVE_WATCH
    watch = watch_for(own_system(tmp_path))
    assert [watch.failures[:-2], *watch.failures[-2:]] == [
        GUEST_WATCH.failures,
        rb"(?:(?<=\n)oops)[^\n]*",
        rb"(?:broken)[^\n]*",
    ]
    assert watch.success == {0, 33}
    assert watch.ends == GUEST_WATCH.ends
    assert re.search(watch.ready or b"x", b"boot\nhello 1") is not None
    assert re.search(watch.ready or b"x", b"boot: hello 1") is None


def test_an_exploration_is_one_more_file_of_the_clock_and_of_nothing_else() -> None:
    cell, sync = planned(2), usual(Strategy.SYNC, 5)
    clocked = replace(cell, seats=Seats(Lane.INSN, Placement.VIRTUAL, ()))
    host = replace(HOST, clock=Path("/c/insn.so"))
    logged = replace(BOOT, log=Path("/runs/0001/clock.log"))
    spec = guest_spec(clocked, IMAGE, host, replace(logged, exploration=sync))
    assert spec.exploration == sync
    assert ",explore=/runs/0001/exploration.txt" in after(spec.argv, "-plugin")
    assert "explore" not in after(guest_spec(clocked, IMAGE, host, logged).argv, "-plugin")
    with pytest.raises(UsageError, match="only the instruction clock explores; use --clock insn"):
        guest_spec(cell, IMAGE, HOST, replace(BOOT, exploration=sync))


# ---- warm starts


INSN_HOST = replace(HOST, clock=Path("/c/insn.so"), cpu_model="qemu64")
SNAPSHOT = GuestSnapshot(Path("/cache/a,b"), SnapshotRecord(1_500_000_000, 70, 3, {}, {}))
WARM_IMAGE = replace(IMAGE, start=Path("/i/start.cpio"))
LOGGED = replace(BOOT, log=Path("/runs/0001,x/clock.log"), seed=9)
SAVES = replace(LOGGED, saves=Path("/work"))
STARTS = replace(LOGGED, start=SNAPSHOT)


def warm(word: str = "linux:start=warm") -> PlannedCell:
    return replace(planned(2, system=word), seats=Seats(Lane.INSN, Placement.VIRTUAL, ()))


def prompted(start: StartKind = StartKind.WARM) -> PlannedCell:
    cell = warm()
    boot = replace(cell.system.boot, initrd="", start=start)
    return replace(cell, system=replace(cell.system, ask=AskMethod.PROMPT, boot=boot))


def every(argv: tuple[str, ...], flag: str) -> list[str]:
    return [argv[place + 1] for place, word in enumerate(argv) if word == flag]


def test_a_guest_that_is_saved_has_its_memory_in_a_file_and_waits_for_what_comes_later() -> None:
    spec = guest_spec(warm(), WARM_IMAGE, INSN_HOST, SAVES)
    assert every(spec.argv, "-object") == [
        "memory-backend-file,id=ram,size=512M,mem-path=/work/ram,share=on",
    ]
    assert every(spec.argv, "-machine")[1] == "memory-backend=ram"
    assert every(spec.argv, "-fw_cfg") == [
        "name=opt/benchgate/files,string=later", "name=opt/benchgate/words,string=later",
    ]  # fmt: skip
    assert after(spec.argv, "-initrd") == "/i/start.cpio"
    assert after(spec.argv, "-append") == warm().system.boot.append
    assert "bench." not in after(spec.argv, "-append")
    assert ("-incoming" in spec.argv, spec.start, spec.words, spec.talks) == (False, None, "", True)
    assert "start=" not in after(spec.argv, "-plugin")


def test_a_guest_from_a_snapshot_changes_no_file_of_it_and_gets_its_words_and_files() -> None:
    spec = guest_spec(warm(), WARM_IMAGE, INSN_HOST, STARTS)
    assert every(spec.argv, "-object") == [
        "memory-backend-file,id=ram,size=512M,mem-path=/cache/a,,b/ram,share=off,readonly=on,rom=off",
    ]
    assert every(spec.argv, "-fw_cfg") == [
        "name=opt/benchgate/files,file=/i/initrd",
        "name=opt/benchgate/words,file=/runs/0001,,x/words",
    ]
    assert after(spec.argv, "-incoming") == "defer"
    assert ",start=1500000000:70" in after(spec.argv, "-plugin")
    assert (spec.start, spec.talks) == (SNAPSHOT, True)
    assert spec.words == f"{warm().system.boot.append} {manifest(warm().cell, NONCE)}"
    assert after(spec.argv, "-append") == warm().system.boot.append


def test_saved_and_restored_are_one_machine() -> None:
    """They differ in the file of the memory, in what comes later, and in the run's own names."""
    saved, restored = (guest_spec(warm(), WARM_IMAGE, INSN_HOST, options).argv for options in (SAVES, STARTS))
    different = [(a, b) for a, b in zip(saved, restored, strict=False) if a != b]
    assert [a.partition(",")[0] for a, _ in different][:3] == [
        "memory-backend-file", "name=opt/benchgate/files", "name=opt/benchgate/words",
    ]  # fmt: skip
    without = [word for word in restored if word not in ("-incoming", "defer")]
    assert [a.partition(",")[0] for a, b in zip(saved, without, strict=True) if a != b] == [
        "memory-backend-file", "name=opt/benchgate/files", "name=opt/benchgate/words", "/c/insn.so",
    ]  # fmt: skip


def test_a_kernel_that_waits_gets_its_words_and_its_program() -> None:
    """The archive that it boots with stays what it is."""
    one = warm("kernel:start=warm")
    image = replace(IMAGE, kernel=Path("/i/warm.elf"), program=Path("/i/primes.elf"))
    own = "sched=wfq fault=none"
    for boot, words in ((SAVES, ""), (STARTS, f"{own} {manifest(one.cell, NONCE)}")):
        spec = guest_spec(one, image, INSN_HOST, boot)
        assert (after(spec.argv, "-append"), spec.words, spec.talks) == (own, words, True)
        assert (after(spec.argv, "-kernel"), after(spec.argv, "-initrd")) == ("/i/warm.elf", "/i/initrd")
        assert every(spec.argv, "-fw_cfg") == [
            f"name=opt/benchgate/files,{'file=/i/primes.elf' if words else 'string=later'}",
            f"name=opt/benchgate/words,{'file=/runs/0001,,x/words' if words else 'string=later'}",
        ]
    inside = replace(image, program=None)
    assert every(guest_spec(one, inside, INSN_HOST, SAVES).argv, "-fw_cfg") == [
        "name=opt/benchgate/words,string=later"
    ]


def test_at_a_prompt_nothing_comes_later_but_what_is_typed() -> None:
    cell = prompted()
    for boot in (SAVES, STARTS):
        spec = guest_spec(cell, IMAGE, INSN_HOST, boot)
        assert every(spec.argv, "-fw_cfg") == []
        assert (spec.words, spec.talks) == ("", True)
        assert after(spec.argv, "-initrd") == "/i/initrd"
        assert ("-incoming" in spec.argv) == (boot is STARTS)
        assert len(every(spec.argv, "-object")) == 1


@pytest.mark.parametrize(
    ("word", "model", "cpu"),
    [
        ("linux:start=warm", "qemu64", "qemu64,-rdrand,-rdseed"),
        ("linux:start=warm", "", "qemu64,-rdrand,-rdseed"),
        ("linux:start=warm", "max", "max,-rdrand,-rdseed"),
        ("linux", "max", "max"),
        ("linux:arch=aarch64:start=warm", "max", "max"),
    ],
)
def test_only_a_warm_guest_on_x86_has_no_random_numbers_of_its_cpu(word: str, model: str, cpu: str) -> None:
    cell = warm(word)
    image, boot = (WARM_IMAGE, STARTS) if cell.starts_warm else (IMAGE, LOGGED)
    argv = guest_spec(cell, image, replace(INSN_HOST, cpu_model=model), boot).argv
    assert after(argv, "-cpu") == cpu


def test_a_cold_guest_has_no_option_of_a_warm_one() -> None:
    spec = guest_spec(warm("linux"), IMAGE, INSN_HOST, LOGGED)
    assert {"-object", "-fw_cfg", "-incoming"} & {*spec.argv} == set()
    assert "memory-backend=ram" not in spec.argv
    assert (spec.start, spec.words, spec.talks) == (None, "", False)


KEEPS = replace(LOGGED, keeps_memory=True)
OWN = "mem-path=/proc/self/fd/{},share=on"


def test_a_guest_leaves_its_memory_in_a_file_that_its_starter_has() -> None:
    spec = guest_spec(warm("linux"), IMAGE, INSN_HOST, KEEPS)
    assert every(spec.argv, "-object") == [f"memory-backend-file,id=ram,size=512M,{OWN.format(5)}"]
    assert every(spec.argv, "-machine")[1] == "memory-backend=ram"
    assert spec.kept_memory == (MemoryRange(0, 512 << 20, 0),)
    assert keeps_memory(spec.argv)
    added = ("-object", every(spec.argv, "-object")[0], "-machine", "memory-backend=ram")
    plain = guest_spec(warm("linux"), IMAGE, INSN_HOST, LOGGED)
    place = spec.argv.index("-object")
    assert spec.argv[:place] + spec.argv[place + 4 :] == plain.argv
    assert spec.argv[place : place + 4] == added
    assert plain.kept_memory == ()


def test_a_plain_number_is_as_many_mebibytes_for_the_backend_too() -> None:
    cell = warm("linux")
    system = replace(cell.system, qemu=replace(cell.system.qemu, memory="96"))
    spec = guest_spec(replace(cell, system=system), IMAGE, INSN_HOST, KEEPS)
    assert every(spec.argv, "-object") == [f"memory-backend-file,id=ram,size=96M,{OWN.format(5)}"]
    assert spec.kept_memory == (MemoryRange(0, 96 << 20, 0),)


def test_a_warm_guest_leaves_its_memory_and_changes_no_file_of_its_snapshot() -> None:
    spec = guest_spec(warm(), WARM_IMAGE, INSN_HOST, replace(STARTS, keeps_memory=True))
    assert every(spec.argv, "-object") == [f"memory-backend-file,id=ram,size=512M,{OWN.format(5)}"]
    assert spec.start == SNAPSHOT
    assert not any(word.startswith("memory-backend") and "/cache" in word for word in spec.argv)


def test_each_node_leaves_its_memory() -> None:
    planned_cell = warm("linux")
    on = replace(planned_cell, system=planned_cell.system.on(duo()), cell=replace(planned_cell.cell, cpus=3))
    spec = guest_spec(on, IMAGE, INSN_HOST, KEEPS)
    backends = every(spec.argv, "-object")
    assert [word.partition(",mem-path")[0] for word in backends] == [
        "memory-backend-file,id=node0,size=402653184",
        "memory-backend-file,id=node1,size=134217728",
    ]
    assert [OWN.format(n) in word for n, word in zip((5, 6), backends, strict=True)] == [True, True]
    assert [(memory_range.first, memory_range.size) for memory_range in spec.kept_memory] == [
        (0, 384 << 20),
        (384 << 20, 128 << 20),
    ]


@pytest.mark.parametrize(
    "qemu",
    [
        {"memory": ""},
        {"memory": "4G"},
        {"memory": "512M,slots=2,maxmem=1G"},
        {"machine": "sifive_u"},
        {"arguments": ("-netdev", "user,id=n")},
        {"arguments": ("-nic", "user")},
        {"arguments": ("-numa", "node,memdev=m")},
        {"arguments": ("-object", "memory-backend-ram,id=m,size=512M")},
        {"arguments": ("-machine", "memory-backend=m")},
    ],
)
def test_a_guest_whose_memory_is_not_known_or_never_repeats_leaves_none(qemu: dict[str, Any]) -> None:
    cell = warm("linux")
    system = replace(cell.system, qemu=replace(cell.system.qemu, **qemu))
    spec = guest_spec(replace(cell, system=system), IMAGE, INSN_HOST, KEEPS)
    assert spec == guest_spec(replace(cell, system=system), IMAGE, INSN_HOST, LOGGED)
    assert spec.kept_memory == ()


def test_a_guest_with_ports_leaves_no_memory() -> None:
    cell = warm("linux")
    system = replace(cell.system, ports={"web": Port(80)})
    boot = replace(KEEPS, ports={"web": 5000})
    assert guest_spec(replace(cell, system=system), IMAGE, INSN_HOST, boot).kept_memory == ()


def test_the_caches_of_a_machine_are_a_file_of_the_snapshot_and_each_node_has_its_memory() -> None:
    cell = warm()
    on = replace(cell, system=cell.system.on(duo()))
    for boot, folder, how in (
        (SAVES, "/work", "share=on"),
        (STARTS, "/cache/a,,b", "share=off,readonly=on,rom=off"),
    ):
        argv = guest_spec(on, WARM_IMAGE, INSN_HOST, boot).argv
        assert f",caches={folder}/caches" in after(argv, "-plugin")
        backends = every(argv, "-object")
        assert backends
        assert all(
            re.fullmatch(rf"memory-backend-file,id=(\w+),size=\w+,mem-path={folder}/ram-\1,{how}", backend)
            for backend in backends
        )
        assert not any(word == "memory-backend=ram" for word in argv)
    assert "caches=" not in after(guest_spec(cell, WARM_IMAGE, INSN_HOST, STARTS).argv, "-plugin")


@pytest.mark.parametrize(
    "boot",
    [LOGGED, replace(STARTS, saves=Path("/work")), replace(STARTS, log=None)],
    ids=["neither", "both", "no log"],
)
def test_a_warm_guest_is_saved_or_restored_and_has_a_log(boot: BootOptions) -> None:
    with pytest.raises((ValueError, UsageError), match=r"a warm start needs a log, and either|not prepared"):
        guest_spec(warm(), WARM_IMAGE, INSN_HOST, boot)


def test_wall_time_has_no_warm_starts() -> None:
    cell = replace(warm(), seats=planned(2).seats)
    with pytest.raises(
        UsageError, match=r"primes-linux\.start-warm-smp2: only the instruction clock starts warm"
    ):
        guest_spec(cell, WARM_IMAGE, INSN_HOST, STARTS)
