"""The metrics of a workload's YAML: each kind has its keys and defaults, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.base.cells import Mode, Window
from benchgate.base.errors import CatalogError
from benchgate.base.workload.metrics import Metric, MetricDirection, MetricKind
from benchgate.base.workload.witness import Promise
from benchgate.base.workload.workloads import Capture, Take, Tool, Workload
from benchgate.base.yaml import yamlfile
from benchgate.plan import catalog, workloadfile
from benchgate.plan.workload_keys import WORKLOAD

YAML = """\
metrics:
  rps: {kind: rate, of: requests, unit: requests, window: total, about: finished requests}
  ops: {kind: rate, of: result.done, per: result.measured}
  p99: {kind: percentile, of: wakeup, at: 99.9}
  depth: {kind: percentile, of: queue, at: 50, unit: items}
  cost: {kind: time, of: wakeup.sum, per: wakeup.count}
  each: {kind: time, per: ops, window: total}
  lost: {kind: count, of: lost, better: less}
  fairness: {kind: share, of: done, better: more}
  busy: {kind: share, of: used, per: result.had, better: more}
"""


def read(text: str) -> dict[str, Metric]:
    return dict(workloadfile.read_metrics(yamlfile.parse(text, Path("mine.yaml"), WORKLOAD)))


def test_each_kind_with_its_defaults() -> None:
    metrics = read(YAML)
    assert metrics["rps"] == Metric(
        "rps",
        MetricKind.RATE,
        MetricDirection.MORE,
        "requests/s",
        "requests",
        window=Window.TOTAL,
        about="finished requests",
    )
    assert metrics["ops"] == Metric(
        "ops", MetricKind.RATE, MetricDirection.MORE, "/s", "result.done", "result.measured"
    )
    assert metrics["p99"] == Metric(
        "p99", MetricKind.PERCENTILE, MetricDirection.LESS, "ns", "wakeup", at=99.9
    )
    assert metrics["depth"] == Metric(
        "depth", MetricKind.PERCENTILE, MetricDirection.LESS, "items", "queue", at=50.0
    )
    assert metrics["cost"] == Metric(
        "cost", MetricKind.TIME, MetricDirection.LESS, "ns", "wakeup.sum", "wakeup.count"
    )
    assert metrics["each"] == Metric(
        "each", MetricKind.TIME, MetricDirection.LESS, "ns", "", "ops", window=Window.TOTAL
    )
    assert metrics["lost"] == Metric("lost", MetricKind.COUNT, MetricDirection.LESS, "", "lost")
    assert metrics["fairness"] == Metric("fairness", MetricKind.SHARE, MetricDirection.MORE, "", "done")
    assert metrics["busy"] == Metric("busy", MetricKind.SHARE, MetricDirection.MORE, "", "used", "result.had")
    assert list(metrics) == ["rps", "ops", "p99", "depth", "cost", "each", "lost", "fairness", "busy"]


def test_a_workload_without_metrics_has_none() -> None:
    assert read("name: x\n") == {}


def test_the_direction_can_be_said() -> None:
    assert read("metrics: {a: {kind: rate, of: spins, better: less}}")["a"].better is MetricDirection.LESS


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("rps: {of: x}", r"mine\.yaml:2: metrics\.rps\.kind: is missing"),
        ("rps: {kind: rat, of: x}", r"metrics\.rps\.kind: is `rat`, not one of .*; did you mean `rate`\?"),
        ("rps: {kind: rate}", r"metrics\.rps\.of: is missing"),
        ("rps: {kind: rate, of: x, per: y, window: work}", r"metrics\.rps\.window: unknown key"),
        ("rps: {kind: rate, of: x, at: 9}", r"metrics\.rps\.at: unknown key"),
        ("rps: {kind: rate, of: x, windw: work}", r"windw: unknown key; did you mean `window`\?"),
        ("rps: {kind: rate, of: x, window: all}", r"window: is `all`, not one of work, total"),
        ("rps: {kind: rate, of: 2x}", r"of: `2x` is not `VALUE`, `result\.VALUE` or `HISTOGRAM\.FIGURE`"),
        ("rps: {kind: rate, of: a.b.c}", r"of: `a\.b\.c` is not"),
        ("rps: {kind: rate, of: x, unit: 'a b'}", r"unit: `a b` is not a unit"),
        ("rps: {kind: rate, of: x, better: up}", r"better: is `up`, not one of more, less"),
        ("p: {kind: percentile, of: wakeup}", r"metrics\.p\.at: is missing"),
        ("p: {kind: percentile, of: wakeup, at: 101}", r"at: is 101, not between 0 and 100"),
        ("p: {kind: percentile, of: wakeup.max, at: 9}", r"of: `wakeup\.max` is not the plain name"),
        ("t: {kind: time, of: x, window: total}", r"window: unknown key"),
        ("t: {kind: time, of: x, unit: us}", r"unit: unknown key"),
        ("n: {kind: count, of: x}", r"metrics\.n\.better: is missing"),
        ("s: {kind: share, of: x}", r"metrics\.s\.better: is missing"),
        ("s: {kind: share, of: result.x, better: more}", r"of: `result\.x` is not the plain name"),
        ("work: {kind: count, of: x, better: more}", r"work: `work` is a metric of every workload"),
        ("wasted: {kind: count, of: x, better: less}", r"wasted: `wasted` is a metric of every workload"),
        ("A: {kind: count, of: x, better: more}", r"metrics\.A: `A` is not a name"),
    ],
)
def test_an_invalid_metric_is_refused(metric: str, message: str) -> None:
    with pytest.raises(CatalogError, match=message):
        read(f"metrics:\n  {metric}\n")


GOOD = """\
name: mine
program:
  package: rt-tests
  run: [hackbench, -l, "{loops}", -T, "{cpus}"]
  result:
    seconds: {regex: "^Time: ([0-9.]+)$", unit: s}
    latest: {json: thread.*.max, take: most, decimals: 2}
  worked:
    exit: 1
    output: ["^all good$"]
  verified: by-tool
params:
  loops: {default: 2, maximum: 9}
"""


def load(folder: Path, text: str) -> Workload:
    path = folder / "mine.yaml"
    path.write_text(text)
    return workloadfile.load(path)


def test_every_key(tmp_path: Path) -> None:
    workload = load(tmp_path, GOOD)
    assert workload.tool == Tool(
        package="rt-tests",
        program="hackbench",
        arguments=("-l", "{loops}", "-T", "{cpus}"),
        captures=(
            Capture("seconds", "^Time: ([0-9.]+)$", decimals=9),
            Capture("latest", path="thread.*.max", decimals=2, take=Take.MOST),
        ),
        exit=1,
        worked=("^all good$",),
        verifies=True,
    )
    assert (workload.mode, workload.own_workers, workload.needs) == (Mode.PROCESS, True, ("programs",))
    assert not workload.has_oracle


def with_files(folder: Path, *names: str, text: str = GOOD) -> Workload:
    (folder / "data").mkdir(exist_ok=True)
    (folder / "data" / "words.txt").touch()
    return load(folder, f"{text}files: [{', '.join(names)}]\n")


def test_a_program_may_have_files(tmp_path: Path) -> None:
    text = GOOD.replace('"{cpus}"', '"{files}/data/words.txt"')
    workload = with_files(tmp_path, "data/words.txt", text=text)
    assert (workload.files, workload.needs) == (("data/words.txt",), ("programs",))
    with pytest.raises(CatalogError, match=r"`\{files\}` is none of loops, cpus"):
        load(tmp_path, text)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("../mine.yaml",), r"files: `\.\./mine\.yaml` is no path below this folder"),
        (("/etc/passwd",), "files: `/etc/passwd` is no path below this folder"),
        (("'data/w x'",), "files: `data/w x` is no path below this folder"),
        (("data",), "files: there is no file .*/data"),
        (("none",), "files: there is no file .*/none"),
        (("data/words.txt", "data/words.txt"), "files: `data/words.txt` is duplicate"),
    ],
)
def test_a_file_that_cannot_be_in_the_guest_is_refused(
    tmp_path: Path, names: tuple[str, ...], said: str
) -> None:
    with pytest.raises(CatalogError, match=said):
        with_files(tmp_path, *names)


def test_a_parameter_cannot_have_the_name_of_the_files(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match="a workload with files cannot have a parameter `files`"):
        with_files(tmp_path, "mine.yaml", text=GOOD.replace("loops", "files"))


def test_a_workload_of_c_with_files_needs_the_service(tmp_path: Path) -> None:
    for name in ("mine.c", "oracle.py"):
        (tmp_path / name).touch()
    text = "name: mine\nmode: process\nsource: mine.c\noracle: oracle.py\n"
    assert with_files(tmp_path, "data/words.txt", text=text).needs == ("files",)
    both = with_files(tmp_path, "data/words.txt", text=text + "needs: [files, park]\n")
    assert both.needs == ("files", "park")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "package: rt-tests",
            "package: Rt tests",
            r":3: program.package: `Rt tests` is not the name of a pack",
        ),
        ("hackbench, -l", "../bin/sh, -l", r":4: program.run: expected the program's file name"),
        ('"{loops}"', '"{lops}"', r":4: program.run: `\{lops\}` is none of loops, cpus"),
        ("verified: by-tool", "verified: yes", r":11: program.verified: is `yes`, not one of by-tool, no"),
        ('output: ["^all good$"]', "output: []", r"`by-tool` needs `worked.output`"),
        (
            'output: ["^all good$"]',
            'output: ["("]',
            r":10: program.worked.output: is not a regular expression",
        ),
        ("([0-9.]+)", "[0-9.]+", r":6: program.result.seconds.regex: needs one group"),
        ("unit: s", "unit: min", r":6: program.result.seconds.unit: is `min`, not one of s, ms, us, ns"),
        ("unit: s", "unit: s, decimals: 2", r"both say what the whole number counts"),
        ("json: thread.*.max", "json: thread..max", r":7: program.result.latest.json: expected keys and ind"),
        ("json: thread.*.max, ", "", r":7: program.result.latest.*needs either `regex` or `json`"),
        ("latest: {", "Latest: {", r":7: program.result.Latest: is not a name"),
        ("  package", "  packages: 2\n  package", r":3: program.packages: unknown key"),
        ("params:", "mode: thread\nparams:", r"mode: unknown key"),
        ("params:", "source: x.c\nparams:", r"source: unknown key"),
    ],
)
def test_what_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in GOOD
    with pytest.raises(CatalogError, match=message):
        load(tmp_path, GOOD.replace(old, new, 1))


def test_a_command_of_too_many_words_is_refused(tmp_path: Path) -> None:
    words = ", ".join(["x"] * 50)
    with pytest.raises(CatalogError, match="has more than 48 words"):
        load(tmp_path, GOOD.replace("hackbench, -l", f"hackbench, {words}", 1))


def test_how_long_it_runs_may_be_a_parameter(tmp_path: Path) -> None:
    assert load(tmp_path, f"lasts: loops\n{GOOD}").lasts == "loops"
    assert not load(tmp_path, GOOD).lasts
    with pytest.raises(CatalogError, match="lasts: `seconds` is no parameter; there are loops"):
        load(tmp_path, f"lasts: seconds\n{GOOD}")


def test_ours_say_how_their_work_is_verified() -> None:
    ours = {name: catalog.load_workload(name) for name in catalog.names("workload")}
    tools = {name: workload.tool.verifies for name, workload in ours.items() if workload.tool}
    assert tools == {
        "cyclictest": False,
        "hackbench": False,
        "perf_sched": False,
        "stress_ng": True,
        "sysbench_cpu": False,
        "sysbench_threads": False,
    }
    assert all(our.has_oracle for our in ours.values())


HEAD = """\
name: sums
mode: thread
source: none
oracle: oracle.py
params:
  rounds: {default: 5, maximum: 9}
  pause: {default: 5, maximum: 9, unit: us}
  kind: {default: a, choices: [a, b]}
metrics:
  p99: {kind: percentile, of: latency, at: 99}
  cost: {kind: time, of: spent, per: done}
  rate: {kind: rate, of: done, per: result.length}
witness:
"""


def promises_of(folder: Path, line: str) -> tuple[Promise, ...]:
    (folder / "oracle.py").write_text("def check(params, reports, result): ...\n")
    (folder / "sums.yaml").write_text(f"{HEAD}{line}")
    return workloadfile.load(folder / "sums.yaml").promises


def test_a_line_has_its_claims_its_reason_and_when_it_is_made(tmp_path: Path) -> None:
    claims = "[syscalls.write >= rounds, wakes >= rounds]"
    (promise,) = promises_of(
        tmp_path, f"  - {{claim: {claims}, when: {{kind: [a, b], rounds: 5}}, because: x y}}\n"
    )
    assert [claim.text for claim in promise.claims] == ["syscalls.write >= rounds", "wakes >= rounds"]
    assert (promise.because, promise.when) == ("x y", {"kind": ("a", "b"), "rounds": ("5",)})


@pytest.mark.parametrize(
    "claim",
    [
        "latency.max <= work",
        "most.latency.sum <= 10 * pause + total",
        "printed.spent <= work",
        "result.length <= work",
        "cost <= work",
        "1 / rate <= work",
        "latency.count <= syscalls",
        "least.done + result.lost <= workers * cpus * total.syscalls",
    ],
)
def test_a_reported_value_has_the_unit_that_the_metrics_give_it(tmp_path: Path, claim: str) -> None:
    assert promises_of(tmp_path, f'  - {{claim: "{claim}", because: x}}\n')[0].text == claim


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{claim: rounds >= 1, because: x}", "sums.yaml:14: witness.0.claim: .*nothing that the machine saw"),
        ("{claim: writes >= roundz, because: x}", "there is no `roundz`; did you mean `?rounds"),
        ("{claim: writes >= kind, because: x}", "`kind` is a word"),
        ("{claim: work >= rounds, because: x}", "between ns and a count"),
        ("{claim: latency.max <= syscalls, because: x}", "between ns and a count"),
        ("{claim: writes >=, because: x}", "ends too early"),
        (
            "{claim: latency.sum >= 0 * work, because: x}",
            "sums.yaml:14: witness.0.claim: `latency.sum >= 0 \\* work` does not depend on `latency.sum`: .*"
            "Leave `latency.sum` out, or say what it must be",
        ),
        ("{claim: [writes >= rounds, writes >= 0], because: x}", "`writes >= 0` does not depend on `writes`"),
        ("{claim: writes >= rounds * reads, when: {rounds: 0}, because: x}", "does not depend on `writes`"),
        ("{claim: writes >= 1}", "because: is missing"),
        ("{because: x}", "claim: is missing"),
        ("{claim: writes >= 1, because: x, wenn: {}}", "unknown key"),
        ("{claim: writes >= 1, because: x, when: {kind: c}}", "`c` is no choice"),
        ("{claim: writes >= 1, because: x, when: {kin: a}}", "is no parameter"),
        ("{claim: writes >= 1, because: x, when: {rounds: many}}", "a whole number"),
        ("{histogram: latency, sees: sleeps, because: x}", "not one of wakes"),
        ("{histogram: latency, sees: wakes, since: rounds, because: x}", "expected a length of time"),
        ("{histogram: latency, sees: wakes, until: work, because: x}", "`work` is no parameter"),
        ("writes >= 1", "expected mappings"),
    ],
)
def test_a_wrong_line_is_refused_with_its_place(tmp_path: Path, line: str, why: str) -> None:
    with pytest.raises(CatalogError, match=why):
        promises_of(tmp_path, f"  - {line}\n")


def test_no_file_promises_more_than_64_lines(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match="more than 64"):
        promises_of(tmp_path, "  - {claim: writes >= 1, because: x}\n" * 65)


@pytest.mark.parametrize("name", catalog.names("workload"))
def test_each_workload_that_ships_promises_something(name: str) -> None:
    assert catalog.load_workload(name).promises
