"""How many runs `benchgate explore` needs to find each race of tern: the tables of docs/how-to/explore.md.

`python -m benchgate.features.explore.tools.faults DIR [FAULT|TESTS ...]`, by default all of RACES. TESTS is
the path, with a slash in it, of tests of a kernel in which you planted a race. For each fault and each method
of $EXPLORE_METHODS (all of METHODS) it explores until it has $EXPLORE_FINDS (20) finds or has made
$EXPLORE_RUNS (500) runs without a further one, or as many in all as $EXPLORE_ALL says, on $EXPLORE_JOBS (2)
guests at once, below DIR; called again it goes on from there. The runs of an exploration have seeds of their
own, so the runs from one find to the next are a repetition: what an exploration takes that stops at its first
find. The last column says how many repetitions were found within 500 runs, of those that were or had as many.

Fails with CalledProcessError if `benchgate explore` does.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from types import MappingProxyType

from benchgate.base.jsonfields import read
from benchgate.features.explore.exploration_result import FOUND, RunLine
from tests.ternkit import RACES

METHODS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "plain": ("--strategy=plain",),
        "priorities": (
            "--strategy=anywhere",
            "--with=one_in=500000",
            "--with=shortest_ns=100000",
            "--with=longest_ns=10000000",
        ),
        "default": (),
        "anywhere": ("--strategy=anywhere",),
        "interrupt": ("--strategy=interrupt",),
        "pct": ("--strategy=pct",),
        "sync": ("--strategy=sync",),
    }
)
"""`default` names no strategy. The first two are baselines: the clock's seeds, and what rr's chaos mode does:
at random times a CPU has no turn for long."""
CHUNK = 100
"""Runs after which it looks whether there are enough finds."""
CPUS = 2
WITHIN = 500
"""An exploration of one fault may take so many runs."""
HEAD = (
    f"| fault | method | runs | finds | median | mean | longest | s per run | within {WITHIN} |",
    "|---|---|--:|--:|--:|--:|--:|--:|--:|",
)


@dataclass(frozen=True, slots=True)
class Tally:
    """What one method made of one fault."""

    runs: int
    repetitions: tuple[int, ...]
    """The runs of each find since the one before, itself included."""
    without: int
    """The runs since the last find."""
    seconds: float
    """The host's, of one run."""

    @property
    def row(self) -> tuple[str, ...]:
        if not self.repetitions:
            return str(self.runs), "0", "-", "-", "-", f"{self.seconds:.2f}", self.within
        numbers = median(self.repetitions), mean(self.repetitions), max(self.repetitions)
        said = (f"{number:.0f}" for number in numbers)
        return str(self.runs), str(len(self.repetitions)), *said, f"{self.seconds:.2f}", self.within

    @property
    def within(self) -> str:
        """Runs that came to no find count as a repetition once there are too many of them."""
        good = sum(repetition <= WITHIN for repetition in self.repetitions)
        return f"{good} of {len(self.repetitions) + (self.without >= WITHIN)}"


def tally(lines: Sequence[RunLine], most: int) -> Tally:
    """The tally of the first `most` finds. Run 0 is the plain run before all others, and is not counted."""
    runs = sorted((line for line in lines if line.number > 0), key=lambda line: line.number)
    found = [place for place, line in enumerate(runs, 1) if line.outcome == FOUND][:most]
    counted = found[-1] if len(found) == most else len(runs)
    repetitions = tuple(end - begin for begin, end in zip([0, *found], found, strict=False))
    without = counted - (found[-1] if found else 0)
    return Tally(counted, repetitions, without, mean([line.seconds for line in runs] or [0.0]))


def explored(folder: Path) -> list[RunLine]:
    kept = folder / "runs.jsonl"
    text = kept.read_text() if kept.exists() else ""
    whole = text[: text.rfind("\n") + 1]  # an interrupt may have cut the last line
    return [read(RunLine, json.loads(line), "a run") for line in whole.splitlines()]


def explore(
    folder: Path, what: Sequence[str], words: Sequence[str], *, finds: int, most: int, whole: int, jobs: int
) -> Tally:
    """Goes on with the exploration of the folder until it has enough."""
    while True:
        so_far = tally(explored(folder), finds)
        if len(so_far.repetitions) == finds or so_far.without >= most or so_far.runs >= whole:
            return so_far
        upto = min(so_far.runs // CHUNK * CHUNK + CHUNK, whole)
        asked = (*what, "--start=cold", f"--smp={CPUS}", f"--seeds={upto}", f"--jobs={jobs}")
        done = subprocess.run(
            ["benchgate", "explore", *asked, *words, "--no-small", f"--out={folder}"],
            stdout=subprocess.DEVNULL,
            check=False,
        )
        if done.returncode not in (0, 1):  # nothing found; found
            done.check_returncode()


def explored_by(fault: str) -> tuple[str, tuple[str, ...]]:
    """The name of a fault, or of the folder that tests of another kernel are in, and what explores it."""
    if "/" not in fault:
        return fault, (f"--system=kernel:fault={fault}", "--smoke")
    path = Path(fault).absolute()
    return (path.name if path.is_dir() else path.parent.name), (str(path),)


def number(name: str, usual: int) -> int:
    return int(os.environ.get(name, str(usual)))


def main(folder: Path, faults: Sequence[str]) -> None:
    methods = os.environ.get("EXPLORE_METHODS", ",".join(METHODS)).split(",")
    limits = {"finds": number("EXPLORE_FINDS", 20), "most": number("EXPLORE_RUNS", WITHIN)}
    limits["whole"] = number("EXPLORE_ALL", 10**6)
    jobs = number("EXPLORE_JOBS", 2)
    print(*HEAD, sep="\n")
    for fault in faults:
        name, what = explored_by(fault)
        for method in methods:
            made = explore(folder / f"{name}-{method}", what, METHODS[method], jobs=jobs, **limits)
            print(f"| {name} | {method} | {' | '.join(made.row)} |", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:] or [*RACES])
