"""The table of the keys of a workload's YAML file: kind, default, limits and meaning.

Data only: takes nothing and does not fail. workloadfile.py reads a file by it, and checks what concerns
several keys.
"""

from __future__ import annotations

from benchgate.base.cells import Mode, Window
from benchgate.base.system.systems import SERVICES
from benchgate.base.workload.metrics import NS, MetricDirection, MetricKind
from benchgate.base.workload.operations import MOST_OF_OPERATION, MOST_OPERATIONS
from benchgate.base.workload.witness import LONGEST, Sees
from benchgate.base.workload.workloads import Take
from benchgate.base.yaml.keys import (
    NAME,
    Block,
    Blocks,
    Choice,
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
)

BY_TOOL, NO = "by-tool", "no"
DECIMALS = {"s": 9, "ms": 6, "us": 3, "ns": 0}
"""A length in one of these units becomes a whole number of ns."""
MOST_DECIMALS = 9
_NAME = NAME.pattern.removesuffix(r"\Z")
_SERVICES = "services of guest/services.h"


# ---- metrics


def _reported(about: str, default: str | None = None) -> Text:
    wrong = "is not `VALUE`, `result.VALUE` or `HISTOGRAM.FIGURE`"
    return Text(about, default=default, form=rf"{_NAME}(?:\.{_NAME})?\Z", wrong=wrong)


OF_WORKERS = Text(
    "what each worker reports, by its plain name",
    form=rf"{_NAME}\Z",
    wrong="is not the plain name of what each worker reports",
)
_PER = _reported("divided by this reported value", default="")
_WINDOW = Choice("the window, if `of` (time) or `per` (rate) is left out", tuple(Window), default=Window.WORK)
_ABOUT = Text("a description for readers", default="")


def _unit(default: str) -> Text:
    wrong = "is not a unit: at most 24 letters, digits and %/_.-"
    return Text("its unit", default=default, form=r"[A-Za-z0-9%/_.-]{0,24}\Z", wrong=wrong)


def _metric(kind: MetricKind, better: MetricDirection | None, about: str, **keys: Text | Number) -> Table:
    return {
        "kind": Choice(about, (kind,)),
        **keys,
        "better": Choice("whether more or less of it is good", tuple(MetricDirection), default=better),
        "about": _ABOUT,
    }


_LESS, _MORE = MetricDirection.LESS, MetricDirection.MORE
_METRICS = (
    _metric(
        MetricKind.TIME,
        _LESS,
        "the length `of`, or without it of the window, in ns; divided by `per`, if that is given",
        of=_reported("the length, as the guest reports it", default=""),
        per=_PER,
        window=_WINDOW,
    ),
    _metric(
        MetricKind.RATE,
        _MORE,
        "`of` per second of the window, or of the length `per`",
        of=_reported("what is counted"),
        per=_reported("per this length", default=""),
        unit=_unit(""),
        window=_WINDOW,
    ),
    _metric(
        MetricKind.PERCENTILE,
        _LESS,
        "what `at` percent of a histogram's values do not exceed, in ns; with another unit the number itself",
        of=OF_WORKERS,
        at=Number("the percentage", high=100),
        unit=_unit(NS),
    ),
    _metric(MetricKind.COUNT, None, "`of` itself", of=_reported("what is counted"), unit=_unit("")),
    _metric(
        MetricKind.SHARE,
        None,
        "`of` divided by `per`; without `per` the smallest worker's `of` divided by the largest worker's",
        of=_reported("the part; without `per` what each worker reports, by its plain name"),
        per=_reported("the whole", default=""),
    ),
)


# ---- an existing program

_WHICH = Choice("which of several matches", tuple(Take), default=Take.ONLY)
_NUMBER: Table = {
    "unit": Choice(
        "the number is a length, and becomes ns", tuple(DECIMALS), otherwise="the number as it is"
    ),
    "decimals": Integer("the decimals that it may have; 1.25 with 2 is 125", default=0, high=MOST_DECIMALS),
    "take": _WHICH,
}
_BY_REGEX: Table = {"regex": Pattern("with one group, the number; ^ and $ match at line ends"), **_NUMBER}
_BY_JSON: Table = {
    "json": Text("the place in the JSON that is printed, such as `thread.*.max`; * is every key or index"),
    **_NUMBER,
}
_WORKED: Table = {
    "exit": Integer("the exit status of success", default=0, high=125),
    "output": Texts("the output must match each of them", default=(), what="regular expressions"),
}
_PROGRAM: Table = {
    "package": Text(
        "the distribution's package that has the program in bin or sbin",
        form=r"[a-z0-9][a-z0-9.+-]+\Z",
        wrong="is not the name of a package",
    ),
    "run": Texts(
        "its file name and arguments; {NAME} is a parameter, {cpus} the CPU count. There is no shell"
    ),
    "verified": Choice(
        "whether the program checks its own work; if not, no gate uses its figures", (BY_TOOL, NO)
    ),
    "worked": Block("how success shows", forms=(_WORKED,), otherwise="exit status 0"),
    "result": each(
        "numbers that the program prints; oracle and metrics know them as result.NAME",
        Block("a number", forms=(_BY_REGEX, _BY_JSON)),
    ),
}


# ---- the workload

_UNIT = Text("its unit, for readers", default="")
_PARAM_OF_CHOICES: Table = {
    "choices": Texts("the words that it may be"),
    "default": Choice("the word that it is, unless a test says another"),
    "unit": _UNIT,
    "about": _ABOUT,
    "needs": each(
        "what only this choice needs of a system", Texts("services", choices=SERVICES), names="CHOICE"
    ),
}
_PARAM: Table = {
    "maximum": Integer("the largest value"),
    "minimum": Integer("the smallest value", default=0),
    "default": Integer("the value that it has, unless a test says another"),
    "unit": _UNIT,
    "about": _ABOUT,
}
_PROMISE: Table = {
    "because": Text("the reason, in words"),
    "when": each(
        "the choices with which it is made",
        Either("words", (Text("a word of this parameter"), Texts("words of this parameter"))),
        names="PARAMETER",
        otherwise="always",
    ),
}
_CLAIM: Table = {
    "claim": Either(
        "an inequality or equality between what the workload says and what the machine saw; of several the "
        "first counts whose names the system has",
        (Text(f"at most {LONGEST} characters"), Texts("several", what="claims")),
    ),
    **_PROMISE,
}
_CONTAINS: Table = {
    "histogram": Text("a histogram of the guest, whose values are lengths of time"),
    "sees": Choice("what of the thread view it must contain, bucket by bucket", tuple(Sees)),
    "since": Text("of parameters: so long after the first worker began", otherwise="from the begin on"),
    "until": Text("of parameters: so long after the total window began", otherwise="to the end"),
    **_PROMISE,
}
_CALLS_OF_OPERATION = f"at most {MOST_OF_OPERATION}: `syscalls.NAME`, `program.FUNCTION`"
_OPERATION: Table = {
    "from": Texts(
        f"the calls with whose entry a span begins; {_CALLS_OF_OPERATION}; or `wake`: the call in which "
        "another thread woke this one; beside it, if values are recorded, the calls that may wake"
    ),
    "to": Texts(
        "the calls with whose exit it ends, the last one before the next span; "
        f"{_CALLS_OF_OPERATION}. One that fails is none. `record.N` alone: a value is what the program "
        "records in its histogram N (from 0): the calls `from` since the last one, or the time since the "
        "wake-up"
    ),
    "when": _PROMISE["when"],
}
_EVERY: Table = {
    "name": name("as in the C"),
    "about": _ABOUT,
    "params": each("its parameters", Block("a parameter", forms=(_PARAM, _PARAM_OF_CHOICES))),
    "quick": each("values of parameters with --quick", Text("the value"), names="PARAMETER"),
    "lasts": Text(
        "the parameter that says for how long it runs; then no gate may be of the window's length",
        otherwise="until its work is done",
    ),
    "files": Texts("files below this folder that it reads while it runs", default=()),
    "metrics": each("its figures besides `work` and `total`", Block("a metric", forms=_METRICS)),
    "machine": each(
        f"how the machine itself measures a histogram of lengths, of at most {MOST_OPERATIONS}",
        Block("the spans of one thread", forms=(_OPERATION,)),
        names="HISTOGRAM",
        otherwise="it measures none",
    ),
    "witness": Blocks(
        "what the machine must have seen if the figures are right",
        Block("a promise", forms=(_CLAIM, _CONTAINS)),
        otherwise="nothing is promised",
    ),
    "roles": Texts(
        "what its workers are called in views of threads, by the value `role` that each reports, from 0 on",
        default=(),
        what="names",
    ),
    "trusts": Texts("what of its figures nothing but the guest shows, and why", default=(), what="sentences"),
}
_OWN: Table = {
    **_EVERY,
    "mode": Choice(
        "whether its workers are processes or threads", tuple(Mode), otherwise="process, if `source` is none"
    ),
    "source": Text("the C file, relative to this one; `none` if a system has the program"),
    "oracle": Text("the Python file that knows the right answers, relative to this one"),
    "needs": Texts(f"the {_SERVICES} that it uses", default=(), choices=SERVICES),
    "workers": Choice(
        "one worker for each CPU; or `own`, as many as it makes itself", ("cpus", "own"), default="cpus"
    ),
}
_EXISTING: Table = {
    **_EVERY,
    "oracle": Text("the Python file that checks its output, relative to this one", otherwise="none"),
    "program": Block("the existing program that is the workload", forms=(_PROGRAM,)),
}

WORKLOAD = YamlFile(
    "A workload: its program, its parameters, and what is measured of it.",
    name="workload",
    title="A workload",
    places=("guest/workloads/*/workload.yaml",),
    forms=(_OWN, _EXISTING),
)
