"""Where a guest is, by what QEMU's monitor says. The texts are QEMU 10.0.2's, shortened."""

from __future__ import annotations

import pytest

from benchgate.features.new_system.firmware import firmware_in, place_of

RISCV = """\
addr=0000000000001000 size=0x000028 mem=rom name="mrom.reset"
addr=0000000080000000 size=0x042558 mem=ram name="/usr/share/qemu/opensbi-riscv64-generic-fw_dynamic.bin"
addr=0000000080200000 size=0x001c00 mem=ram name="/home/me/mine.elf ELF program header segment 0"
"""
PC = 'addr=00000000fffc0000 size=0x040000 mem=rom name="bios-256k.bin"\n'
ARGV = ("qemu", "-kernel", "/work/mine.elf", "-bios", "default")


@pytest.mark.parametrize(
    ("roms", "registers", "name"),
    [
        (
            RISCV,
            " V      =   0\n pc       0000000080004a10\n mhartid  0000\n",
            "opensbi-riscv64-generic-fw_dynamic.bin",
        ),
        (RISCV, " pc       0000000000001004\n", "mrom.reset"),
        (RISCV, " pc       0000000080200004\n", ""),  # the kernel's own file
        (RISCV, " pc       0000000080800000\n", ""),
        (RISCV, "no such thing", ""),
        (PC, "EIP=0000d165 EFL=00000002\nCS =f000 000f0000 0000ffff 00009b00\n", "bios-256k.bin"),
        (PC, "RIP=00000000fffffff0 RFL=0\nCS =0000 00000000 ffffffff 00a09b00\n", "bios-256k.bin"),
        (PC, "EIP=00100010 EFL=00000002\nCS =0008 00000000 ffffffff 00cf9a00\n", ""),
        (PC.replace("fffc0000", "0"), " PC=0000000000000200 X00=0\n", "bios-256k.bin"),
    ],
)
def test_a_guest_is_in_its_firmware_if_its_program_counter_is(roms: str, registers: str, name: str) -> None:
    assert place_of(registers, list(firmware_in(roms, ARGV))) == name
