"""rt-app's JSON as a scenario: the part that both have, and the names of what is not understood."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.base.errors import CatalogError
from benchgate.features.scenarios.rtapp import parse
from benchgate.features.scenarios.scenario import plan_text
from benchgate.plan import catalog

FILE = Path("Two-Tasks.json")
TEXT = """\
{
\t/* what each task does,
\t   again and again */
\t"tasks": {
\t\t"Hog": { "instance": 2, "loop": -1, "run": 10000, "cpus": [0, 2] },
\t\t"beat": { "run": 2000, "timer": { "ref": "tick", "period": 16000 }, "priority": -5 },
\t\t"nap": { "run": 100, "sleep": 900, "policy": "SCHED_FIFO", "priority": 10 }
\t},
\t"global": { "duration": 2, "calibration": "CPU0", "default_policy": "SCHED_OTHER", "lock_pages": true }
}
"""


def test_tasks_become_groups(tmp_path: Path) -> None:
    scenario = parse(TEXT, FILE)
    # 4 ns to a turn; CPUs 0 and 2 are 5; nice -5 is 15; fifo is policy 3
    assert plan_text(scenario) == "Gt2r2500000m5Gt1k2r500000o16000n15Gt1k1r25000o900s3y10"
    assert (scenario.name, scenario.cpus, scenario.length_ns) == ("two_tasks", 3, 2_000_000_000)
    path = tmp_path / FILE
    path.write_text(TEXT)
    assert catalog.load_workload(str(path)).name == "scenario-two_tasks"


TUTORIAL = """\
{
\t"tasks" : {
\t\t"worker" : { "run" : 3000, /* then it rests */ "sleep" : 7000, "loop" : -1 }
\t},
\t"global" : {
\t\t"duration" : 1,
\t\t"pi_enabled" : false,
\t\t"io_device" : "/dev/null",
\t\t"mem_buffer_size" : 1048576,
\t\t"cumulative_slack" : true,
\t\t"ftrace" : "main,task",
\t\t"gnuplot" : true,
\t}
}
"""


def test_settings_of_events_that_are_not_there_do_not_matter() -> None:
    """The files of rt-app's own tutorial have them, and a comma behind the last one."""
    assert plan_text(parse(TUTORIAL, FILE)) == "Gt1k1r750000o7000"


@pytest.mark.parametrize("word", ["lock", "iorun", "mem", "barrier", "phases"])
def test_such_an_event_is_refused(word: str) -> None:
    text = TUTORIAL.replace('"run" : 3000', f'"run" : 3000, "{word}" : 1')
    with pytest.raises(CatalogError, match=f"tasks.worker.{word}: unknown key"):
        parse(text, FILE)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"loop": -1', '"loop": 10', "5: tasks.Hog.loop: is 10, not between -1 and -1"),
        ('"run": 10000', '"runtime": 10000', "5: tasks.Hog.runtime: unknown key"),
        ('"run": 10000', '"run": 10000, "lock": "m0"', "5: tasks.Hog.lock: unknown key"),
        ('"run": 10000', '"run": 10000, "run": 5', "5: tasks.Hog.run: is duplicated"),
        ('"run": 10000', '"phases": {"a": {"run": 5}}', "5: tasks.Hog.phases: unknown key"),
        ('"cpus": [0, 2]', '"cpus": [16]', "5: tasks.Hog.cpus: has 16, and the guest has CPUs from 0"),
        ('"sleep": 900', '"sleep": 900, "timer": {"period": 5}', "timer: is beside a `sleep`"),
        ('"period": 16000', '"period": 16000, "mode": "relative"', "mode: is `relative`, not one of"),
        ("SCHED_FIFO", "SCHED_DEADLINE", "`SCHED_DEADLINE` is none of SCHED_OTHER"),
        ('"priority": 10', '"priority": 0', "priority: is 0, and of fifo it is from 1 on"),
        ('"priority": -5', '"priority": 30', "priority: is 30, and a nice value is at most 19"),
        ('"duration": 2', '"duration": -1', "9: global.duration: is -1, not between 1 and 10"),
        ('"lock_pages": true', '"lock_page": true', "9: global.lock_page: unknown key"),
        ('"global"', '"resources": {}, "global"', "9: resources: unknown key"),
        ("}\n}", "}", "is not YAML"),
    ],
)  # fmt: skip
def test_what_is_not_understood_is_named(old: str, new: str, said: str) -> None:
    assert TEXT.count(old) == 1
    with pytest.raises(CatalogError) as caught:
        parse(TEXT.replace(old, new), FILE)
    assert said in str(caught.value)
