"""A data race that is planted in Linux is reported by KCSAN, and Linux without it reports nothing of its own.

Two kernels are compiled, once: `nox -s scx`."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.build.fetch import inputs
from benchgate.build.fetch.store import FetchSession
from benchgate.features.linux_build import kernel_source
from benchgate.features.linux_build.tools.schedulers import SOURCE, say
from benchgate.judge.console.kernel_report import kernel_report
from benchgate.judge.judged_run import JudgedRun
from tests.ternkit import Bootkit

pytestmark = pytest.mark.scx
CONFIG = "kcsan"
PIPE = "fs/pipe.c"
READ = "static ssize_t\npipe_read("
PLANT = """\
#include <linux/sched/clock.h>

static u64 planted_last;

static noinline void plant_put(void)
{
	planted_last = local_clock();
}

static noinline u64 plant_take(void)
{
	return planted_last;
}

"""
TAKES = "	ret = 0;\n	mutex_lock(&pipe->mutex);\n", "	if (plant_take() == 1)\n		return 0;\n"
PUTS = "	mutex_lock(&pipe->mutex);\n\n	if (!pipe->readers) {\n", "	plant_put();\n"


def before(text: str, place: str, more: str) -> str:
    assert text.count(place) == 1
    return text.replace(place, more + place)


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source of Linux in which whoever writes to a pipe or reads from one uses a word without a lock."""
    tree = tmp_path_factory.mktemp("planted") / "linux"
    tree.mkdir()
    tree.with_name(kernel_source.MANIFEST).write_text("{}")
    with FetchSession(say) as session:
        kernel_source.write(kernel_source.find(SOURCE, locked=False, session=session), tree)
    text = (tree / PIPE).read_text()
    for place, more in ((READ, PLANT), TAKES, PUTS):
        text = before(text, place, more)
    (tree / PIPE).write_text(text)
    return tree


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Bootkit:
    return Bootkit(tmp_path_factory.mktemp("races"), inputs.qemu(), True)


def run(kit: Bootkit, source: Path | str) -> JudgedRun:
    params = {"op": "pipe", "iters": 2000, "samples": 2}
    return kit.run(f"linux:source={source}:config={CONFIG}", "micro", 2, params)


def test_the_race_is_reported_and_the_run_is_no_result(kit: Bootkit, planted: Path) -> None:
    judged = run(kit, planted)
    assert not judged.verified
    assert "BUG: KCSAN: data-race in plant_put / plant_take" in judged.reason
    console = (judged.run.folder / "serial.log").read_text(errors="replace")
    assert kernel_report(console.splitlines()) == ("BUG: KCSAN: data-race in plant_put / plant_take",)
    assert " pipe_write+0x" in console


def test_linux_without_it_reports_nothing(kit: Bootkit) -> None:
    judged = run(kit, SOURCE)
    assert judged.verified, judged.reason
