"""A worker starts QEMU with words that reach its guest only; each known way to reach more is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.cells import Accel, Lane
from benchgate.base.runs import Image
from benchgate.base.system.arch import ARCHITECTURES
from benchgate.base.system.qemu import (
    CONSOLES,
    Disk,
    Interface,
    Port,
    Qemu,
    controlled,
    disk_options,
    network_options,
)
from benchgate.features.fleet.errors import RefusedError
from benchgate.features.fleet.task import (
    FolderFile,
    GuestFile,
    Item,
    KeptFile,
    StandIn,
    Word,
    WorkerPath,
    templated,
)
from benchgate.features.fleet.tests.tasks import NONCE, SHA, task, warm_cell, warm_task
from benchgate.features.fleet.words import require, why_not
from benchgate.plan import catalog
from benchgate.run import argv
from benchgate.run.argv import BootOptions, VmConfig
from tests.unit.plans import planned

DISK = Item("disk", SHA["disk"])
IMAGE = GuestFile(SHA["disk"])


def with_words(*words: str | Word) -> str:
    """Why a task with these words more is refused; empty if it is not."""
    more = tuple((word,) if isinstance(word, str) else word for word in words)
    one = task()
    return why_not(replace(one, argv=(*one.argv, *more), items=(*one.items, DISK)))


def test_the_command_line_of_a_run_is_started() -> None:
    require(task())


@pytest.mark.parametrize("interface", Interface)
def test_raw_disks_are_attached_to_each_interface(interface: Interface) -> None:
    options = disk_options([Disk("x", "raw", interface)], [Path("/DISK")])
    words = [_parts(option) for option in options]
    assert with_words(*words) == ""


def _parts(option: str) -> Word:
    before, path, after = option.partition("/DISK")
    return (before, IMAGE, after) if path else (option,)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_machines_and_devices_of_each_architecture(name: str) -> None:
    arch = ARCHITECTURES[name]
    assert with_words("-machine", arch.machine, *arch.exit_device) == ""
    assert with_words("-machine", arch.probe_machine) == ""


@pytest.mark.parametrize("console", CONSOLES)
def test_each_console(console: str) -> None:
    assert with_words(*controlled(console)) == ""


@pytest.mark.parametrize(
    "machine", ["ideal", "biglittle8", "biglittle8mem", "desktop8", "manycore64", "ordered", "server2x16"]
)
@pytest.mark.parametrize(
    "name", ["linux", "kernel", "kernel:sched=rr", "linux:arch=riscv64", "linux:arch=aarch64"]
)
def test_what_we_ship_is_started(name: str, machine: str) -> None:
    """Each shipped system on each shipped machine, as a session on the instruction clock boots it."""
    on, system = catalog.load_machine(machine), catalog.load_system(name)
    cell = planned(2)
    cell = replace(
        cell,
        system=system if on is None else system.on(on),
        seats=replace(cell.seats, lane=Lane.INSN, pins=()),
    )
    qemu = Qemu(Path("/q/qemu"), {}, (Path("/q/one"), Path("/q/two")), (9, 2, 0), "d", guest=system.arch)
    vm = VmConfig(qemu, Accel.TCG, "", Path("/p/clock.so"))
    image = Image(Path("/i/kernel"), Path("/i/initrd"), None, {})
    spec = argv.guest_spec(cell, image, vm, BootOptions(NONCE, log=Path("/r/clock.log"), seed=3))
    places: dict[str, StandIn] = {
        **{
            "/q/qemu": WorkerPath("qemu"),
            "/q/one": WorkerPath("data0"),
            "/q/two": WorkerPath("data1"),
            "/p/clock.so": WorkerPath("plugin"),
        },
        **{"/r/clock.log": FolderFile("clock.log"), "/r/machine.shape": FolderFile("machine.shape")},
        **{"/i/kernel": GuestFile(SHA["kernel"]), "/i/initrd": GuestFile(SHA["initrd"])},
    }
    assert why_not(task(argv=templated(spec.argv, places))) == ""


HOSTILE: tuple[tuple[tuple[str | Word, ...], str], ...] = (
    (("-drive", "file=/etc/shadow,format=raw"), "-drive file=/etc/shadow"),
    (("-drive", ("id=disk0,if=none,file=", IMAGE, ",format=qcow2,snapshot=on")), "raw images only"),
    (("-drive", ("id=disk0,if=none,file=", IMAGE, ",format=raw")), "-drive"),  # it would be written
    (("-drive", ("id=disk0,if=none,file=", IMAGE, ",format=raw,snapshot=on,file=/etc/shadow")), "-drive"),
    (("-drive", ("id=disk0,if=none,file=", GuestFile(SHA["kernel"]), ",format=raw,snapshot=on")), "-drive"),
    (("-hda", "/etc/shadow"), "-hda"),
    (("-blockdev", "driver=file,filename=/etc/shadow,node-name=x"), "-blockdev"),
    (("-kernel", "/boot/vmlinuz"), "-kernel /boot/vmlinuz"),
    (("-kernel", (GuestFile(SHA["initrd"]),)), "-kernel"),
    (("-initrd", (GuestFile("f" * 64),)), "-initrd"),  # not among its items
    (("-dtb", (GuestFile(SHA["kernel"]),)), "-dtb"),
    (("-machine", "virt,dumpdtb=/root/.profile"), "dumpdtb"),
    (("-machine", "q35,firmware=/etc/shadow"), "firmware"),
    (("-machine", "q35,memory-backend=x"), "memory-backend"),
    (("-machine", "q35,accel=kvm"), "accel=kvm"),
    (("-machine", "accel=kvm"), "accel=kvm"),
    (("-accel", "kvm"), "-accel kvm"),
    (("-object", "memory-backend-file,id=m,size=1M,mem-path=/etc/shadow"), "memory-backend-file"),
    (("-object", "secret,id=s,file=/etc/shadow"), "secret"),
    (("-chardev", "file,id=x,path=/root/.bashrc"), "-chardev file"),
    (("-chardev", "socket,id=x,host=0.0.0.0,port=4444,server=on"), "-chardev socket"),
    (("-serial", "file:/root/.bashrc"), "-serial file:"),
    (("-debugcon", "file:/root/.bashrc"), "-debugcon"),
    (("-monitor", "tcp:0.0.0.0:4444,server"), "-monitor"),
    (("-qmp", "unix:/tmp/x,server"), "-qmp"),
    (("-mon", "chardev=console,mode=readline"), "-mon"),
    (("-gdb", "tcp::1234"), "-gdb"),
    (("-s",), "-s"),
    (("-incoming", "exec:id"), "-incoming"),
    (("-netdev", "user,id=net0"), "-netdev user,id=net0"),
    (("-netdev", "user,id=net0,restrict=on,hostfwd=tcp:0.0.0.0:22-:22"), "opens no port"),
    (("-netdev", "user,id=net0,restrict=on,guestfwd=tcp:10.0.2.1:1-cmd:id"), "-netdev"),
    (("-netdev", "tap,id=net0,script=/tmp/x"), "-netdev tap"),
    (("-nic", "user"), "-nic"),
    (("-device", "vfio-pci,host=00:02.0"), "vfio-pci"),
    (("-device", "loader,file=/etc/shadow,addr=0"), "loader"),
    (("-device", "usb-host"), "usb-host"),
    (("-device", "e1000,romfile=/etc/shadow"), "romfile=/etc/shadow"),
    (("-device", "virtio-blk-pci,drive=disk0,x=/etc/shadow"), "x=/etc/shadow"),
    (("-fw_cfg", "name=opt/x,file=/etc/shadow"), "-fw_cfg"),
    (("-virtfs", "local,path=/,mount_tag=x,security_model=none"), "-virtfs"),
    (("-plugin", "/tmp/evil.so"), "-plugin /tmp/evil.so"),
    (("-plugin", (GuestFile(SHA["kernel"]), ",out=x")), "-plugin"),
    (("-plugin", (WorkerPath("plugin"), ",out=/etc/cron.d/x")), "-plugin"),
    (("-plugin", (WorkerPath("plugin"), ",out=.bashrc")), "-plugin"),
    (("-plugin", (WorkerPath("plugin"), ",out=5")), "-plugin"),
    (("-plugin", (WorkerPath("plugin"), ",events=5")), "-plugin"),
    (("-plugin", (WorkerPath("plugin"), ",seed=x")), "-plugin"),
    (("-plugin", (WorkerPath("plugin"), ",bytes=0:/x")), "-plugin"),
    (("-plugin", (WorkerPath("plugin"), ",capacities=1024:/x")), "-plugin"),
    (("-readconfig", "/tmp/x"), "-readconfig"),
    (("-D", "/root/.bashrc"), "-D"),
    (("-pidfile", "/root/.bashrc"), "-pidfile"),
    (("-run-with", "user=root"), "-run-with"),
    (("-daemonize",), "-daemonize"),
    (("-L", "/tmp"), "-L /tmp"),
    (("-L", (GuestFile(SHA["kernel"]),)), "-L"),
    (("-bios", "/tmp/x"), "-bios /tmp/x"),
    (("-semihosting-config", "enable=on"), "semihosting gives the guest the worker's files"),
    (("-trace", "file=/tmp/x"), "-trace"),
    (("-set", "device.x.y=z"), "-set"),
    (("-global", "driver=loader,property=file,value=/etc/shadow"), "-global"),
    (("-append", ("x", FolderFile("clock.log"))), "-append"),
    (("-m", "512M,maxmem=1T"), "-m"),
    (("-kernel",), "-kernel"),  # without its value
    (((WorkerPath("qemu"),),), "is refused"),
    (("-machine", "q35\ue000"), "a character that none needs"),
    (("-cpu", "qemu64\n"), "a character that none needs"),
    (("-smp", "2 -S"), "-smp"),
)


@pytest.mark.parametrize(("words", "named"), HOSTILE, ids=[str(words[0]) for words, _ in HOSTILE])
def test_what_reaches_more_than_the_guest_is_refused(words: tuple[str | Word, ...], named: str) -> None:
    assert named in with_words(*words)


RAM, CACHES, WORDS = KeptFile("ram"), KeptFile("caches"), FolderFile("words")
LATER, MAPPED = "name=opt/benchgate/", "share=off,readonly=on,rom=off"
FILES = GuestFile(SHA["initrd"])
MEMORY = "memory-backend-file,id=ram,size=512M,mem-path="
OF_A_START: tuple[tuple[str | Word, ...], ...] = (
    ("-incoming", "defer"),
    ("-fw_cfg", (f"{LATER}files,file=", FILES)),
    ("-fw_cfg", (f"{LATER}words,file=", WORDS)),
    ("-machine", "memory-backend=ram"),
    ("-object", (MEMORY, RAM, f",{MAPPED}")),
    ("-plugin", (WorkerPath("plugin"), ",start=15:7,caches=", CACHES)),
)
HOSTILE_STARTS: tuple[tuple[str | Word, ...], ...] = (
    ("-incoming", "exec:id"),
    ("-incoming", "file:/etc/shadow"),
    ("-incoming", "tcp:0:4444"),
    ("-incoming",),
    ("-fw_cfg", f"{LATER}files,file=/etc/shadow"),
    ("-fw_cfg", f"{LATER}files,string=x"),
    ("-fw_cfg", (f"{LATER}files,file=", RAM)),
    ("-fw_cfg", (f"{LATER}words,file=", FILES)),
    ("-fw_cfg", (f"{LATER}words,file=", FolderFile("clock.log"))),
    ("-fw_cfg", ("name=opt/other,file=", FILES)),
    ("-fw_cfg", ("name=etc/acpi/tables,file=", FILES)),
    ("-machine", "memory-backend=other"),
    ("-machine", "q35,memory-backend=ram"),
    ("-object", (MEMORY, RAM, ",share=on")),
    ("-object", (MEMORY, RAM, ",share=off,readonly=off,rom=off")),
    ("-object", (MEMORY, RAM, f",{MAPPED},discard-data=on")),
    ("-object", (MEMORY, CACHES, f",{MAPPED}")),
    ("-object", (MEMORY, FILES, f",{MAPPED}")),
    ("-object", (MEMORY, FolderFile("clock.log"), f",{MAPPED}")),
    ("-object", f"{MEMORY}/dev/mem,{MAPPED}"),
    ("-object", (MEMORY, RAM, "/../state", f",{MAPPED}")),
    ("-plugin", (WorkerPath("plugin"), ",caches=/etc/shadow")),
    ("-plugin", (WorkerPath("plugin"), ",caches=", RAM)),
    ("-plugin", (WorkerPath("plugin"), ",out=", CACHES)),
    ("-plugin", (WorkerPath("plugin"), ",out=", WORDS)),
    ("-plugin", (WorkerPath("plugin"), ",start=x")),
    ("-initrd", (RAM,)),
    ("-kernel", (RAM,)),
    ("-drive", ("id=disk0,if=none,file=", RAM, ",format=raw,snapshot=on")),
    ("-loadvm", "x"),
    ("-mem-path", (RAM,)),
)


def warm_with(*words: str | Word) -> str:
    more = tuple((word,) if isinstance(word, str) else word for word in words)
    one = warm_task()
    return why_not(replace(one, argv=(*one.argv, *more)))


@pytest.mark.parametrize(
    ("name", "machine"),
    [
        ("linux:start=warm", "ideal"),
        ("linux:start=warm", "desktop8"),
        ("linux:start=warm", "server2x16"),
        ("linux:arch=aarch64:start=warm", "desktop8"),
        ("kernel:start=warm", "ideal"),
    ],
)
def test_what_we_ship_is_started_at_a_snapshot(name: str, machine: str) -> None:
    assert why_not(warm_task(warm_cell(name, machine))) == ""


@pytest.mark.parametrize("words", OF_A_START, ids=str)
def test_words_of_a_start_are_for_a_guest_that_has_one(words: tuple[str | Word, ...]) -> None:
    assert warm_with(*words) == ""
    assert f"`{words[0]}" in with_words(*words)


@pytest.mark.parametrize("words", HOSTILE_STARTS, ids=str)
def test_a_guest_that_starts_at_a_snapshot_reaches_no_more(words: tuple[str | Word, ...]) -> None:
    assert f"`{words[0]}" in warm_with(*words)


@pytest.mark.parametrize(("words", "named"), HOSTILE, ids=[str(words[0]) for words, _ in HOSTILE])
def test_what_is_refused_to_others_is_refused_to_it(words: tuple[str | Word, ...], named: str) -> None:
    assert named.split(maxsplit=1)[0] in warm_with(*words)


def test_a_snapshot_is_for_who_waits_for_it() -> None:
    one = warm_task()
    waits_not = tuple(word for word in one.argv if word not in (("-incoming",), ("defer",)))
    assert "and not both" in why_not(replace(one, argv=waits_not))
    assert "and not both" in why_not(replace(task(), start=one.start))


@pytest.mark.parametrize("words", [("-m", "\uff15"), ("-smp", "\uff12"), ("-seed", "\u0663")])
def test_a_number_has_the_digits_0_to_9_only(words: tuple[str, str]) -> None:
    assert with_words(*words)


def test_the_hosts_kvm_is_for_runs_in_wall_time() -> None:
    words = tuple(("kvm",) if "tcg" in str(word) else word for word in task().argv)
    timed = task(argv=words, lane=Lane.KVM, pins=(0, 1), hold="token")
    assert why_not(timed) == ""
    assert "-accel kvm" in why_not(replace(timed, lane=Lane.TCG))
    assert "-accel tcg" in why_not(replace(timed, argv=task().argv))


def test_a_refusal_says_where_to_read_on() -> None:
    assert with_words("-gdb", "tcp::1234").endswith("(`benchgate docs fleet`)")


def test_a_system_with_ports_runs_elsewhere() -> None:
    words = network_options({"http": Port(80)}, {"http": 4000}, "virtio-net-pci")
    assert "run a system with `ports` here" in with_words(*words)


@pytest.mark.parametrize(
    "first", [("/bin/sh",), (GuestFile(SHA["kernel"]),), (WorkerPath("plugin"),), (WorkerPath("qemu"), "x")]
)
def test_nothing_but_qemu_is_started(first: Word) -> None:
    one = task()
    with pytest.raises(RefusedError, match="not the worker's QEMU"):
        require(replace(one, argv=(first, *one.argv[1:])))


@pytest.mark.parametrize("option", ["-nodefaults", "-no-user-config", "-S"])
def test_what_keeps_qemu_in_bounds_is_required(option: str) -> None:
    one = task()
    words = tuple(word for word in one.argv if word != (option,))
    assert f"lacks {option}" in why_not(replace(one, argv=words))


def test_a_lost_guest_can_be_recognised() -> None:
    one = task()
    words = tuple(
        ("guest=benchgate-other,debug-threads=on",) if NONCE in str(word) else word for word in one.argv
    )
    assert "has not the task's nonce" in why_not(replace(one, argv=words))


def test_a_task_without_words() -> None:
    assert "not the worker's QEMU" in why_not(task(argv=()))
