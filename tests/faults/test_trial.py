"""QEMU is asked for a system's machine before anything is booted, and every key that it refuses is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.base.system.qemu import Qemu
from benchgate.build.fetch import inputs
from benchgate.plan import systemfile
from benchgate.run import trial

GOOD = """version: 1
name: mine
kind: qemu
qemu: {machine: pc, memory: 64M, smp: "{n},sockets={n}", arguments: [-vga, std]}
boot: {kernel: k.elf, disks: [{image: "{out}/a", interface: ide}, {image: b}]}
ports: {web: 80}
"""
WRONG = """version: 1
name: mine
kind: qemu
qemu: {machine: q35x, cpu: z80, memory: 1X, smp: "{n},sockets=3", arguments: [-device, nope]}
boot: {kernel: k.elf, firmware: none, disks: [{image: a}, {image: b, interface: sd}]}
"""


@pytest.fixture(scope="module")
def qemu() -> Qemu:
    return inputs.qemu()


def problems(qemu: Qemu, text: str) -> tuple[str, ...]:
    return trial.problems(qemu, systemfile.parse(text, Path("mine.yaml"), {}), 2)


def test_a_machine_that_qemu_makes_has_no_problem_although_nothing_is_built(qemu: Qemu) -> None:
    assert problems(qemu, GOOD) == ()


def test_every_key_that_qemu_refuses_is_named_with_its_message(qemu: Qemu) -> None:
    result = dict(problem.split(": ", 1) for problem in problems(qemu, WRONG))
    assert result.keys() == {
        *("qemu.machine", "qemu.cpu", "qemu.memory", "qemu.smp", "qemu.arguments"),
        *("boot.firmware", "boot.disks.1"),
    }
    assert (result["qemu.machine"], result["qemu.cpu"]) == (
        'unsupported machine type: "q35x"',
        "unable to find CPU model 'z80'",
    )
    assert "nope" in result["qemu.arguments"]


def test_keys_that_only_fail_together_give_one_problem(qemu: Qemu) -> None:
    text = GOOD.replace("[-vga, std]", '[-device, "virtio-blk-pci,drive=disk1"]')
    (result,) = problems(qemu, text)
    assert "disk1" in result


def test_a_virtio_console_needs_a_machine_with_pci(qemu: Qemu) -> None:
    text = GOOD.replace("qemu: {", "qemu: {console: virtio, ")
    assert problems(qemu, text) == ()
    result = dict(problem.split(": ", 1) for problem in problems(qemu, text.replace("pc,", "isapc,")))
    assert "PCI" in result["qemu.console"]
