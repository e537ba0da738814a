"""Runs a schbench program of others and the workload of that name side by side on this host.

`python -m tools.schbench_beside PROGRAM` alternates between both, natively and with equal options, and prints
a table: the median of each figure and its range over the rounds. `--rounds` and `--seconds` say how many
rounds and how long each run is. The workload's runs are verified. Run nothing else on the host meanwhile.
Fails with the exit status of argparse for wrong arguments, and with an exception if a run fails.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchgate.base.runs import OracleRun
from benchgate.base.statistics.histogram import Histogram
from benchgate.base.workload.workloads import Workload
from benchgate.build import programs
from benchgate.judge import wire
from benchgate.judge.oracles.oracle import ORACLES
from benchgate.plan import catalog
from benchgate.plan.workloadfile import fill
from tools.schbench_output import REQUEST, WAKEUP, Output, read_json_output, read_text

NONCE = "beside"
SLEEP_US = 100
PATIENCE_S = 600
FIGURES = ("rps", "wakeup p50 us", "wakeup p99 us", "request p50 us", "request p99 us")


@dataclass(frozen=True, slots=True)
class Mode:
    """Equal options of both. The program of others has one sleep per request, before the arithmetic."""

    name: str
    theirs: tuple[str, ...]
    ours: dict[str, object]


MODES = (
    Mode("calibrate", ("-C",), {"calibrate": "on"}),
    Mode("all CPUs", (), {}),
    Mode("no locking", ("-L",), {"locking": "none"}),
    Mode("two workers per CPU", ("-t", "{double}"), {"threads": "{double}"}),
    Mode("pipe of 4096 bytes", ("-p", "4096"), {"pipe": 4096}),
)


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="schbench_beside", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("program", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=3)
    given = parser.parse_args(words)
    workload = catalog.load_workload("schbench")
    for mode in MODES:
        sides: dict[str, list[dict[str, float]]] = {"theirs": [], "ours": []}
        for _ in range(given.rounds):
            sides["theirs"].append(theirs(given.program, mode, given.seconds))
            sides["ours"].append(ours(workload, mode, given.seconds))
        print("\n".join(table(mode, sides)), flush=True)


def cpus() -> int:
    return len(os.sched_getaffinity(0))


def theirs(program: Path, mode: Mode, seconds: int) -> dict[str, float]:
    """Percentiles from the JSON, the rest from the text."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "out.json"
        fixed = [
            "-t",
            str(cpus()),
            "-F",
            "16",
            "-n",
            "5",
            "-s",
            str(SLEEP_US),
            "-r",
            str(seconds),
            "-j",
            str(file),
        ]
        own = [word.format(double=2 * cpus()) for word in mode.theirs]
        done = subprocess.run(
            [program, *fixed, *own], capture_output=True, text=True, check=True, timeout=PATIENCE_S
        )
        return of_output(read_json_output(file.read_text()), read_text(done.stderr))


def of_output(json: Output, text: Output) -> dict[str, float]:
    result = {} if text.average_rps is None else {"rps": text.average_rps}
    for name in (WAKEUP, REQUEST):
        if name in json.figures:
            at = json.figures[name].at
            result |= {f"{name} p50 us": at[50.0], f"{name} p99 us": at[99.0]}
    return result


def ours(workload: Workload, mode: Mode, seconds: int) -> dict[str, float]:
    own = {key: str(value).format(double=2 * cpus()) for key, value in mode.ours.items()}
    times = {"time_ns": seconds * 1_000_000_000, "warmup_ms": 0, "interval_ms": 100}
    sleeps = {"sleep_before_us": SLEEP_US, "sleep_after_us": 0}
    params, _ = fill(workload, {"footprint_kb": 16, "operations": 5, **sleeps, **times, **own})
    asked = {
        "workload": workload.name,
        "mode": workload.mode,
        "workers": cpus(),
        "cpus": cpus(),
        "nonce": NONCE,
    }
    argv = [str(programs.guest_program(workload))]
    argv += [f"bench.{key}={value}" for key, value in {**asked, **dict(params)}.items()]
    done = subprocess.run(argv, capture_output=True, check=True, timeout=PATIENCE_S)
    run = wire.parse(done.stdout, nonce=NONCE)
    work, total = run.work_end - run.work_start, run.total_end - run.total_start
    seen = OracleRun(cpus(), run.unit, run.hz, work, total, run.histograms)
    ORACLES.check(workload.oracle, dict(params), run.reports, run.result, seen)
    result = {"rps": run.result["inside"] * 1e9 / run.result["measured"]}
    for name in (WAKEUP, REQUEST):
        result |= {f"{name} p{at} us": in_us(seen.histograms[name], at) for at in (50, 99)}
    return result


def in_us(histogram: Histogram, at: float) -> float:
    return histogram.percentile(at) / 1000


def table(mode: Mode, sides: dict[str, list[dict[str, float]]]) -> list[str]:
    lines = [f"\n{mode.name}\n", "| figure | theirs | ours |", "|---|---|---|"]
    for figure in FIGURES:
        each = [[run[figure] for run in runs if figure in run] for runs in sides.values()]
        if all(len(values) == len(runs) > 0 for values, runs in zip(each, sides.values(), strict=True)):
            lines.append(f"| {figure} | {' | '.join(map(spread, each))} |")
    return lines


def spread(values: Sequence[float]) -> str:
    return f"{statistics.median(values):,.0f} [{min(values):,.0f}, {max(values):,.0f}]"


if __name__ == "__main__":
    main()
