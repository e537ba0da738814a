"""The instruction clock: guest time is instruction time, on any host (docs/insn.md).

`support` says what a QEMU carries, `prepare` compiles the plugin, `arguments` gives what a command line
needs; `read_log` and `window` read what came out of it, `read_attribution` says where the window's time went.
"""

from benchgate.insn.attribution import (
    NO_SYMBOLS,
    Attribution,
    Symbols,
    folded,
    read_attribution,
    read_symbols,
    top_table,
)
from benchgate.insn.kernelsyms import linux_symbols, symbol_file
from benchgate.insn.launch import LINUX_WORDS, QUANTUM, Launch, arguments
from benchgate.insn.log import ClockLog, ClockMode, Level, Mark, MarkKind, VcpuTotals, read_log
from benchgate.insn.plugin import prepare, source_digest
from benchgate.insn.support import Support, support
from benchgate.insn.window import ClockWindow, agree, window

LIMITS = "instruction clock: blind to caches, memory bandwidth, frequency and the cost of single instructions"
"""What every row of this lane says of itself."""

__all__ = [
    "LIMITS",
    "LINUX_WORDS",
    "NO_SYMBOLS",
    "QUANTUM",
    "Attribution",
    "ClockLog",
    "ClockMode",
    "ClockWindow",
    "Launch",
    "Level",
    "Mark",
    "MarkKind",
    "Support",
    "Symbols",
    "VcpuTotals",
    "agree",
    "arguments",
    "folded",
    "linux_symbols",
    "prepare",
    "read_attribution",
    "read_log",
    "read_symbols",
    "source_digest",
    "support",
    "symbol_file",
    "top_table",
    "window",
]
