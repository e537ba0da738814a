"""The words of benchgate that its users meet, each in one sentence: the one place that says what they mean.

Data, and the look for them in a text. `benchgate docs WORD`, the page of a session, the terminal's summary
and the page `glossary` of the documents show them; ARCHITECTURE.md has the words of its developers. Does not
fail.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from benchgate import hooks
from benchgate.hooks import GlossaryTerm

_TERMS = (
    GlossaryTerm(
        "arm",
        "One side of a comparison: the verified samples of one cell, with the reasons for those that are "
        "missing.",
        "gates",
        ("arms",),
    ),
    GlossaryTerm(
        "cell",
        "A workload with its parameters on one system at one CPU count: one box of a table.",
        "gates",
        ("cells",),
    ),
    GlossaryTerm(
        "efficiency",
        "The speedup divided by how many times as many CPUs there are: 100% if each CPU helps as much as the "
        "first.",
        "gates",
    ),
    GlossaryTerm(
        "foreign",
        "The CPU time in the window that tasks other than the workers of the workload used.",
        "wire",
    ),
    GlossaryTerm(
        "gate",
        "A rule with a threshold that a test demands of figures, written as a mark such as "
        "`speedup(cpus=2, at_least=1.6)`.",
        "gates",
        ("gates",),
    ),
    GlossaryTerm(
        "held",
        "The share of the time of the work in which a CPU's kernel spun, or took for long, while a thread "
        "waited that may run there.",
        "late-threads",
    ),
    GlossaryTerm(
        "host capacity",
        "How many times as much as one probe guest several of them computed side by side on this host: more "
        "than that no guest can reach here.",
        "gates",
    ),
    GlossaryTerm(
        "instruction clock",
        "A clock on which an instruction takes a nanosecond and all CPUs of the guest advance together, so "
        "that a run repeats exactly from its seed.",
        "insn",
    ),
    GlossaryTerm(
        "interval",
        "The range in brackets behind a figure, in which the true figure lies in all but a few of many "
        "sessions.",
        "gates",
        ("intervals",),
    ),
    GlossaryTerm(
        "lane",
        "How the time of a run is counted: `kvm`, `tcg` and `native` are wall time, `insn` is the "
        "instruction clock, and figures of two lanes are never compared.",
        "gates",
        ("lanes",),
    ),
    GlossaryTerm(
        "late",
        "Of a thread: it could run, and had to wait for a CPU.",
        "late-threads",
    ),
    GlossaryTerm(
        "look",
        "A number of runs per arm (5, 9, 15, 25) after which a verdict may be reached; without one, more "
        "runs follow.",
        "gates",
        ("looks",),
    ),
    GlossaryTerm(
        "metric",
        "A named figure of a run, with a unit and a better side; `work` and `total` are those of every run.",
        "gates",
        ("metrics",),
    ),
    GlossaryTerm(
        "negative control",
        "A workload that cannot scale, with a gate that fails if it seems to: it shows that the measurement "
        "can say no.",
        "gates",
        ("negative controls",),
    ),
    GlossaryTerm(
        "noise floor",
        "By how much two arms seem to differ if nothing but the noise of these runs is between them.",
        "read-a-verdict",
        ("noise floors",),
    ),
    GlossaryTerm(
        "placement",
        "What the CPUs of a guest stand on: `physical` cores, `smt` siblings, `virtual` ones that the host "
        "hides, or too few (`oversubscribed`).",
        "gates",
        ("placements",),
    ),
    GlossaryTerm(
        "promise",
        "What must be true of the machine if the figures that a guest prints are right, such as one system "
        "call for each operation.",
        "witnesses",
        ("promises",),
    ),
    GlossaryTerm(
        "row",
        "The cells that differ in their CPU count only: one line of a table.",
        "gates",
        ("rows",),
    ),
    GlossaryTerm(
        "run",
        "One boot of a guest, or one execution on the host, with everything that was recorded of it.",
        "evidence",
        ("runs",),
    ),
    GlossaryTerm(
        "seed",
        "The number that selects one interleaving of the CPUs on the instruction clock; the samples of an "
        "arm are seeds.",
        "insn",
        ("seeds",),
    ),
    GlossaryTerm(
        "session",
        "One call of pytest that measures; its folder holds the evidence and the reports.",
        "evidence",
        ("sessions",),
    ),
    GlossaryTerm(
        "settling",
        "How long woken threads took on average to come to an idle CPU.",
        "late-threads",
    ),
    GlossaryTerm(
        "smallest effect",
        "How far from its threshold the truth must be for runs with this noise to decide in at least 80% of "
        "sessions.",
        "read-a-verdict",
        ("smallest effects",),
    ),
    GlossaryTerm(
        "step",
        "How far apart the CPUs of a guest may be on the instruction clock: shorter differences are the "
        "clock's doing.",
        "insn",
        ("steps",),
    ),
    GlossaryTerm(
        "step error",
        "The share of a figure by which the steps of the instruction clock can have changed it.",
        "insn",
    ),
    GlossaryTerm(
        "sweep",
        "All runs of one row, or of the rows that a gate compares, taken in turns so that a disturbance hits "
        "all arms alike.",
        "gates",
        ("sweeps",),
    ),
    GlossaryTerm(
        "verdict",
        "What a gate says of its figures, in one of five words, each of which `benchgate docs` explains.",
        "read-a-verdict",
        ("verdicts",),
    ),
    GlossaryTerm(
        "verified",
        "Of a run: its answers are right, its record is whole, and nothing in it contradicts its figures.",
        "evidence",
    ),
    GlossaryTerm(
        "void",
        "Of a run on wall time: the host disturbed it more than the policy allows, so it is no sample and is "
        "made again.",
        "gates",
        ("voids",),
    ),
    GlossaryTerm(
        "wasted",
        "The share of the time in which a CPU was idle while a thread waited that may run there.",
        "late-threads",
    ),
    GlossaryTerm(
        "window",
        "The timed part of a run: `work` is that of all workers, and lies inside `total`, which has their "
        "start and join, too.",
        "wire",
        ("windows",),
    ),
    GlossaryTerm(
        "witnessed",
        "Of a figure: the machine saw from outside that what the guest says of it can be true.",
        "witnesses",
    ),
)
_SAYS = {
    "PASS": "The gate holds, whatever the noise of these runs did.",
    "FAIL": "The gate does not hold, whatever the noise of these runs did.",
    "INCONCLUSIVE": "The runs do not decide on which side of its threshold the figure is.",
    "INVALID": "The figures contradict each other or the machine, or an answer is wrong: none is believed.",
    "SKIP": "Nothing was decided, for the reason that follows.",
}
OUTCOMES = MappingProxyType(
    {name: GlossaryTerm(name, says, "read-a-verdict") for name, says in _SAYS.items()}
)
"""What a verdict can be. They are asked for and documented, and not linked where they stand: that is
everywhere."""
TERMS = tuple(sorted((*_TERMS, *hooks.terms()), key=lambda term: term.word))
WORDS: Mapping[str, GlossaryTerm] = MappingProxyType({term.word: term for term in TERMS})
_FORMS: Mapping[str, GlossaryTerm] = MappingProxyType(
    {form: term for term in TERMS for form in (term.word, *term.forms)}
)
_PATTERN = re.compile(
    rf"(?<![\w.-])({'|'.join(sorted(map(re.escape, _FORMS), key=lambda form: -len(form)))})(?![\w(=]|[.-]\w)"
)
"""A word by itself, not the part of a name such as `arm-smp2` or `run.json`."""


def found(text: str) -> Iterator[tuple[int, int, GlossaryTerm]]:
    """Where the words stand in a text: begin, end, term."""
    for match in _PATTERN.finditer(text):
        yield match.start(), match.end(), _FORMS[match.group()]


def term_of(word: str) -> GlossaryTerm | None:
    """By any of its forms, in either case, with a hyphen or a space."""
    return _FORMS.get(word.lower().replace("-", " ")) or OUTCOMES.get(word.upper())
