"""The table of the keys of a study's YAML file: kind, default, limits and meaning.

Data only: takes nothing and does not fail. studyfile.py reads a file by it, and checks what
concerns several keys.
"""

from __future__ import annotations

from benchgate.base.clocks import Clock
from benchgate.base.system.machines import IDEAL
from benchgate.base.system.systems import MAX_CPUS
from benchgate.base.yaml.keys import (
    Block,
    Choice,
    Integer,
    Integers,
    Table,
    Text,
    Texts,
    YamlFile,
    each,
    name,
)
from benchgate.features.mix.guest.mix_runs import COLD_RUNS, MOST_RUNS
from benchgate.features.mix.study import BANDWIDTH, CALIBRATED, PRESSED, RATE, RESOURCES

LEVELS = (75, 50, 25)
OVERCOMMIT = ("1", "1.25", "1.5", "2")
_DEFAULTS = "the defaults of its keys"

INPUT: Table = {
    "workers": Integer("its workers", low=1, high=4 * MAX_CPUS, otherwise="one for each CPU"),
    "units": Text(
        "how much work a run is, in a unit of your own; of all inputs or none",
        otherwise="not counted",
    ),
}
"""The keys of an input that are no parameters of its workload."""
_APPLICATION: Table = {
    "workload": Text("the workload: a name, or a path from this file", otherwise="the one of this name"),
    "score": Text("a metric of which more is better; `rate` is completed runs per second", default=RATE),
    "inputs": each(
        "its inputs, the smallest first",
        Block(
            "an input",
            forms=(INPUT,),
            others=Text("the workload's parameter"),
            names="PARAMETER",
        ),
        otherwise="",
    ),
}
_ANTAGONISTS: Table = {
    "whole": Text("how much of it there is, in a unit of your own", default="1"),
    "takes": each(
        "what each input takes, the least first", Text("in the same unit"), names="INPUT", otherwise=""
    ),
}
_SENSITIVITY: Table = {
    "levels": Integers("percent of what was used alone", default=LEVELS),
    "inputs": Choice("which inputs of an application are limited", ("last", "all"), default="last"),
}
_SWEEP: Table = {
    "input": Text("the application.input that has more and more CPUs"),
    "cpus": Integers("its CPU counts"),
    "beside": Text("the application.input that runs beside it"),
    "beside_cpus": Integer("that one's own CPUs; 0: both share all", default=0, high=MAX_CPUS),
}

STUDY = YamlFile(
    "A study of mixed workloads (`benchgate mix`).",
    name="mix-study",
    title="A study of mixes",
    places=("fixtures/mixes/*.yaml",),
    forms=(
        {
            "name": name("the study's name"),
            "about": Text("a description for readers", default=""),
            "system": Text("the system that runs the mixes", default="linux"),
            "cpus": Integer("its CPUs", low=1, high=MAX_CPUS),
            "machine": Text("the machine; only one with memory has cache and bandwidth", default=IDEAL),
            "clock": Choice("the measure of time", tuple(map(str, Clock)), default=str(Clock.INSN)),
            "resources": Texts("what is measured", default=RESOURCES, choices=RESOURCES),
            "calibrate": each(
                "who reaches all of a resource",
                Text("an application.input"),
                names="RESOURCE",
                allowed=(*CALIBRATED, BANDWIDTH),
            ),
            "antagonists": each(
                "on wall time, who stands in for counters of a resource",
                Block("its antagonists", forms=(_ANTAGONISTS,)),
                names="RESOURCE",
                allowed=PRESSED,
            ),
            "applications": each(
                "the applications", Block("an application", forms=(_APPLICATION,)), otherwise=""
            ),
            "least": Integer(
                "the runs of each part after its first one",
                default=3,
                low=1,
                high=MOST_RUNS - COLD_RUNS,
            ),
            "limit_ms": Integer("the guest time for them, in ms", default=10_000, low=1, high=3_600_000),
            "seeds": Integer("how often each is measured", default=3, low=1, high=25),
            "sensitivity": Block("how an application is limited", forms=(_SENSITIVITY,), otherwise=_DEFAULTS),
            "least_use": Text("a resource of which less is used is not limited: a share", default="0.01"),
            "capacity": each(
                "what a mix may use of a resource",
                Text("a share of all"),
                names="RESOURCE",
                allowed=RESOURCES,
                otherwise="1 each",
            ),
            "sweep": Block("one application over CPU counts", forms=(_SWEEP,), otherwise="none"),
            "scaling": Text("an application whose inputs run in turn in a mix with them", default=""),
            "overcommit": Texts(
                "capacities, rising; the best mix runs for each",
                default=OVERCOMMIT,
                what="numbers",
            ),
            "near": Integer("how many near-optimal mixes run, too", default=4, high=20),
        },
    ),
)
