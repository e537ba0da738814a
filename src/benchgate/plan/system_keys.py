"""The table of the keys of a system's YAML file: kind, default, limits and meaning.

Data only: takes nothing and does not fail. The modules of systemfile/ read a file by it, and check what
concerns several keys. Most of its keys are declared at the fields of what is read (base/system/); here are
those whose values become something else.
"""

from __future__ import annotations

from collections.abc import Mapping

from benchgate.base.cells import Mode
from benchgate.base.runs import MOST_RUN_S, Deadlines
from benchgate.base.system.arch import ARCHITECTURES, X86_64
from benchgate.base.system.boots import (
    PATTERNS,
    BootDefinition,
    ConsoleWords,
    End,
    QemuWords,
    SettingDisplay,
    Smoke,
)
from benchgate.base.system.observe import SystemCall
from benchgate.base.system.qemu import Port
from benchgate.base.system.results import UNITS, ResultFormat
from benchgate.base.system.systems import MAX_CPUS, SERVICES, AskMethod, SystemKind
from benchgate.base.yaml.keys import (
    Block,
    Blocks,
    Choice,
    Commands,
    Either,
    Integer,
    Number,
    Pattern,
    Table,
    Text,
    Texts,
    YamlFile,
    each,
    name,
    table,
)

MARKS = "marks"
"""The word for a window between the marks that the guest's programs execute."""
_SLOWEST_US = 1_000_000
_FLAG = ("true", "false")


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
_PORTS = Either(
    "a port of the guest that the host can reach, on wall time",
    (table(Port)["guest"], Block("both ports", forms=(table(Port),))),
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
        (Pattern("one pattern"), Texts("several", what=PATTERNS)),
        default=(),
    ),
    "prompt": Pattern("another prompt before this line", otherwise="`prompt` of the file"),
    "echo": Choice("whether the kernel prints what is typed", _FLAG, otherwise="`input.echo`"),
    "deadline_s": Number(
        "from the first byte of this line to the next one, or to its answer",
        low=0.1,
        high=MOST_RUN_S,
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
    "may_wait": {"at": _AT, "when": _WHEN},
    "syscall": {
        "at": _AT,
        "when": _WHEN,
        "number": _read("its number", otherwise="calls are not told apart"),
        "bytes": _read("how many bytes it shall move", otherwise="not known"),
    },
    "fault": {"at": _AT, "when": _WHEN},
    "ipi": {"at": _AT, "when": _WHEN},
}
ASK: Table = {
    "at": _AT,
    "when": _WHEN,
    "thread": _OF,
    "next": _read("the one after `thread` in its list, NULL if it is the last", otherwise="it is one thread"),
    "which": _read("which of the list, 1 or 0", otherwise="all"),
}
EVENT: Table = {
    "at": _AT,
    "when": _WHEN,
    "adds": _read("what is added up", otherwise="1: how often it happens"),
}
_CALL = table(SystemCall)
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
    "may_wait": "where the running thread asks for something that it may have to wait for, once; one that is "
    "blocked without it could run; without this key: it may wait anywhere",
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
            each(
                "each",
                Either("a system call", (_CALL["number"], Block("one that moves bytes", forms=(_CALL,)))),
            ),
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
    "answers": Texts("where the answers appear, in named groups", default=(), what=PATTERNS),
    "expect": each("the right answers; without them an oracle knows them", Text("the answer"), names="GROUP"),
}
_BY_LINES: Table = {
    "format": Choice("BENCH lines", (ResultFormat.BENCH_LINES,)),
    "operations": Texts("the operations that must be measured or skipped; each is a metric"),
}


# ---- the file

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
        "how long it may take, in seconds", forms=(table(Deadlines),), otherwise="the defaults of its keys"
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
    "qemu": Block("QEMU's arguments", forms=(table(QemuWords),), otherwise="the defaults of its keys"),
    "ports": each("ports that the host can reach", _PORTS),
    "boot": Block("what it boots from", forms=(table(BootDefinition),)),
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
    "console": Block(
        "how its console is read", forms=(table(ConsoleWords),), otherwise="the defaults of its keys"
    ),
    "smoke": Block("its own boot test, once per CPU count", forms=(table(Smoke),), otherwise="none"),
    "result": Block("what it prints", forms=(_BENCH, _BY_PATTERNS, _BY_LINES), otherwise="the wire format"),
    "end": Block("how a run ends", forms=(table(End),), otherwise="the defaults of its keys"),
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
