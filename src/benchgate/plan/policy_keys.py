"""The table of the keys of a policy's YAML file: kind, default, limits and meaning.

Data only: takes nothing and does not fail. policyfile.py reads a file by it. The defaults are
those of the types.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from benchgate.base.gates import MOST_RUNS, Policy
from benchgate.base.void_rule import DEFAULT, OFF
from benchgate.base.yaml.keys import (
    Block,
    Choice,
    Either,
    Integer,
    Integers,
    Number,
    Table,
    Text,
    YamlFile,
    name,
)

_USUAL: Mapping[str, Any] = {field.name: field.default for field in fields(Policy)}


def _counter(name: str, about: str) -> Either:
    """A limit, or the word that takes the counter out of the rule."""
    limit = DEFAULT.limits[name]
    kinds = (Number(about), Choice("no limit", (OFF,)))
    return Either(about, kinds, default=OFF if limit is None else limit)


_VOID: Table = {
    "run_delay": _counter(
        "run_delay", "the longest wait of a vCPU's thread for a host CPU, as a share of the window"
    ),
    "steal": _counter("steal", "what the hypervisor withheld of a CPU of the run, as a share of the window"),
    "migrations": _counter("migrations", "how often a pinned vCPU's thread changed its CPU"),
    "frequency": _counter(
        "frequency", "the spread of the frequencies of the run's CPUs, as a share of the highest"
    ),
    "throttles": _counter("throttles", "how often the processor was slowed down because of its temperature"),
    "involuntary": _counter("involuntary", "how often per second of the window a vCPU's thread lost its CPU"),
    "psi_cpu": _counter(
        "psi_cpu", "for how long some task of the whole host waited, as a share of the window"
    ),
    "most": Integer("a sweep ends after more void runs than this ...", default=DEFAULT.most, high=MOST_RUNS),
    "share": Number("... and than this share of its runs", default=DEFAULT.share),
}
POLICY = YamlFile(
    "How certain a verdict must be (`--policy`).",
    name="policy",
    title="A policy",
    places=("fixtures/gates/*.yaml",),
    forms=(
        {
            "name": name("the policy's name, in reports"),
            "looks": Integers(
                "the numbers of runs per arm at which a verdict can be reached: odd, ascending"
            ),
            "alpha": Number("the error probability of one look, chosen for the list of looks"),
            "overall_error": Number("the error probability of a gate over all looks together, below 0.5"),
            "first": Integer("the first look; --runs changes it"),
            "max_runs": Integer("the last look; --max-runs changes it"),
            "superlinear": Number(
                "a figure above this factor times the ratio of the CPU counts is INVALID",
                default=_USUAL["superlinear"],
            ),
            "superlinear_ideal": Number(
                "the same on the ideal machine, if workers neither share CPUs nor make calls",
                default=_USUAL["superlinear_ideal"],
            ),
            "capacity_reach": Number(
                "a FAIL is due to the host only if the guest reaches this share of the host's speedup",
                default=_USUAL["capacity_reach"],
            ),
            "minutes": Number(
                "on wall time no further look of a row is begun after this time", default=_USUAL["minutes"]
            ),
            "warmups": Integer(
                "boots per arm that are discarded before the first counted one, on wall time",
                default=_USUAL["warmups"],
            ),
            "void": Block(
                "which runs on wall time are void, because the host disturbed them",
                forms=(_VOID,),
                otherwise="the defaults of its keys",
            ),
            "machine": Text(
                "the machine, unless an option or a mark names one; a path is relative to this file",
                default=_USUAL["machine"],
            ),
            "boots": Integer(
                "how many different boots stand behind the runs of an arm that starts warm",
                default=_USUAL["boots"],
            ),
        },
    ),
)
