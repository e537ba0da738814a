"""The table of the keys of a scenario's YAML file: kind, default, limits and meaning.

Data only: takes nothing and does not fail. scenariofile.py reads a file by it, and checks what concerns
several keys.
"""

from __future__ import annotations

from benchgate.base.yaml.keys import (
    NAME,
    Block,
    Blocks,
    Choice,
    Integer,
    Integers,
    Key,
    Number,
    Table,
    Text,
    Texts,
    YamlFile,
    each,
    name,
)
from benchgate.features.scenarios.scenario import (
    MOST_CPUS,
    MOST_THREADS,
    CpuState,
    RunPolicy,
    Subject,
    WorkKind,
)

LENGTH = r"[0-9]{1,6}(?:\.[0-9]{1,6})?(?:ns|us|ms|s)\Z"
"""A length of time."""
_LENGTH_WRONG = "is not a length of time such as 20us or 300ms"


def _length(about: str, default: str | None = None, *, otherwise: str = "") -> Text:
    return Text(about, default=default, otherwise=otherwise, form=LENGTH, wrong=_LENGTH_WRONG)


def _cpus(otherwise: str) -> Text:
    return Text('CPUs, such as "0" or "0-1,3"', otherwise=otherwise)


_SETTINGS: Table = {
    "nice": Integer("the nice value", low=-20, high=19, otherwise="as it is; at first 0"),
    "policy": Choice("the scheduling policy", tuple(RunPolicy), otherwise="as it is; at first other"),
    "priority": Integer("of a policy for real time", low=1, high=80, otherwise="1"),
    "cpus": _cpus("as it is; at first all"),
    "into": Text("the control group to which its threads go; `none`: out of it", otherwise="as it is"),
}
_LIMITS: Table = {
    "weight": Integer("cpu.weight", low=1, high=10_000, otherwise="as it is; at first 100"),
    "quota": _length("CPU time in each period; 0ms: no limit", otherwise="as it is; at first no limit"),
    "period": _length("of the quota", otherwise="as it is; at first 20ms"),
    "cpus": _cpus("as it is; at first all"),
}
_GROUP: Table = {
    "threads": Integer("how many threads it has", low=1, high=MOST_THREADS, default=1),
    "work": Choice(
        "what a thread does in each round after it has computed: nothing (`spin`); sleep for `every`; begin "
        "the next round when `every` has passed (`burst`); send a message to the other one of its pair and "
        "wait for the answer (`pipe`); wake the next one in a ring, by a futex, and wait for the one before "
        "it (`chain`); `yield`; touch `count` fresh pages (`faults`); make `count` system calls (`calls`)",
        tuple(WorkKind),
    ),
    "run": _length("how long a round computes: an instruction of the ideal machine is 1 ns", "20us"),
    "every": _length("of `sleep` and `burst`", otherwise="other kinds have none"),
    "count": Integer("of `faults` and `calls`", low=1, high=4096, otherwise="other kinds have none"),
    "from": Text("the phase with which it begins", otherwise="the first one"),
    "until": Text("the phase with whose begin it ends", otherwise="the scenario's end"),
    **_SETTINGS,
    "into": Text("the control group in which its threads begin", otherwise="none"),
}
_CHANGE = Block(
    "a change",
    forms=(
        {"group": Text("the group of threads"), **_SETTINGS},
        {"control": Text("the control group"), **_LIMITS},
        {
            "cpu": Integer("a CPU, but not the first one", low=1, high=MOST_CPUS - 1),
            "state": Choice("whether the kernel has it from then on (hotplug)", tuple(CpuState)),
        },
    ),
)
_STEP: Table = {
    "phase": name("the name of the phase that begins"),
    "at": _length("when, from the begin of the work"),
    "changes": Blocks("what changes then", _CHANGE, otherwise="nothing"),
}
_BOUNDS: Table = {
    "phase": Text("the phase in which it is measured", otherwise="the first one"),
    "within": _length("so long after the phase began it counts", "0ms"),
    "at_least": Text(
        "the figure is at least this: 70%, 0.7 or 4ms", otherwise="no bound; one of both is needed"
    ),
    "at_most": Text("the figure is at most this", otherwise="no bound; one of both is needed"),
}
_OF = Text("the group of threads")


def _gate(seen: Subject, about: str, **keys: Key) -> Table:
    return {"of": Choice(about, (seen,)), **keys, **_BOUNDS}


_GATE = Block(
    "a figure with its bound, which becomes a metric of this name",
    forms=(
        _gate(
            Subject.SHARE,
            "the CPU time of a group, as a part of that of several",
            group=_OF,
            among=Texts("these groups, that one too", otherwise="all"),
        ),
        _gate(
            Subject.FAIRNESS,
            "CPU time for its weight, the smallest over the largest: of some groups, or of one's threads",
            weights=Block("these groups", others=Integer("its weight", low=1, high=100_000), names="GROUP"),
        ),
        _gate(Subject.CPUS, "how many CPUs a group uses", group=_OF),
        _gate(Subject.MOVES, "how often threads of a group come to another CPU, per second", group=_OF),
        _gate(
            Subject.LATENCY,
            "how long the threads of a group wait for a CPU",
            group=_OF,
            percent=Number("so many percent of the waits are not longer", default=100.0, high=100),
        ),
        _gate(
            Subject.WASTED,
            "the part of all CPUs' time that was idle although a thread waited that may run there",
        ),
    ),
)
_TOP: Table = {
    "name": name("lower-case letters, digits and _; its row is `scenario-NAME`"),
    "finds": Text("the fault that it is there to find"),
    "about": Text("a description for readers", default=""),
    "cpus": Integer("how many CPUs the guest has", low=1, high=MOST_CPUS),
    "length": _length("how long the work lasts, from 1ms to 10s"),
    "controls": each("control groups", Block("its limits at first", forms=(_LIMITS,))),
    "groups": Block("groups of threads", others=Block("threads that do the same", forms=(_GROUP,))),
    "begin": Text("the name of the first phase", default="start", form=NAME.pattern, wrong="is not a name"),
    "timeline": Blocks(
        "the phases behind the first one, by time",
        Block("a phase", forms=(_STEP,)),
        otherwise="there is one phase",
    ),
    "gates": Block("what must come of it", others=_GATE),
}

SCENARIO = YamlFile(
    "A scenario: groups of threads with a time line, and what must come of it.",
    name="scenario",
    title="A scenario",
    places=("fixtures/scenarios/*.yaml",),
    forms=(_TOP,),
)


# ---- rt-app: the part of its JSON that a scenario can say

_US = Integer("microseconds", low=1, high=10**9)
_TIMER: Table = {
    "ref": Text("its name", default="unique"),
    "period": _US,
    "mode": Choice("how it goes on when it is late", ("absolute",), default="absolute"),
}
_TASK: Table = {
    "run": Integer("how long it computes, in microseconds", low=1, high=10**6),
    "sleep": Integer("how long it sleeps then, in microseconds", low=1, high=10**6, otherwise="it does not"),
    "timer": Block("the period with which it runs", forms=(_TIMER,), otherwise="none"),
    "loop": Integer("how often; only for ever", low=-1, high=-1, default=-1),
    "instance": Integer("how many of it", low=1, high=MOST_THREADS, default=1),
    "policy": Text("the scheduling policy", otherwise="that of `global`"),
    "priority": Integer("the nice value, or the priority for real time", low=-20, high=80, otherwise="0"),
    "cpus": Integers("the CPUs where it may run", default=()),
}
OF_OTHER_EVENTS = ("cumulative_slack", "io_device", "mem_buffer_size", "pi_enabled")
"""Settings of mutexes, input and output, memory and logged slack, which the known events do not have."""
IGNORED = (
    "calibration",
    "ftrace",
    "gnuplot",
    "lock_pages",
    "log_basename",
    "logdir",
    "log_size",
    *OF_OTHER_EVENTS,
)
_GLOBAL: Table = {
    "duration": Integer("how long all of it lasts, in seconds", low=1, high=10),
    "default_policy": Text("the scheduling policy", default="SCHED_OTHER"),
    **{key: Text("what rt-app does besides, which does not matter here", default="") for key in IGNORED},
}
RT_APP = Block(
    "a workload of rt-app",
    forms=(
        {
            "tasks": Block("its tasks", others=Block("a task", forms=(_TASK,))),
            "global": Block("what concerns all of them", forms=(_GLOBAL,)),
        },
    ),
)
