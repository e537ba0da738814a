"""Where CPUs spin, by what QEMU's monitor says of their registers. The texts are QEMU 10.0.2's, shortened."""

from __future__ import annotations

import pytest

from benchgate.features.new_system.spinning import spinning
from benchgate.insn.symbols import NO_SYMBOLS, Symbols

KERNEL = Symbols(
    (0x1000, 0x1100, 0x1200, 0x1300), (0x1100, 0x1200, 0x1300, 0x1400), ("idle", "poll", "a", "b")
)


def look(*counters: int, halted: int = 0) -> str:
    """On x86-64; `halted`: the number of CPUs, from the last one, that halt."""
    first_halted = len(counters) - halted
    return "".join(
        f"\nCPU#{cpu}\nRAX=0000000000000001 RBX=0\n"
        f"RIP={at:016x} RFL=00000246 CPL=0 HLT={int(cpu >= first_halted)}\n"
        "CS =0008 0000000000000000 ffffffff 00af9b00\n"
        for cpu, at in enumerate(counters)
    )


@pytest.mark.parametrize(
    ("looks", "symbols", "said"),
    [
        ([look(0x1010), look(0x1014)], KERNEL, "idle (0x1010 to 0x1014)"),
        ([look(0x1010), look(0x1010)], KERNEL, "idle (0x1010)"),
        ([look(0x1010), look(0x1180)], KERNEL, "idle, poll (0x1010 to 0x1180)"),
        ([look(at) for at in (0x1010, 0x1110, 0x1210, 0x1310)], KERNEL, "0x1010 to 0x1310"),
        ([look(0x1010), look(0x1014)], NO_SYMBOLS, "0x1010 to 0x1014"),
        ([look(0x1010), look(0x9000)], KERNEL, "0x1010 to 0x9000"),
        (
            [look(0x1010, 0x1180), look(0x1014, 0x1180)],
            KERNEL,
            "CPU 0 in idle (0x1010 to 0x1014); CPU 1 in poll (0x1180)",
        ),
        ([look(0x1010, 0x1180, halted=1)] * 2, KERNEL, "idle (0x1010)"),
        ([look(0x1010, halted=1)] * 2, KERNEL, ""),
        ([look(0x1010, halted=1), look(0x1010)], KERNEL, ""),
        (
            ["\nCPU#0\n V      =   0\n pc       0000000000001104\n mhartid  0000\n"] * 2,
            KERNEL,
            "poll (0x1104)",
        ),
        (["\nCPU#0\n PC=0000000000001200 X00=0\n"] * 2, KERNEL, "a (0x1200)"),
        (["no such command", ""], KERNEL, ""),
        ([], KERNEL, ""),
    ],
)
def test_a_cpu_that_never_halts_is_told_by_the_functions_it_was_in(
    looks: list[str], symbols: Symbols, said: str
) -> None:
    assert spinning(looks, symbols) == said
