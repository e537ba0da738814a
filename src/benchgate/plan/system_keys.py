"""The table of the keys of a system's YAML file: kind, default, limits and meaning.

Data only: takes nothing and does not fail. The modules of systemfile/ read a file by it, and
check what concerns several keys.
"""

from __future__ import annotations

from collections.abc import Mapping

from benchgate.base.cells import Mode
from benchgate.base.system.arch import ARCHITECTURES, X86_64
from benchgate.base.system.boots import DEADLINES, DEFAULT_FIRMWARE, REPEAT_BYTES, EndBy, SettingDisplay
from benchgate.base.system.observe import MOST_CALLS
from benchgate.base.system.qemu import CARD, CONSOLES, FORMATS, SERIAL, Interface
from benchgate.base.system.results import UNITS, ResultFormat
from benchgate.base.system.systems import MAX_CPUS, SERVICES, AskMethod, SystemKind
from benchgate.base.yaml.keys import (
    Block,
    Blocks,
    Choice,
    Commands,
    Either,
    Integer,
    Integers,
    Number,
    Pattern,
    Table,
    Text,
    Texts,
    YamlFile,
    each,
    name,
)

MARKS = "marks"
"""The word for a window between the marks that the guest's programs execute."""
_BOOT_S, _RUN_S = 3600.0, 86400.0
_HIGHEST_PORT = 65535
_SLOWEST_US = 1_000_000
_FLAG = ("true", "false")
_PATTERNS = "regular expressions"


# ---- what it boots from, and how

_SETTINGS = (
    {
        "choices": Texts("the values of {NAME} in boot.append, smoke.append and build.commands"),
        "default": Choice("the value if none is picked"),
    },
    {
        "file": Text(
            "the default of a setting that is a file: a path, {out}/... or fetch:linux", may_be_empty=True
        )
    },
    {"source": Text("the default of a setting that is `boot.source`", may_be_empty=True)},
    {
        "config": Text("the default of a setting that is `boot.config`", may_be_empty=True),
        "with_part": Text("a part of the configuration that needs what `leaves_out` names", default=""),
        "leaves_out": Text("what that part takes from boot.append", default=""),
    },
    {
        "program": Text("the default of a setting that is a program with arguments", may_be_empty=True),
        "leaves_out": Text("what a program takes from boot.append", default=""),
    },
    {
        "shows": Texts(
            "files of the kernel that must show the value throughout a run: FILE, or FILE TEXT, which PID 1 "
            "writes first; {value}: each of several values joined by +, {name}: the name in NAME=VALUE"
        ),
        "append": Text("what it adds to boot.append, with {value}", default=""),
        "leaves_out": Text("what it takes from boot.append", default=""),
        "as": Choice(
            "how the files show it: the text itself or marked by ( ) or [ ], among words, or a list of CPUs",
            tuple(SettingDisplay),
            default=SettingDisplay.TEXT,
        ),
        "needs": Text("what a kernel without these files was built without", default=""),
    },
    {
        "revision": Text(
            "the default of the setting that says which commit of build.folder is built: worktree"
        )
    },
)
_BUILD: Table = {
    "commands": Commands(
        "run in order, without a shell; {out}: a new folder, {n}: the CPU count, {source}: the C file"
    ),
    "part": Commands(
        "for a mix: run once for each of its programs, with {source} and {workload}", default=()
    ),
    "mix": Commands("for a mix: run after `part` in the same folder", default=()),
    "folder": Text("the working directory of the commands, relative to this file", default="."),
    "sources": Texts(
        "the paths on which the result depends; one that changes makes it again", default=(".",)
    ),
}
_QEMU: Table = {
    "machine": Text("-machine", otherwise="that of `arch`: q35, virt, or virt,gic-version=3"),
    "cpu": Text("-cpu; empty: the best model of the accelerator", default=""),
    "memory": Text("-m", default="256M"),
    "smp": Text("-smp; {n} is the CPU count", default="{n}"),
    "arguments": Texts("more arguments, unchanged", default=()),
    "network": Text("the network card of a system with `ports`", default=CARD),
    "console": Choice("what the guest prints on; virtio on wall time only", tuple(CONSOLES), default=SERIAL),
    "binary": Text("a QEMU for this system alone; empty: the session's", default=""),
}
_DISK: Table = {
    "image": Text("the image, of which each boot gets a new snapshot; may contain {n}"),
    "format": Choice("its format", FORMATS, default="raw"),
    "interface": Choice("how it is attached", tuple(Interface), default=Interface.VIRTIO),
}
_WARM: Table = {
    "kernel": Text("the kernel that prints `benchwaits` and waits for its command line; may be that one"),
    "program": Text("a file that it gets besides; may contain {workload}", default=""),
}
_BOOT: Table = {
    "kernel": Text(
        "-kernel: a path, {out}/..., fetch:linux (the pinned Linux) or build (of `source`); may contain {n}",
        otherwise="`disks` or `firmware`",
    ),
    "source": Text(
        "the Linux that `kernel: build` builds: a tree, PATH@REVISION or a package (linux-source-6.12)",
        default="",
    ),
    "config": Text(
        "with `source`: parts of its configuration (sched_ext, realtime, debug) and files, joined by +",
        default="sched_ext",
    ),
    "scheduler": Text(
        "a program, with arguments, that loads a scheduler in BPF before our PID 1 is ready", default=""
    ),
    "initrd": Text(
        "-initrd: a path, {out}/..., or `workload`: our PID 1 with the workload in it", default=""
    ),
    "append": Text("the command line, before the manifest", default=""),
    "symbols": Text(
        "an ELF file or a System.map whose symbols name addresses; may contain {workload}", default=""
    ),
    "warm": Block(
        "what is loaded for a warm start, with `ask: cmdline` (`benchgate docs warm`)",
        forms=(_WARM,),
        otherwise="its runs start cold",
    ),
    "disks": Blocks(
        "disks, in the order in which the kernel numbers them", Block("a disk", forms=(_DISK,)), default=()
    ),
    "firmware": Text("-bios: default, none, a path or {out}/...; may contain {n}", default=DEFAULT_FIRMWARE),
}
_PORT: Table = {
    "guest": Integer("the port in the guest", low=1, high=_HIGHEST_PORT),
    "host": Integer("the port on this host; 0: a free one", default=0, high=_HIGHEST_PORT),
}
_PORTS = Either(
    "a port of the guest that the host can reach, on wall time",
    (Integer("the port in the guest", low=1, high=_HIGHEST_PORT), Block("both ports", forms=(_PORT,))),
)


# ---- how it is asked and watched

_STEP: Table = {
    "send": Text(
        "the line to type; {workers}, {cpus}, {nonce}, {workload}, {mode} and parameters are filled in",
        otherwise="the step only waits for `expect`",
    ),
    "expect": Pattern("the line with which the step ends; empty: the next prompt", default=""),
    "capture": Either(
        "lines with answers in named groups; each matches exactly once",
        (Pattern("one pattern"), Texts("several", what=_PATTERNS)),
        default=(),
    ),
    "prompt": Pattern("another prompt before this line", otherwise="`prompt` of the file"),
    "echo": Choice("whether the kernel prints what is typed", _FLAG, otherwise="`input.echo`"),
    "deadline_s": Number(
        "from the first byte of this line to the next one, or to its answer",
        low=0.1,
        high=_RUN_S,
        otherwise="`deadlines.run_s`",
    ),
}
_INPUT: Table = {
    "line_end": Text(r'what the Enter key sends: "\n", "\r" or "\r\n"', default="\n"),
    "echo": Choice("whether the kernel prints what is typed", _FLAG, default="true"),
    "byte_us": Integer("from one typed byte to the next", default=100, low=1, high=_SLOWEST_US),
    "delay_us": Integer(
        "from the prompt to the first byte; on wall time at least 50 ms",
        default=1000,
        low=1,
        high=_SLOWEST_US,
    ),
}
_CONSOLE: Table = {
    "ready": Pattern("ends the boot and its deadline, and starts the run's", default=""),
    "failures": Texts(
        "a match overrides any result; a panic does so without them", default=(), what=_PATTERNS
    ),
    "harmless": Texts("lines that look like a panic and are none", default=(), what=_PATTERNS),
    "repeat_bytes": Integer(
        "a console that repeats itself is stopped after this many bytes; 0: never",
        default=REPEAT_BYTES,
        high=1 << 30,
    ),
    "online": Either(
        "proves how many CPUs came up",
        (
            Pattern("a line with their number", default="", groups=("n",)),
            Choice("each must work in the window, on the instruction clock", ("clock",)),
        ),
        default="",
    ),
    "online_lines": Pattern("in place of `online`: matches one line for each CPU that came up", default=""),
}
_SMOKE: Table = {
    "append": Text("the command line of a boot without a workload, before the first figure", default=""),
    "pass": Pattern("what that boot prints; otherwise every run at that CPU count is INVALID"),
}
_END: Table = {
    "by": Choice(
        "the guest ends QEMU itself; or is killed after its last answer", tuple(EndBy), default=EndBy.EXIT
    ),
    "exit_codes": Integers("QEMU's exit statuses of success", otherwise="[33] on x86_64, else [0]"),
    "reset": Choice("whether the guest may end by a reset", ("failure", "allowed"), default="failure"),
}


# ---- its threads

EXPRESSION = (
    Text("one expression"),
    Texts("several: the first whose names this kernel has", what="expressions"),
)


def _read(about: str, otherwise: str = "") -> Either:
    return Either(about, EXPRESSION, otherwise=otherwise)


_AT = Either(
    "the functions at whose first instruction it happens",
    (Text("a symbol"), Texts("several; NAME? may be missing", what="symbols")),
)
_WHEN = _read("whether it happens there", otherwise="always")
_OF = _read("the thread: the address of its structure")
HOOKS: Mapping[str, Table] = {
    "switch": {
        "at": _AT,
        "when": _WHEN,
        "from": _read("the thread that leaves the CPU"),
        "to": _read("the thread that is next"),
        "blocked": _read("whether `from` waits for a wake-up; else it is still runnable"),
        "dead": _read("whether `from` has ended", otherwise="threads do not end"),
        "queue": _read(
            "how many threads are runnable on the CPU, with the next one", otherwise="not compared"
        ),
    },
    "wake": {
        "at": _AT,
        "when": _WHEN,
        "thread": _OF,
        "only": Choice(
            "`blocked`: the place is reached for runnable threads, too, for which nothing happens",
            ("blocked",),
            otherwise="every time",
        ),
        "cpu": _read("the CPU on whose queue it comes", otherwise="its last one: all CPUs have one queue"),
        "queue": _read("how many threads are runnable there then", otherwise="not compared"),
    },
    "send": {"at": _AT, "when": _WHEN, "thread": _OF},
    "fork": {"at": _AT, "when": _WHEN, "thread": _OF},
    "migrate": {"at": _AT, "when": _WHEN, "thread": _OF, "cpu": _read("its new CPU")},
    "allow": {"at": _AT, "when": _WHEN, "thread": _OF, "mask": _read("its CPUs, one bit each")},
    "exit": {"at": _AT, "when": _WHEN},
    "tick": {"at": _AT, "when": _WHEN},
    "yield": {"at": _AT, "when": _WHEN},
    "syscall": {
        "at": _AT,
        "when": _WHEN,
        "number": _read("its number", otherwise="calls are not told apart"),
        "bytes": _read("how many bytes it shall move", otherwise="not known"),
    },
    "fault": {"at": _AT, "when": _WHEN},
    "ipi": {"at": _AT, "when": _WHEN},
}
ASK: Table = {"at": _AT, "when": _WHEN, "thread": _OF}
EVENT: Table = {
    "at": _AT,
    "when": _WHEN,
    "adds": _read("what is added up", otherwise="1: how often it happens"),
}
_NUMBER = Integer("its number", low=0, high=MOST_CALLS - 1)
_CALL: Table = {
    "number": _NUMBER,
    "length": Integer(
        "which argument, from 0 on, says how many bytes it shall move", high=2, otherwise="none"
    ),
}
_HOOK_ABOUT = {
    "switch": "where a CPU goes from one thread to another",
    "wake": "where a thread that is blocked or new becomes runnable",
    "send": "where the running thread wakes another one, and leaves it to another CPU to do `wake`",
    "fork": "where the running thread makes another one",
    "migrate": "where a runnable thread comes to another CPU's queue; without it: when it runs there",
    "allow": "where a thread gets other CPUs that it may run on",
    "exit": "where the running thread begins to end",
    "tick": "where the scheduler looks at the running thread, in a timer interrupt",
    "yield": "where the running thread gives way to others",
    "syscall": "where a system call begins; without it: the instruction by which programs make one",
    "fault": "where the kernel begins to handle a page fault",
    "ipi": "where an interrupt is sent to another CPU by a store to a device; without it: what is sent by "
    "SBI (riscv64) and ICC_SGI1R_EL1 (aarch64)",
}
OBSERVED_THREAD: Table = {
    "type": Text("the name of its structure in BTF or DWARF", otherwise="expressions with u32(...)"),
    "id": _read("its number, 0 for an idle thread"),
    "name": _read("its name, an array or the address of a text", otherwise="none"),
    "name_bytes": Integer("the most bytes of its name", default=16, low=1, high=32),
    "allowed": _read("the CPUs that it may run on, one bit each", otherwise="all"),
    "interrupt": _read(
        "whether the CPU is in the handler of an interrupt, whatever thread is current",
        otherwise="it is not known",
    ),
}
_OBJECT = _read("which one: a number that no other one has, the same for who writes and who reads")
MOVE: Table = {"at": _AT, "when": _WHEN, "object": _OBJECT}
OBJECT: Table = {
    "put": Block("where the running thread's system call writes bytes to it", forms=(MOVE,)),
    "get": Block("where it reads bytes from it", forms=(MOVE,)),
}
OBSERVE: Table = {
    "thread": Block("what is read of a thread", forms=(OBSERVED_THREAD,), otherwise="threads are not seen"),
    "text": Texts(
        "the symbols at the begin and end of the kernel's code, for the call chains of wake-ups",
        default=(),
        what="symbols",
    ),
    **{
        kind: Block(
            _HOOK_ABOUT[kind],
            forms=(keys,),
            otherwise="threads are not seen" if kind in {"switch", "wake"} else "not seen",
        )
        for kind, keys in HOOKS.items()
    },
    "ask": Blocks(
        "where the kernel is told to wake a thread that is blocked, or about to be; from here on it waits. "
        "Several places, because the thread may be in another argument at each",
        Block("one of these places", forms=(ASK,)),
        otherwise="a wait begins at `wake`",
    ),
    "events": each(
        "what is counted besides, under names that only this system has", Block("an event", forms=(EVENT,))
    ),
    "objects": each(
        "what threads write bytes to that others read, in order, such as a pipe",
        Block("a kind of object", forms=(OBJECT,)),
    ),
    "calls": Either(
        "the names of its system calls",
        (
            Choice("those of Linux on this architecture", ("linux",)),
            each("each", Either("a system call", (_NUMBER, Block("one that moves bytes", forms=(_CALL,))))),
        ),
        otherwise="they are known by number",
    ),
}


# ---- its result

_FIGURE: Table = {
    "begins": Pattern("the line with which the window begins; or `typed`"),
    "pattern": Pattern("the figure, printed when it ends", groups=("value",)),
    "unit": Choice("the figure's unit", UNITS),
    "shift": Integer("a counter printed as cycles>>20 has 20", default=0, high=40),
    "hz": Number("how many ticks or cycles are a second", low=1e-3, otherwise="`scale`, or not known"),
    "scale": Number("the ns of one tick or cycle, instead of `hz`", low=1e-3, otherwise="`hz`"),
    "step": Number("the figure is printed in steps of this size", default=0.0),
}
_LINES: Table = {
    "from": Pattern("the line after which the window begins"),
    "to": Pattern("the line with which it ends"),
}
_KINDS = (
    Block("a figure that is printed, or the guest time between two lines", forms=(_FIGURE, _LINES)),
    Choice("the time between the marks of the guest's programs, on the instruction clock", (MARKS,)),
)
_BENCH: Table = {
    "format": Choice("the wire format", (ResultFormat.BENCH,), default=ResultFormat.BENCH),
    "system": Text("the system's name in the begin line; empty: its own", default=""),
    "foreign": Choice(
        "na: it cannot count the CPU time of others in the window", ("counted", "na"), default="counted"
    ),
}
_BY_PATTERNS: Table = {
    "format": Choice("what its own console shows", (ResultFormat.PATTERNS,)),
    "work": Either("the work window", _KINDS),
    "total": Either("the total window", _KINDS, otherwise="none"),
    "answers": Texts("where the answers appear, in named groups", default=(), what=_PATTERNS),
    "expect": each("the right answers; without them an oracle knows them", Text("the answer"), names="GROUP"),
}
_BY_LINES: Table = {
    "format": Choice("BENCH lines", (ResultFormat.BENCH_LINES,)),
    "operations": Texts("the operations that must be measured or skipped; each is a metric"),
}


# ---- the file

_DEADLINES: Table = {
    "boot_s": Number("until `console.ready`", default=DEADLINES.boot_s, low=0.1, high=_BOOT_S),
    "run_s": Number("from there to the end", default=DEADLINES.run_s, low=0.1, high=_RUN_S),
}
_CPUS: Table = {
    "minimum": Integer("the smallest CPU count", default=1, low=1, high=MAX_CPUS),
    "maximum": Integer("the largest CPU count", default=MAX_CPUS, low=1, high=MAX_CPUS),
}
EXTENDED = ("linux", "kernel")
"""The shipped systems that a user's own may extend: those with a guest."""
_EVERY: Table = {
    "version": Integer("1, the version of this table", low=1, high=1),
    "name": name("the system's name, in the names of rows"),
    "about": Text("a description for readers", default=""),
    "settings": each("what a user chooses: `--system FILE:NAME=WORD`", Block("a setting", forms=_SETTINGS)),
    "deadlines": Block(
        "how long it may take, in seconds", forms=(_DEADLINES,), otherwise="the defaults of its keys"
    ),
    "cpus": Block("the CPU counts that it supports", forms=(_CPUS,), otherwise="the defaults of its keys"),
    "services": each(
        "what a workload may use in its window", Text("what it is made of"), names="SERVICE", allowed=SERVICES
    ),
}
_NATIVE: Table = {"kind": Choice("this host's own Linux", (SystemKind.NATIVE,)), **_EVERY}
_GUEST: Table = {
    "kind": Choice("a virtual machine", (SystemKind.QEMU,)),
    **_EVERY,
    "arch": Text(f"its processor: {', '.join(ARCHITECTURES)}, or a setting in braces", default=X86_64.name),
    "build": Block("how it is built", forms=(_BUILD,), otherwise="it is not built"),
    "qemu": Block("QEMU's arguments", forms=(_QEMU,), otherwise="the defaults of its keys"),
    "ports": each("ports that the host can reach", _PORTS),
    "boot": Block("what it boots from", forms=(_BOOT,)),
    "ask": Choice("how a workload is asked for", tuple(AskMethod), default=AskMethod.CMDLINE),
    "prompt": Pattern(
        "with `ask: prompt`: all of the last line when the kernel waits for a command",
        otherwise="another `ask`",
    ),
    "input": Block(
        "with `ask: prompt`: how it is typed", forms=(_INPUT,), otherwise="the defaults of its keys"
    ),
    "steps": Blocks(
        "with `ask: prompt`: what is typed, in order",
        Block("a step", forms=(_STEP,)),
        otherwise="another `ask`",
    ),
    "modes": Texts("the kinds of workers that it can run", default=tuple(Mode), choices=tuple(Mode)),
    "console": Block("how its console is read", forms=(_CONSOLE,), otherwise="the defaults of its keys"),
    "smoke": Block("its own boot test, once per CPU count", forms=(_SMOKE,), otherwise="none"),
    "result": Block("what it prints", forms=(_BENCH, _BY_PATTERNS, _BY_LINES), otherwise="the wire format"),
    "end": Block("how a run ends", forms=(_END,), otherwise="the defaults of its keys"),
    "observe": Block(
        "how the instruction clock sees its threads (`benchgate docs threads`)",
        forms=(OBSERVE,),
        otherwise="they are not seen",
    ),
}
_PART: Table = {key: row for key, row in _GUEST.items() if key not in ("version", "name", "kind")}
_BY_ARCH = each(
    "what differs on an architecture; put over the file's own keys",
    Block("keys of this table", forms=(_PART,), is_partial=True),
    names="ARCH",
    allowed=tuple(ARCHITECTURES),
)
_EXTENDS = Choice(
    "a shipped system, of which this one has each key that it does not have itself, such as `kind`; a "
    "mapping is put over its mapping, and `result.system` is what its guest prints",
    EXTENDED,
    otherwise="every key is in this file",
)

SYSTEM = YamlFile(
    "A system: what boots, how it is started, and how its console is read.",
    name="system",
    title="A system",
    places=("fixtures/systems/*.yaml",),
    forms=({**_GUEST, "by_arch": _BY_ARCH, "extends": _EXTENDS}, _NATIVE),
)
