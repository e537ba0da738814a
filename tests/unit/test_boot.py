"""What starts a machine: argv and manifests by value, deadlines by lane, patterns."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate import boot
from benchgate.boot import Machine
from benchgate.catalog import load_system
from benchgate.errors import UsageError
from benchgate.fetch import Qemu
from benchgate.machine.watch import GUEST_WATCH, NATIVE_WATCH
from benchgate.model import Accel, Deadlines, Image, Lane, Placement
from benchgate.plan import Seats
from tests.unit.plans import own_system, planned

QEMU = Qemu(Path("/q/qemu"), {"LD_LIBRARY_PATH": "/q/lib"}, (Path("/q/roms"),), (10, 0, 2), "d", "user", ())
HOST = Machine(QEMU, Accel.TCG, "max")
IMAGE = Image(Path("/i/kernel"), Path("/i/initrd"), None, {"kernel": "aa"})
NONCE = "0123456789abcdef"
PRIMES = "bench.hi=3000000 bench.split=cost bench.wait=join"


def after(argv: tuple[str, ...], flag: str) -> str:
    return argv[argv.index(flag) + 1]


def test_the_manifest_has_every_word_and_no_other() -> None:
    cell = planned(2).cell
    words = (
        f"bench.workload=primes bench.mode=process bench.workers=2 bench.cpus=2 bench.nonce={NONCE} {PRIMES}"
    )
    assert boot.manifest(cell, NONCE) == words
    assert boot.manifest(cell, NONCE, measure=True) == words + " bench.measure=1"
    assert boot.manifest(cell, NONCE, pins=(4, 5)) == words + " bench.pin=4,5"


def test_a_guests_command_line() -> None:
    spec = boot.guest_spec(planned(2), IMAGE, HOST, NONCE)
    assert spec.argv[:3] == ("/q/qemu", "-L", "/q/roms")
    assert after(spec.argv, "-kernel") == "/i/kernel"
    assert after(spec.argv, "-initrd") == "/i/initrd"
    assert after(spec.argv, "-smp") == "2"
    assert after(spec.argv, "-cpu") == "max"
    assert after(spec.argv, "-accel") == "tcg,thread=multi"
    assert after(spec.argv, "-name") == f"guest=benchgate-{NONCE},debug-threads=on"
    append = after(spec.argv, "-append")
    assert append.startswith("console=ttyS0 quiet ")
    assert append.endswith(f" bench.workload=primes {boot.manifest(planned(2).cell, NONCE).split(' ', 1)[1]}")
    assert (spec.environment, spec.lane, spec.cpus, spec.pins) == (QEMU.environment, Lane.TCG, 2, (4, 5))


def test_a_systems_own_words_win(tmp_path: Path) -> None:
    one = replace(planned(2), system=own_system(tmp_path))
    spec = boot.guest_spec(one, replace(IMAGE, initrd=None), replace(HOST, cpu_model="host"), NONCE)
    assert (after(spec.argv, "-machine"), after(spec.argv, "-cpu"), after(spec.argv, "-m")) == (
        "pc",
        "max",
        "64M",
    )
    assert after(spec.argv, "-smp") == "2,sockets=2"
    assert spec.argv[-2:] == ("-device", "foo")
    assert "-initrd" not in spec.argv
    assert after(spec.argv, "-append").startswith("quiet bench.workload=primes ")
    given = boot.guest_spec(one, IMAGE, HOST, NONCE, words="selftest=all")
    assert after(given.argv, "-append") == "selftest=all"


def test_a_native_run_is_the_program_with_its_pins() -> None:
    image = Image(None, None, Path("/p/bench"), {"program": "bb"})
    spec = boot.native_spec(planned(2, system="native"), image, NONCE)
    assert spec.argv == (
        "/p/bench",
        *boot.manifest(planned(2).cell, NONCE).split(),
        "bench.pin=4,5",
    )
    assert (spec.environment, spec.lane, spec.pins) == ({}, Lane.NATIVE, (4, 5))
    with pytest.raises(UsageError, match="primes-native-smp2: the image of a native system is a program"):
        boot.native_spec(planned(2, system="native"), IMAGE, NONCE)


def test_an_oversubscribed_guest_goes_round_over_its_pins() -> None:
    one = planned(4, oversubscribe=True)
    assert one.seats.placement is Placement.OVERSUBSCRIBED
    assert boot.guest_spec(one, IMAGE, HOST, NONCE).pins == (4, 5, 4, 5)


@pytest.mark.parametrize(
    ("lane", "pins", "cpus", "expected"),
    [
        (Lane.TCG, (4, 5), 2, Deadlines(60, 120)),
        (Lane.KVM, (4, 5), 2, Deadlines(60, 120)),
        (Lane.NATIVE, (4, 5), 1, Deadlines(60, 120)),
        (Lane.TCG, (4, 5), 4, Deadlines(120, 240)),  # two vCPUs a pin
        (Lane.TCG, (), 4, Deadlines(60, 120)),
        (Lane.INSN, (), 1, Deadlines(180, 360)),
        (Lane.INSN, (), 4, Deadlines(720, 1440)),  # one vCPU at a time
    ],
)
def test_deadlines_follow_the_lane(lane: Lane, pins: tuple[int, ...], cpus: int, expected: Deadlines) -> None:
    one = planned(1)
    seated = replace(one, cell=replace(one.cell, cpus=cpus), seats=Seats(lane, Placement.VIRTUAL, pins))
    assert boot.deadlines(seated) == expected


def test_the_instruction_clock_must_have_been_made_ready() -> None:
    one = replace(planned(1), seats=Seats(Lane.INSN, Placement.VIRTUAL, ()))
    with pytest.raises(UsageError, match="primes-linux-smp1: the instruction clock was not made ready"):
        boot.guest_spec(one, IMAGE, HOST, NONCE, log=Path("clock.log"))


def test_what_to_look_for(tmp_path: Path) -> None:
    assert boot.watch(load_system("native")) is NATIVE_WATCH
    found = boot.watch(own_system(tmp_path))
    assert found.failures == (*GUEST_WATCH.failures, rb"(?<=\n)oops", b"broken")
    assert found.success == {0, 33}
    assert found.ends == GUEST_WATCH.ends
    assert re.search(found.ready or b"x", b"boot\nhello 1") is not None
    assert re.search(found.ready or b"x", b"boot: hello 1") is None
