"""The metrics of a workload's YAML: each kind has its keys and defaults, and nothing else."""

from pathlib import Path

import pytest

from benchgate.base.cells import Mode, Window
from benchgate.base.errors import CatalogError
from benchgate.base.workload.metrics import Metric, MetricDirection, MetricKind
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
    found = read(YAML)
    assert found["rps"] == Metric(
        "rps",
        MetricKind.RATE,
        MetricDirection.MORE,
        "requests/s",
        "requests",
        window=Window.TOTAL,
        about="finished requests",
    )
    assert found["ops"] == Metric(
        "ops", MetricKind.RATE, MetricDirection.MORE, "/s", "result.done", "result.measured"
    )
    assert found["p99"] == Metric("p99", MetricKind.PERCENTILE, MetricDirection.LESS, "ns", "wakeup", at=99.9)
    assert found["depth"] == Metric(
        "depth", MetricKind.PERCENTILE, MetricDirection.LESS, "items", "queue", at=50.0
    )
    assert found["cost"] == Metric(
        "cost", MetricKind.TIME, MetricDirection.LESS, "ns", "wakeup.sum", "wakeup.count"
    )
    assert found["each"] == Metric(
        "each", MetricKind.TIME, MetricDirection.LESS, "ns", "", "ops", window=Window.TOTAL
    )
    assert found["lost"] == Metric("lost", MetricKind.COUNT, MetricDirection.LESS, "", "lost")
    assert found["fairness"] == Metric("fairness", MetricKind.SHARE, MetricDirection.MORE, "", "done")
    assert found["busy"] == Metric("busy", MetricKind.SHARE, MetricDirection.MORE, "", "used", "result.had")
    assert list(found) == ["rps", "ops", "p99", "depth", "cost", "each", "lost", "fairness", "busy"]


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
    found = load(tmp_path, GOOD)
    assert found.tool == Tool(
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
    assert (found.mode, found.own_workers, found.needs) == (Mode.PROCESS, True, ("programs",))
    assert not found.has_oracle


def with_files(folder: Path, *names: str, text: str = GOOD) -> Workload:
    (folder / "data").mkdir(exist_ok=True)
    (folder / "data" / "words.txt").touch()
    return load(folder, f"{text}files: [{', '.join(names)}]\n")


def test_a_program_may_have_files(tmp_path: Path) -> None:
    text = GOOD.replace('"{cpus}"', '"{files}/data/words.txt"')
    found = with_files(tmp_path, "data/words.txt", text=text)
    assert (found.files, found.needs) == (("data/words.txt",), ("programs",))
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


def test_ours_say_how_their_work_is_verified() -> None:
    ours = {name: catalog.load_workload(name) for name in catalog.names("workload")}
    tools = {name: one.tool.verifies for name, one in ours.items() if one.tool}
    assert tools == {
        "cyclictest": False,
        "hackbench": False,
        "perf_sched": False,
        "stress_ng": True,
        "sysbench_cpu": False,
        "sysbench_threads": False,
    }
    assert all(one.has_oracle for one in ours.values())
